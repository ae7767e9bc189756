import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { lastValueFrom, of } from 'rxjs'
import type * as Define from '../../../src/define.js'
import type * as Fleet from '../../../src/fleet/index.js'
import type * as Scripstream from '../../../src/index.js'

/** A driver or a worker of two streams whose items send no requests. The driver prints its measurements. */
const [role = '', product = '', address = '', blobs = '', out = '', count = ''] = process.argv.slice(2)
const importBuilt = (file: string): Promise<unknown> =>
  import(pathToFileURL(join(product, 'dist', file)).href)
const { createCollector } = (await importBuilt('src/index.js')) as typeof Scripstream
const { defineStream, createResult, once, perRowOf } = (await importBuilt('src/define.js')) as typeof Define
const { fleet, fleetWorker } = (await importBuilt('src/fleet/index.js')) as typeof Fleet

const rows = (length: number) =>
  Array.from({ length }, (_, place) => ({
    Symbol: `SYMBOL${place}`,
    ISIN: `INE${String(place).padStart(9, '0')}`,
  }))

const list = defineStream({
  name: 'master-data',
  summary: 'the configured number of rows',
  phase: 'core',
  workers: 1,
  timeoutMs: 1_000,
  endpoints: [],
  work: once(() => of(createResult(rows(Number(count))))),
  offers: (all) =>
    all.map((value, rank) => ({ key: String(value.Symbol), rank, fileName: String(value.Symbol), value })),
  outputs: [{ shape: 'array-per-item', file: 'list.json' }],
})
const many = defineStream({
  name: 'many',
  summary: 'one small row an item',
  phase: 'enrichment',
  workers: 150,
  timeoutMs: 1_000,
  endpoints: [],
  work: perRowOf('master-data', (row) => of(createResult([{ ...row, text: 'x'.repeat(200) }]))),
  outputs: [{ shape: 'rows-in-one-file', file: 'many.json' }],
})
const streams = [list, many]
const place = { address, blobs, version: 'bench', allowVolatile: true }

if (role === 'worker') {
  fleetWorker({ ...place, streams, headers: {}, name: `worker-${process.pid}` }).subscribe({
    next: ({ type }) => type === 'joined' && console.log('joined'),
    error: (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  })
} else {
  // The same V8 flag as the command.
  setFlagsFromString('--heap-growing-percent=70')
  const from = performance.now()
  const report = await lastValueFrom(
    createCollector({ settings: { out }, streams, engine: fleet(place) }).run({ asOf: Date.now() }),
  )
  const { outcome, scripts } = report
  const peak = process.resourceUsage().maxRSS * 1_024
  console.log(
    JSON.stringify({
      outcome,
      items: scripts.many?.items.success,
      peakRssBytes: peak,
      wallMs: performance.now() - from,
    }),
  )
}
