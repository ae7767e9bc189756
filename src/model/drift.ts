import type { Drift } from './report.js'
import { isRow, textOf } from './row.js'

/** The document beside the report that lists the accepted drift. */
export const DRIFT_ACCEPTED = 'drift-accepted.json'

/** The fields that identify a drift; its counts do not. */
export type DriftName = Pick<Drift, 'stream' | 'endpoint' | 'kind' | 'field' | 'seen'>

export const driftName = ({ stream, endpoint, kind, field, seen }: Drift): DriftName => ({
  ...{ stream, endpoint, kind, field },
  ...(seen === undefined ? {} : { seen }),
})

const keyOf = ({ stream, endpoint, kind, field, seen }: Partial<DriftName>): string =>
  [stream, endpoint, kind, field, seen].map((part) => textOf(part)).join('\n')

/** Returns a test for "this drift is accepted". Entries of the document that are no drift are ignored. */
export const acceptedIn = (document: unknown): ((drift: DriftName) => boolean) => {
  const keys = new Set((Array.isArray(document) ? document : []).filter(isRow).map(keyOf))
  return (drift) => keys.has(keyOf(drift))
}

/** Whether a drift makes its run partial. */
export const counts = ({ accepted, rare }: Drift): boolean => accepted !== true && rare !== true
