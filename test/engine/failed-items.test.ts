import { of } from 'rxjs'
import { describe, expect } from 'vitest'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import type { RunOptions } from '../../src/engine/run-options.js'
import { type Context, itWithMarbles } from '../support/marbles.js'
import { row, status, tiny, tinyCollector } from '../support/tiny.js'

/** Runs over two stocks into one folder; each returns what is missing after it. */
const runsIn = (m: Context) => {
  const files: MemoryFiles = new Map()
  return (failing: readonly string[], options: RunOptions = {}): unknown => {
    const collector = tinyCollector(m, {
      streams: [tiny('news'), tiny('filings')],
      stocks: ['A', 'B'],
      storage: memory(files),
      answers: (call) => of(failing.includes(call) ? status(404) : row),
    })
    collector.run(options).subscribe()
    return JSON.parse(files.get('.scripstream/failed.json')?.text ?? '{}')
  }
}

describe('the list of failed items', () => {
  itWithMarbles('contains an item from its failure until it is fetched', (m) => {
    const run = runsIn(m)

    expect(run(['news A', 'news B', 'filings A'])).toEqual({ news: ['A', 'B'], filings: ['A'] })
    expect(run(['news A'])).toEqual({ news: ['A'] })
    expect(run([])).toEqual({})
  })

  itWithMarbles('stays unchanged by a run of other streams, stocks or items of the same stream', (m) => {
    const run = runsIn(m)
    run(['news A', 'news B', 'filings A'])

    expect(run([], { only: ['news'], pairs: { news: ['a'] } })).toEqual({ news: ['B'], filings: ['A'] })
    expect(run([], { only: ['filings'] })).toEqual({ news: ['B'] })
    expect(run(['filings A'], { symbols: ['A'] })).toEqual({ news: ['B'], filings: ['A'] })
    expect(run(['news B'], { pairs: { news: ['B'], filings: ['A'] } })).toEqual({ news: ['B'] })
  })

  itWithMarbles('is not in the report of a run that does not name the optional stream', (m) => {
    const files: MemoryFiles = new Map()
    const missingAfter = (named: readonly string[]): unknown => {
      const collector = tinyCollector(m, {
        streams: [tiny('news'), tiny('deliveries', { optional: true })],
        stocks: ['A', 'B'],
        storage: memory(files),
        settings: { with: [...named] },
        answers: (call) => of(call === 'deliveries A' ? status(404) : row),
      })
      collector.run().subscribe()
      return JSON.parse(files.get('.scripstream/report.json')?.text ?? '{}').missing
    }
    expect([['deliveries'], [], ['deliveries']].map(missingAfter)).toEqual([
      { deliveries: 1 },
      undefined,
      { deliveries: 1 },
    ])
  })
})
