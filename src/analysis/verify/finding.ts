/** `error`: wrong data; `warning`: data to review; `info`: good to know. */
export type Severity = 'error' | 'warning' | 'info'

/** All checks with what they find, in the order of the summary. */
export const CHECKS = {
  files: 'files that are missing, shorter than the run wrote them, truncated or unreadable',
  'duplicate-candles': 'days that appear twice in a candle file',
  'unordered-candles': 'candles that precede older ones',
  'impossible-candles': 'a high below the low, an open or close outside of both, a price of 0 or less',
  'spliced-series': 'prices of two stocks under one symbol',
  'unadjusted-actions': 'a split, bonus or rights issue for which earlier prices were not adjusted',
  'large-moves': 'closes more than 30 % from the previous one, without an explanation',
  'missing-sessions': 'sessions that a stock lacks, though it traded on all sessions around them',
  'odd-days': 'days on which fewer than half of the stocks have a candle',
  'stale-symbols': 'listed stocks without a candle for more than 20 sessions',
  'price-bands': 'closes of the newest session outside the price band',
  'stray-records': 'records of a stock that is not in the master list, or of another stock than their file',
  leftovers: 'files of stocks and indices that are no longer listed',
} as const

export type CheckName = keyof typeof CHECKS

export const checkNames = Object.keys(CHECKS) as readonly CheckName[]

/** One thing that a check found. */
export interface Finding {
  readonly check: CheckName
  readonly severity: Severity
  /** The stock or index; absent if it is about the market or a list. */
  readonly symbol?: string
  /** The other stock, if it is about two and the candles do not show which one is wrong. */
  readonly other?: string
  /** The trading day, `YYYY-MM-DD`; the first one where there are several. */
  readonly day?: string
  /** Relative to the output folder. */
  readonly file?: string
  readonly detail: string
}
