import { catchError, map, type Observable, of, throwError } from 'rxjs'
import { type RefusalCode, RefusedError, thresholds } from '../market/never-worse.js'
import { acceptedIn, counts, DRIFT_ACCEPTED } from '../model/drift.js'
import { DamagedFile } from '../model/errors.js'
import type { Redact } from '../model/redact.js'
import type { Drift, RunReport } from '../model/report.js'
import { createDriftWatch, type DriftWatch } from '../provider/drift.js'
import type { Planned } from './plan.js'
import type { Run } from './run.js'

/** Watches the shape of all answers of a run. Refuses answers without required fields, unless the run accepts them. */
export const driftWatchFor = (accept: readonly RefusalCode[]): DriftWatch =>
  createDriftWatch({
    rules: thresholds.fields,
    refuse: (why) => {
      if (!accept.includes('fields')) throw new RefusedError('fields', why)
    },
  })

interface Judging {
  readonly plan: readonly Planned[]
  readonly redact: Redact
}

/** Adds schema drift to a report. Drift that no one has accepted turns a complete run into a partial one. */
export const withDrift = (
  report: RunReport,
  { drift, storage, accept }: Pick<Run, 'drift' | 'storage' | 'accept'>,
  { plan, redact }: Judging,
): Observable<RunReport> => {
  const found = drift.found().map((one) => ({ ...one, field: redact(one.field), example: redact(one.example) }))
  if (found.length === 0) return of(report)
  const lists = new Set(plan.filter(({ stream }) => stream.work.of === undefined).map(({ stream }) => stream.name))
  return storage.stored.document(`.scripstream/${DRIFT_ACCEPTED}`).pipe(
    catchError((error: unknown) => (error instanceof DamagedFile ? of(undefined) : throwError(() => error))),
    map((document) => {
      const isKnown = acceptedIn(document)
      const judged = found.map(
        (one): Drift => ({
          ...one,
          ...(accept.includes('fields') || isKnown(one) ? { accepted: true } : {}),
          ...(isRare(one, lists.has(one.stream)) ? { rare: true } : {}),
        }),
      )
      return { ...report, drift: judged, outcome: report.outcome === 'complete' && judged.some(counts) ? 'partial' : report.outcome }
    }),
  )
}

/** Rare drift, such as one odd stock, is reported but does not make the run partial. For a list that is one answer, its records count. */
const isRare = ({ answers, of: all, records, ofRecords }: Drift, isList: boolean): boolean =>
  isList
    ? records < thresholds.drift.records || records < ofRecords * thresholds.drift.shareOfList
    : answers < thresholds.drift.answers || answers < all * thresholds.drift.share
