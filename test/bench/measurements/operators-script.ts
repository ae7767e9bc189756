import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Observable } from 'rxjs'
import type * as Sinks from '../../../sinks/index.js'
import type { StreamDefinition } from '../../../src/engine/define-stream.js'
import type * as Scripstream from '../../../src/index.js'
import type * as Streams from '../../../streams/registry.js'
import { createBenchTimeline, FIRST_RUN_AT } from '../provider/conditions.js'

/** CPU µs per item, for each round. */
export interface OperatorCosts {
  readonly few: readonly number[]
  readonly many: readonly number[]
}

const [product = '', few = '', many = '', rounds = ''] = process.argv.slice(2)
const importBuilt = (file: string): Promise<unknown> =>
  import(pathToFileURL(join(product, 'dist', file)).href)
const { createCollector } = (await importBuilt('src/index.js')) as typeof Scripstream
const { memory } = (await importBuilt('sinks/index.js')) as typeof Sinks
const { streams } = (await importBuilt('streams/registry.js')) as typeof Streams

const ONLY = [
  'fundamental-data',
  'company-filings',
  'new-announcements',
  'advanced-indicators',
  'market-news',
  'all-ohlcv',
]
const HOSTS = ['analytics', 'fundamental', 'static', 'news', 'ticks', 'archive', 'web', 'sheet'] as const
const asOf = Date.parse(FIRST_RUN_AT)

const row = { date: '2026-02-12 10:00:00', news_date: '2026-02-12 10:00:00', caption: 'A filing' }
const candles = { Time: [1_770_834_600], o: [1], h: [1], l: [1], c: [1], v: [1] }
const toBody = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const rows = toBody({ data: [row] })
const small: Readonly<Record<string, Buffer>> = {
  '/v2/news/getLiveNews': toBody({
    data: { latest_news: [{ publish_date: 1, category: 'stocks', news_object: { title: 'A title' } }] },
  }),
  '/getDataH': toBody({ success: true, data: candles }),
}

/** Answers everything in the next microtask. */
const createTransport = (stocks: number): Scripstream.Transport => {
  const master = streams.flatMap(({ endpoints }) => endpoints).find(({ name }) => name === 'master')
  const list = toBody(master?.sample?.({}, createBenchTimeline(stocks)(asOf)))
  return ({ url }) =>
    new Observable((subscriber) => {
      const { pathname } = new URL(url)
      const body = pathname === '/customscan/fetchdt' ? list : (small[pathname] ?? rows)
      queueMicrotask(() => {
        subscriber.next({ status: 200, body })
        subscriber.complete()
      })
    })
}

const urls = Object.fromEntries(HOSTS.map((host) => [host, 'http://bench']))

/** CPU µs per item of one run into memory. */
const measurePass = (stocks: number, transport: Scripstream.Transport): Promise<number> =>
  new Promise((resolve, reject) => {
    const from = process.cpuUsage()
    let outcome: string | undefined
    createCollector<readonly StreamDefinition[]>({ settings: { urls }, transport, storage: memory() })
      .run({ only: ONLY, asOf, accept: ['fields'] })
      .subscribe({
        next: (report) => (outcome = report.outcome),
        error: reject,
        complete: () => {
          const { user, system } = process.cpuUsage(from)
          if (outcome === 'complete') resolve((user + system) / (stocks * ONLY.length))
          else reject(new Error(`the run ended as ${outcome}`))
        },
      })
  })

const counts = { few: Number(few), many: Number(many) }
const transports = { few: createTransport(counts.few), many: createTransport(counts.many) }
const measureOnce = (size: 'few' | 'many'): Promise<number> => measurePass(counts[size], transports[size])

for (let warm = 0; warm < 3; warm++) await measureOnce('few')
const result = { few: [] as number[], many: [] as number[] }
for (let round = 0; round < Number(rounds); round++) {
  const several = []
  for (let time = 0; time < 5; time++) several.push(await measureOnce('few'))
  result.few.push(several.reduce((sum, micros) => sum + micros, 0) / several.length)
  result.many.push(await measureOnce('many'))
}
console.log(JSON.stringify(result satisfies OperatorCosts))
