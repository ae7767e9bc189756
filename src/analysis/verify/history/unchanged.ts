import type { Day } from '../../../model/trading-day.js'
import type { Finding } from '../finding.js'

/** Sessions in a row without a change that are reported of a list that changed on each one before. */
const MIN_UNCHANGED = 3
/** Changes before that show that a list normally changes. */
const MIN_CHANGES = 5

/** What a list was on a session; texts of the same content are equal. */
export interface ContentDay {
  readonly day: Day
  readonly content: string
}

/**
 * Finds out whether a list has stopped to change. A list may stand still three times as long as it did before, and each list for 3 sessions, so
 * that lists such as price bands and surveillance are not reported.
 *
 * @param sessions oldest first; other days are left out, because nothing changes on them
 */
export const findUnchanged = (file: string, sessions: readonly ContentDay[]): readonly Finding[] => {
  const [last] = sessions.slice(-1)
  const from = sessions.findLastIndex(({ content }) => content !== last?.content) + 1
  const unchanged = sessions.length - from - 1
  const { changes, longest } = countChanges(sessions.slice(0, from + 1))
  const limit = MIN_UNCHANGED * (longest + 1)
  const since = sessions[from]?.day
  if (unchanged < limit || changes < MIN_CHANGES || since === undefined) return []
  const before = `it changed on ${changes} of the ${from} recorded sessions since ${sessions[0]?.day}`
  const detail = `the same on ${unchanged + 1} recorded sessions, from ${since} to ${last?.day}; before that, ${before}`
  return [{ check: 'unchanged-lists', severity: 'warning', day: since, file, detail }]
}

/** The sessions that changed the list, and the most in a row that did not. */
const countChanges = (sessions: readonly ContentDay[]): { readonly changes: number; readonly longest: number } => {
  let [changes, longest, unchanged] = [0, 0, 0]
  sessions.slice(1).forEach(({ content }, index) => {
    const isChanged = content !== sessions[index]?.content
    unchanged = isChanged ? 0 : unchanged + 1
    longest = Math.max(longest, unchanged)
    if (isChanged) changes++
  })
  return { changes, longest }
}
