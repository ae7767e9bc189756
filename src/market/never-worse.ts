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
   * A new candle of a stock or an index. No price band is wider than 40 %, so neither a band nor a circuit explains a move of this size; only a
   * corporate action or a long rest does. An unlisted demerger can take 80 to 90 % of a price, so a fall must be greater than that.
   */
  prices: {
    /** A price of so many times the close before, or more. */
    rise: 5,
    /** A price of this share of the close before, or less. */
    fall: 0.12,
    /** Rupees: prices of a few paise move by many times with a tick or two. */
    leastChange: 1,
    /** After so many days without a candle a stock may come back at any price (7537 of the captured market: 8 times, after 1,126 days). */
    restDays: 30,
    /** Corporate actions explain a move this many days before or after their day: a session or a weekend beside it. */
    actionDays: 4,
    /** So many of the newest candles count as new; older ones are history, which stays as it is served. */
    newest: 30,
    /** A close of the last days is new, too, if it moved by more than this share against the rest of its history. */
    changed: 0.25,
  },
  /** A whole history whose prices are a multiple of the stored ones, with no corporate action that explains it. */
  rescale: {
    /** Within this share of 1 it is no multiple, but a history corrected here and there. */
    same: 0.01,
    /** A corporate action divides earlier prices; up to here rounding may raise them. */
    raised: 1.2,
    /** So many times the stored prices or more is refused alone: consolidations of shares go up to 10 for 1. */
    up: 20,
    /** So many parts of the stored prices or fewer, too: a split into 10 and a bonus of 4 for 1 together make 1/50. */
    down: 1 / 60,
    /** Of the last `window` series compared, so many make it the provider's error. Usual are a few of 2,775; after a year without the list of actions 8 %. */
    window: 60,
    many: 12,
    /** Where fewer than that are compared: at least so many, and this share of them. */
    few: 5,
    share: 0.2,
  },
  /** Whether two series are of one instrument shows in their day-to-day moves, which no factor changes. Those of two stocks agree in about 5 %. */
  identity: {
    /** Fewer moves that tell anything decide nothing. */
    leastMoves: 10,
    share: 0.3,
  },
  /** Rows that a list of many pages can have at most: 40 times the deals of a month. A total beyond is an error, no reason to page for days. */
  longestList: 100_000,
  /** Pages that are asked for at most beyond those that a list promises: ten days of deals fill about 16. */
  pagesBeyond: 200,
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
