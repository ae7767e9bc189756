import type { Drift } from './report.js'
import { isRow, omitUndefined, readText } from './row.js'

/** The document beside the report that lists the accepted drift. */
export const DRIFT_ACCEPTED_FILE = 'drift-accepted.json'

/** The fields that identify a drift; its counts do not. */
export type DriftName = Pick<Drift, 'stream' | 'endpoint' | 'kind' | 'field' | 'seen'>

export const toDriftName = ({ stream, endpoint, kind, field, seen }: Drift): DriftName =>
  omitUndefined({ stream, endpoint, kind, field, seen })

const toDriftKey = ({ stream, endpoint, kind, field, seen }: Partial<DriftName>): string =>
  [stream, endpoint, kind, field, seen].map((part) => readText(part)).join('\n')

/** Returns a test for "this drift is accepted". Entries of the document that are no drift are ignored. */
export const createDriftMatcher = (document: unknown): ((drift: DriftName) => boolean) => {
  const keys = new Set((Array.isArray(document) ? document : []).filter(isRow).map(toDriftKey))
  return (drift) => keys.has(toDriftKey(drift))
}

export const driftIn = (document: unknown): readonly Drift[] =>
  Array.isArray(document) ? document.filter(isDrift) : []

const isDrift = (value: unknown): value is Drift =>
  isRow(value) &&
  ['stream', 'endpoint', 'kind', 'field', 'example'].every((name) => typeof value[name] === 'string') &&
  ['answers', 'of', 'records', 'ofRecords'].every((name) => typeof value[name] === 'number')

/**
 * Joins the drift of two runs over partly the same items. Drift that both found counts once, as the run with
 * more answers found it.
 */
export const joinDrift = (one: readonly Drift[], other: readonly Drift[]): readonly Drift[] => {
  const joined = new Map(one.map((drift) => [toDriftKey(drift), drift]))
  for (const drift of other)
    if (drift.answers > (joined.get(toDriftKey(drift))?.answers ?? 0)) joined.set(toDriftKey(drift), drift)
  return [...joined.values()]
}

export const isSignificant = ({ accepted, rare }: Drift): boolean => accepted !== true && rare !== true
