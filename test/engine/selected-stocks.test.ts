import { map } from 'rxjs'
import { expect, it } from 'vitest'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import { createCollector } from '../../src/collector.js'
import { perStock, type SortOrder } from '../../src/engine/define-stream.js'
import { createResult } from '../../src/model/outcome.js'
import { toStockRecord } from '../../src/model/stock.js'
import { itWithMarbles, marbles } from '../support/marbles.js'
import { createCall, ok, tiny, tinyCollector } from '../support/tiny.js'

const interest: Readonly<Record<string, number>> = { A: 9, B: 100, C: 20, D: 100 }

const chains = (symbols: string, sortBy?: SortOrder) =>
  tiny('chains', {
    work: perStock(
      (stock, { ask }) =>
        ask(createCall('chains'), { of: stock.Symbol }).pipe(
          map((rows) => createResult(rows.map((row) => toStockRecord(stock, row)))),
        ),
      { where: (stock) => symbols.includes(stock.Symbol) },
    ),
    outputs: [{ shape: 'rows-in-one-file', file: 'chains.json', ...(sortBy ? { sortBy } : {}) }],
  })

const symbolsIn = (files: MemoryFiles): readonly unknown[] =>
  (JSON.parse(files.get('chains.json')?.text ?? '') as { readonly Symbol: unknown }[]).map(
    (row) => row.Symbol,
  )

const collect = (
  m: Parameters<typeof tinyCollector>[0],
  files: MemoryFiles,
  stream: ReturnType<typeof chains>,
) => {
  const collector = tinyCollector(m, {
    streams: [stream],
    stocks: ['A', 'B', 'C', 'D'],
    storage: memory(files),
    answers: (call) => m.cold('-(r|)', { r: ok({ oi: interest[call.slice(-1)] }) }),
  })
  const totals: unknown[] = []
  collector
    .events({ fresh: true })
    .subscribe((event) => event.type === 'items-known' && totals.push(event.stream, event.total))
  m.flush()
  return { requested: collector.requested.slice(1).map((call) => call.slice(-1)), totals }
}

itWithMarbles(
  'requests the selected stocks only, and drops the records of those that are no longer selected',
  (m) => {
    const files: MemoryFiles = new Map()
    expect(collect(m, files, chains('ABC'))).toEqual({
      requested: ['A', 'B', 'C'],
      totals: ['master-data', 1, 'chains', 3],
    })
    expect(symbolsIn(files)).toEqual(['A', 'B', 'C'])
    collect(m, files, chains('BD'))
    expect(symbolsIn(files)).toEqual(['B', 'D'])
  },
)

it.each([
  [undefined, ['B', 'D', 'C', 'A']],
  ['descending', ['B', 'D', 'C', 'A']],
  ['ascending', ['A', 'C', 'B', 'D']],
] as const)('sorts records by a number, %s, and equal ones as in the master list', (direction, sorted) =>
  marbles((m) => {
    const files: MemoryFiles = new Map()
    collect(m, files, chains('ABCD', { key: ({ oi }) => Number(oi), ...(direction ? { direction } : {}) }))
    expect(symbolsIn(files)).toEqual(sorted)
  })(),
)

it.each([
  [{ workers: { chain: 1 } }, 'workers has an unknown stream: "chain" (did you mean chains?)'],
  [{ timeoutsMs: { chain: 1 } }, 'timeoutsMs has an unknown stream: "chain" (did you mean chains?)'],
])('refuses an unknown stream in the settings of a collector: %j', (settings, why) => {
  expect(() => createCollector({ settings, streams: [chains('A')] })).toThrow(why)
})
