import { configure } from 'rxjs-marbles'
import { expect } from 'vitest'

export type { Context } from 'rxjs-marbles'

/**
 * Runs a test on virtual time. Compared by vitest, strictly: the library's own comparison takes a key that holds `undefined` for one
 * that is absent. Of errors it compares name and message.
 */
export const { marbles } = configure({
  run: true,
  frameworkMatcher: true,
  assertDeepEqual: (actual: unknown, expected: unknown) => expect(actual).toStrictEqual(expected),
})
