import { relative } from 'node:path'
import type { Day } from '../../../model/trading-day.js'
import { toDayPath } from '../../../storage/history/history-folder.js'
import type { RowFacts } from '../../../storage/history/row-facts.js'
import type { Finding } from '../finding.js'

/** A check of the recorded days of a list. It sees them one after the other, oldest first, and of each row only a number. */
export interface ListCheck extends RowFacts {
  /** @param facts of the rows of the list on that day */
  readonly addDay: (day: Day, facts: Int32Array) => void
  readonly finish: () => readonly Finding[]
}

/** The text of a value, or the text of a JSON string. `token` has a byte of UTF-8 as each character. */
export const readToken = (token: string): string => {
  const text = Buffer.from(token, 'latin1').toString('utf8')
  return text.startsWith('"') ? String(JSON.parse(text)) : text
}

/** Findings about more stocks than these, and a larger share of the list, are one about the day. */
const MIN_MANY = 5
const MIN_SHARE = 0.05

export const isMany = (count: number, total: number): boolean => count >= MIN_MANY && count >= total * MIN_SHARE

const MAX_NAMED = 3

/** `A, B, C and 4 more`. */
export const nameFirst = (names: readonly string[], max = MAX_NAMED): string =>
  names.length > max ? `${names.slice(0, max).join(', ')} and ${names.length - max} more` : names.join(', ')

/** A finding about a recorded day that cannot be read. */
export const createDamage = (root: string, day: Day, detail: string): Finding => ({
  ...{ check: 'files', severity: 'error', day, detail },
  file: relative(root, toDayPath(root, day)),
})
