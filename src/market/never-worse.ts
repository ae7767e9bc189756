import { CollectError } from '../model/errors.js'

/**
 * Why a well-formed answer is refused: what is stored stays, the item or the stream ends with this code, and the run ends as partial.
 * `RunOptions.accept` (`--accept CODE`) stores such answers all the same.
 */
export const refusals = {
  shrink: 'a list or a history holds much less than the stored one',
  count: 'a list holds fewer records than it says itself',
  fields: 'a required field is gone from nearly all answers',
  prices: 'a new candle is impossible, or moves as only an error does',
  rescale: 'many stored series disagree with what is answered on one day',
  identity: "a series is another stock's",
} as const

/** The code of a rule, as `--accept`, `RunOptions.accept` and `Problem.code` name it. */
export type RefusalCode = keyof typeof refusals

export const refusalCodes = Object.keys(refusals) as readonly RefusalCode[]

/** The figures of all rules, in one place. Shares are of 1. */
export const thresholds = {
  /** A list or a history must hold this share of what the stored one holds. */
  leastShare: 0.7,
  /** Stocks with records that answer nothing keep them if they are at least so many, and more than this share. */
  emptied: { least: 20, share: 0.3 },
  /** A stream over at least so many items fails if not one of them has anything. */
  allEmpty: 20,
  /**
   * A required field is gone from an answer if 95 % of its records lack it. An answer of 3 records is refused then; a smaller one too, unless
   * at least 5 answers of the run and 4 in 5 have the field. Where they have, one of 10 records is refused.
   */
  fields: { offShare: 0.95, fewest: 3, fewestIfUsual: 10, answers: 5, usualShare: 0.8 },
  /**
   * Drift makes a run partial if at least so many answers, and this share of them, show it; in a list that is asked as a whole, so many of
   * the records that are looked at (three of each answer), and that share of them.
   */
  drift: { answers: 5, share: 0.2, records: 3, shareOfList: 0.8 },
} as const

/** The answer is well-formed, but must not replace what is stored, which stays. */
export class RefusedError extends CollectError {
  override readonly name = 'RefusedError'
  readonly verdict = 'give-up'
  readonly status = 'error'

  constructor(
    readonly code: RefusalCode,
    message: string,
  ) {
    super(`${code}: ${message}`)
  }
}
