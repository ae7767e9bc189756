// An app with scripstream installed: compiled and run in its own project, without the types of Node.
import { map, type Observable, of } from 'rxjs'
import { createCollector, type Engine } from 'scripstream'
import { createResult, defineStream, once } from 'scripstream/define'
import { UsageError } from 'scripstream/errors'
import { fleet, fleetWorker, type WorkerNews, workerName } from 'scripstream/fleet'
import { uniqueBy } from 'scripstream/operators'
import { serveSimulator } from 'scripstream/simulator'
import { type MemoryFiles, memory, type Sink } from 'scripstream/sinks'
import { type Announcement, type NewsItem, streams } from 'scripstream/streams'
import { createTrial } from 'scripstream/testing'

const mine = defineStream({
  name: 'mine',
  summary: 'a stream of the app',
  phase: 'enrichment',
  workers: 1,
  timeoutMs: 1_000,
  endpoints: [],
  work: once(() => of(createResult([{ answer: 42 }]))),
  outputs: [{ shape: 'array-per-item', file: 'mine.json' }],
})

const provider = await serveSimulator({ endpoints: streams.flatMap(({ endpoints }) => endpoints), stocks: 3 })
const collector = createCollector({ settings: provider.settings, streams: [...streams, mine] })

// The compiler knows the row type of each stream.
export const news: Observable<{ readonly rows: readonly NewsItem[] }> = collector.stream('market-news')
export const answers: Observable<{ readonly rows: readonly { readonly answer: number }[] }> =
  collector.stream('mine')
export const announcements: Observable<{ readonly rows: readonly Announcement[] }> =
  collector.stream('new-announcements')
// @ts-expect-error announcements are no news
export const wrong: Observable<{ readonly rows: readonly NewsItem[] }> = collector.stream('new-announcements')
// @ts-expect-error there is no such stream
export const misspelt = collector.stream('market-new')
// @ts-expect-error there is no such stream
export const selection: Parameters<typeof collector.run>[0] = { only: ['market-new'] }
export const requests = collector
  .run()
  .pipe(map(({ scripts }) => scripts['market-news'].requests + scripts.mine.requests))
export const reasons = collector
  .stream('market-news')
  .pipe(
    map((one) =>
      one.status === 'success' || one.status === 'empty' || one.status === 'skipped'
        ? one.rows.length
        : one.code,
    ),
  )
export const passThrough: Sink = (item$) => item$

// BullMQ is not installed here: the types work without it, and starting a fleet reports the missing package.
const place = { address: 'redis://127.0.0.1:1', blobs: 'blobs', version: '1' }
const engine: Engine = fleet(place)
export const worker: Observable<WorkerNews> = fleetWorker({
  ...place,
  streams,
  headers: {},
  name: workerName(),
})
const lacking: string[] = []
worker.subscribe({ error: ({ message }: Error) => lacking.push(message) })
createCollector({ settings: provider.settings, streams: [mine], storage: memory(new Map()), engine })
  .run()
  .subscribe({ error: ({ message }: Error) => lacking.push(message) })

const files: MemoryFiles = new Map()
const titles: string[] = []
news.subscribe({
  next: ({ rows }) => titles.push(...rows.map(({ Title }) => Title)),
  complete: () => {
    createCollector({ settings: provider.settings, streams: [mine], storage: memory(files) })
      .run()
      .subscribe(({ outcome }) => {
        const trial = createTrial(mine, { answers: () => of(404) })
        trial.item$.pipe(uniqueBy(({ status }) => status)).subscribe((items) => {
          const result = {
            outcome,
            hasNews: titles.length > 0,
            files: [...files.keys()],
            tried: items.map(({ rows }) => rows),
          }
          console.log(
            JSON.stringify({ ...result, lacking, isUsageError: new UsageError('') instanceof Error }),
          )
          void provider.close()
        })
      })
  },
})
