import { map, type Observable, of } from 'rxjs'
import { createDriftWatch, type DriftWatch } from '../http/drift.js'
import { createRequiredFields } from '../http/required-fields.js'
import { type RefusalCode, RefusedError, thresholds } from '../market/refusal-policy.js'
import { createDriftMatcher, DRIFT_ACCEPTED_FILE, isSignificant } from '../model/drift.js'
import type { Drift, RunReport } from '../model/report.js'
import { catchDamagedFile } from '../operators/catch-item-failure.js'
import { isListWork } from './define-stream.js'
import type { RunContext } from './run.js'
import { toStatePath } from './storage.js'

/**
 * Watches the shape of all answers of a run. Refuses answers without required fields, unless the run accepts
 * them.
 */
export const createRunDriftWatch = (
  accept: readonly RefusalCode[],
  earlier: readonly Drift[] = [],
): DriftWatch => {
  const required = createRequiredFields(thresholds.fields, (why) => {
    if (!accept.includes('fields')) throw new RefusedError('fields', why)
  })
  const watch = createDriftWatch(required)
  watch.add(EARLIER, earlier)
  return watch
}

/** The name of a resumed run among the processes that report drift. No worker has it. */
const EARLIER = '\0earlier'

/** Stores the drift found so far for the run that may resume this one, and returns it. */
export const saveDrift = ({
  drift,
  session,
  redact,
}: Pick<RunContext, 'drift' | 'session' | 'redact'>): readonly Drift[] => {
  const found = drift
    .listDrifts()
    .map((one) => ({ ...one, field: redact(one.field), example: redact(one.example) }))
  session.saveDrift?.(found)
  return found
}

/** Adds schema drift to a report. Drift that no one has accepted turns a complete run into a partial one. */
export const judgeDrift = (report: RunReport, run: RunContext): Observable<RunReport> => {
  const { plan, storage, accept } = run
  const found = saveDrift(run)
  if (found.length === 0) return of(report)
  const lists = new Set(plan.filter(({ stream }) => isListWork(stream.work)).map(({ stream }) => stream.name))
  return storage.stored.document(toStatePath(DRIFT_ACCEPTED_FILE)).pipe(
    catchDamagedFile(() => undefined),
    map((document) => {
      const isKnown = createDriftMatcher(document)
      const judged = found.map(
        (one): Drift => ({
          ...one,
          ...(accept.includes('fields') || isKnown(one) ? { accepted: true } : {}),
          ...(isRareDrift(one, lists.has(one.stream)) ? { rare: true } : {}),
        }),
      )
      return {
        ...report,
        drift: judged,
        outcome: report.outcome === 'complete' && judged.some(isSignificant) ? 'partial' : report.outcome,
      }
    }),
  )
}

/**
 * Rare drift, such as one odd stock, is reported but does not make the run partial. For a list that is one
 * answer, its records count.
 */
const isRareDrift = ({ answers, of: all, records, ofRecords }: Drift, isList: boolean): boolean =>
  isList
    ? records < thresholds.drift.records || records < ofRecords * thresholds.drift.shareOfList
    : answers < thresholds.drift.answers || answers < all * thresholds.drift.share
