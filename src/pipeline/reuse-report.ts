import { type Observable, of } from 'rxjs'
import type { RunEvent } from '../model/event.js'
import type { ItemCounts, RunReport, ScriptReport } from '../model/report.js'

/**
 * The last event of a run that has nothing to do: the report of the complete run, with zero requests and every item adopted. What a run of
 * everything lost and a later part of it fetched counts as a success.
 */
export const reuseReport = (
  { missing: _, isResumable: __, ...complete }: RunReport,
  { startedAt, finishedAt }: { readonly startedAt: number; readonly finishedAt: number },
): Observable<RunEvent> =>
  of({
    type: 'run-finished',
    report: {
      ...complete,
      outcome: 'complete',
      startedAt: new Date(startedAt).toISOString(),
      finishedAt: new Date(finishedAt).toISOString(),
      durationMs: finishedAt - startedAt,
      finishedBefore: complete.finishedAt,
      scripts: Object.fromEntries(Object.entries(complete.scripts).map(([name, script]) => [name, toReusedScript(script)])),
    },
  })

const toReusedScript = (report: ScriptReport): ScriptReport => {
  const script = report.outcome === 'partial' || report.outcome === 'failed' ? mended(report) : report
  return { ...script, ...NOTHING_DONE, takenOver: totalOf(script.items) }
}

const NOTHING_DONE = { durationMs: 0, requests: 0, retries: 0, rateLimited: 0 }

const mended = ({ error: _, causes: __, items, ...script }: ScriptReport): ScriptReport => {
  const { empty, skipped } = items
  const success = totalOf(items) - empty - skipped
  return { ...script, outcome: 'success', items: { success, empty, skipped, rate_limit: 0, error: 0 }, degraded: 0, problems: [] }
}

const totalOf = (items: ItemCounts): number => Object.values(items).reduce((total, number) => total + number, 0)
