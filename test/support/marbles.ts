import { type Context, configure } from 'rxjs-marbles'
import { expect, it } from 'vitest'

export type { Context } from 'rxjs-marbles'

/**
 * Runs a test on virtual time. Values are compared by vitest's `toStrictEqual`: the comparison of the library
 * treats a key with `undefined` like an absent key. Errors are compared by name and message.
 */
export const { marbles } = configure({
  run: true,
  frameworkMatcher: true,
  assertDeepEqual: (actual: unknown, expected: unknown) => expect(actual).toStrictEqual(expected),
})

/** A test on virtual time. */
export const itWithMarbles = (title: string, test: (m: Context) => void): void => it(title, marbles(test))
