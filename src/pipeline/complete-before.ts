import { type Observable, of } from 'rxjs'
import type { RunEvent } from '../model/event.js'
import type { RunReport, ScriptReport } from '../model/report.js'

/** The last event of a run that has nothing to do: the report of the complete run, with zero requests and every item adopted. */
export const completeBefore = (
  complete: RunReport,
  { startedAt, finishedAt }: { readonly startedAt: number; readonly finishedAt: number },
): Observable<RunEvent> =>
  of({
    type: 'run-finished',
    report: {
      ...complete,
      startedAt: new Date(startedAt).toISOString(),
      finishedAt: new Date(finishedAt).toISOString(),
      durationMs: finishedAt - startedAt,
      finishedBefore: complete.finishedAt,
      scripts: Object.fromEntries(Object.entries(complete.scripts).map(([name, script]) => [name, takenOver(script)])),
    },
  })

const takenOver = (script: ScriptReport): ScriptReport => ({
  ...script,
  durationMs: 0,
  requests: 0,
  retries: 0,
  rateLimited: 0,
  takenOver: Object.values(script.items).reduce((total, items) => total + items, 0),
})
