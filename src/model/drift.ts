import type { Drift } from './report.js'
import { isRow, textOf } from './row.js'

/** The document beside the report that lists the drift which was accepted. */
export const DRIFT_ACCEPTED = 'drift-accepted.json'

/** What tells one drift from another, whatever its counts. */
export type DriftName = Pick<Drift, 'stream' | 'endpoint' | 'kind' | 'field' | 'seen'>

export const driftName = ({ stream, endpoint, kind, field, seen }: Drift): DriftName => ({
  ...{ stream, endpoint, kind, field },
  ...(seen === undefined ? {} : { seen }),
})

const keyOf = ({ stream, endpoint, kind, field, seen }: Partial<DriftName>): string =>
  [stream, endpoint, kind, field, seen].map((part) => textOf(part)).join('\n')

/** Whether a drift is in a document of accepted ones; whatever is none in it accepts nothing. */
export const acceptedIn = (document: unknown): ((drift: DriftName) => boolean) => {
  const keys = new Set((Array.isArray(document) ? document : []).filter(isRow).map(keyOf))
  return (drift) => keys.has(keyOf(drift))
}

/** Whether a drift makes its run partial. */
export const counts = ({ accepted, rare }: Drift): boolean => accepted !== true && rare !== true
