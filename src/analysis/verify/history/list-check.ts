import type { Row } from '../../../model/row.js'
import type { Day } from '../../../model/trading-day.js'
import type { Finding } from '../finding.js'

/** A check of the recorded days of a file. It sees them one after the other, oldest first. */
export interface ListCheck {
  /** A record that a day has as the day before is the same object. */
  readonly addDay: (day: Day, records: readonly Row[]) => void
  readonly finish: () => readonly Finding[]
}

/** Computes something once for each record. */
export const memoize = <T>(compute: (record: Row) => T): ((record: Row) => T) => {
  const known = new WeakMap<Row, { readonly value: T }>()
  return (record) => {
    const found = known.get(record)
    if (found) return found.value
    const value = compute(record)
    known.set(record, { value })
    return value
  }
}

/** Findings about more stocks than these, and a larger share of the list, are one about the day. */
const MIN_MANY = 5
const MIN_SHARE = 0.05

export const isMany = (count: number, total: number): boolean => count >= MIN_MANY && count >= total * MIN_SHARE

const MAX_NAMED = 3

/** `A, B, C and 4 more`. */
export const nameFirst = (names: readonly string[], max = MAX_NAMED): string =>
  names.length > max ? `${names.slice(0, max).join(', ')} and ${names.length - max} more` : names.join(', ')
