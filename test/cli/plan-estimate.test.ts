import { describe, expect, test } from 'vitest'
import { estimateLatency, estimateRunTime, estimateStream, type StreamFacts } from '../../src/cli/plan/estimate.js'
import { streams } from '../../streams/registry.js'
import { scriptReport } from './support.js'

describe('an estimate', () => {
  const filings = streams.find(({ name }) => name === 'company-filings')
  if (filings === undefined) throw new Error('no such stream')
  const ITEMS = { success: 80, empty: 15, skipped: 0, rate_limit: 0, error: 5 }
  const factsOf = (script: Parameters<typeof scriptReport>[0] | undefined, facts: Partial<StreamFacts> = {}): StreamFacts => ({
    ...{ stream: filings, items: 100, inPlace: 40, known: 'stored', workers: 10 },
    script: script && scriptReport({ items: ITEMS, ...script }),
    ...facts,
  })
  const latency = { ms: 50, from: 'given' } as const

  test('of requests uses the last run only if it lost few items and skipped none', () => {
    const estimate = (script?: Parameters<typeof scriptReport>[0]) => {
      const { requests, requestsFrom, bytes, bytesFrom } = estimateStream(factsOf(script), latency)
      return [requests, requestsFrom, bytes, bytesFrom]
    }
    expect(estimate()).toEqual([120, 'stream definitions', 8_500_000, 'captured run'])
    expect(estimate({ outcome: 'partial', requests: 260, retries: 10, bytes: 5_000 })).toEqual([150, 'last run', 5_000, 'last run'])
    expect(estimate({ requests: 80, items: { ...ITEMS, skipped: 20 } })[0]).toBe(120)
    expect(estimate({ outcome: 'partial', requests: 80, items: { ...ITEMS, success: 5, error: 80 } })[0]).toBe(120)
  })

  test('of time divides the requests among the workers, within the rate limit', () => {
    expect(estimateStream(factsOf(undefined), latency).ms).toBe(300)
    expect(estimateStream(factsOf(undefined, { inPlace: 95 }), latency).ms).toBe(50)
    expect(estimateStream(factsOf(undefined, { inPlace: 100 }), latency).ms).toBe(0)
    expect(estimateStream(factsOf({ durationMs: 10_000, requests: 210, rateLimited: 10, retries: 10 }), latency)).toMatchObject({
      ...{ limitedTo: 20, requests: 120, ms: 6_000 },
    })
  })

  test('of a run is phase 1 stream by stream, then the longest parallel chain', () => {
    const one = estimateStream(factsOf(undefined), latency)
    const timed = [
      { ...one, name: 'one', phase: 'core', follows: null, ms: 10 },
      { ...one, name: 'two', phase: 'core', follows: 'one', ms: 20 },
      { ...one, name: 'list', phase: 'enrichment', follows: null, ms: 50 },
      { ...one, name: 'news', phase: 'enrichment', follows: 'one', ms: 100 },
      { ...one, name: 'after', phase: 'candles', follows: 'list', ms: 70 },
    ] as const
    expect([estimateRunTime(timed), estimateRunTime(timed.slice(0, 1)), estimateRunTime([])]).toEqual([150, 10, 0])
  })

  test('of the latency uses the last run if it is conclusive', () => {
    const measure = (script: Parameters<typeof scriptReport>[0], workers = 10) => estimateLatency([factsOf(script, { workers })])
    expect(measure({ durationMs: 1_000, requests: 200 })).toEqual({ ms: 100, from: 'last run' })
    expect(measure({ durationMs: 1_000, requests: 200 }, 40)).toEqual({ ms: 100, from: 'assumed' })
    expect(measure({ durationMs: 5_000, requests: 200, rateLimited: 10 }).from).toBe('assumed')
    expect(measure({ durationMs: 500, requests: 200, outcome: 'partial', items: { ...ITEMS, success: 5, error: 80 } }).from).toBe('assumed')
  })
})
