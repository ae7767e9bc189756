import { describe } from 'vitest'
import { reuseReport } from '../../src/pipeline/record.js'
import { runReport, scriptReport } from '../cli/support.js'
import { itWithMarbles } from '../support/marbles.js'

describe('a run whose files are up to date', () => {
  itWithMarbles('reports the complete run with zero time, zero requests and every item adopted', (m) => {
    const items = { success: 3, empty: 2, skipped: 1, rate_limit: 0, error: 0 }
    const news = scriptReport({ durationMs: 9_000, requests: 7, retries: 2, rateLimited: 1, items, takenOver: 1, files: 3, bytes: 30 })
    const report = runReport({ finishedAt: '2026-02-12T14:31:00.000Z', durationMs: 60_000, scripts: { news } })
    const times = { startedAt: Date.parse('2026-02-12T15:00:00Z'), finishedAt: Date.parse('2026-02-12T15:00:00.070Z') }
    m.expect(reuseReport(report, times)).toBeObservable('(a|)', {
      a: {
        type: 'run-finished',
        report: {
          ...report,
          startedAt: '2026-02-12T15:00:00.000Z',
          finishedAt: '2026-02-12T15:00:00.070Z',
          durationMs: 70,
          finishedBefore: '2026-02-12T14:31:00.000Z',
          scripts: { news: { ...news, durationMs: 0, requests: 0, retries: 0, rateLimited: 0, takenOver: 6 } },
        },
      },
    })
  })
})
