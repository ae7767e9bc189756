/** How bad a finding is: wrong data, data that someone should look at, and what is merely worth knowing. */
export type Severity = 'error' | 'warning' | 'info'

/** Every check: what it finds, in the order in which a summary lists them. */
export const CHECKS = {
  files: 'files that are missing, shorter than the run left them, torn or unreadable',
  'duplicate-candles': 'days that a candle file holds twice',
  'unordered-candles': 'candles before older ones',
  'impossible-candles': 'a high below the low, an open or close outside of both, a price of 0 or less',
  'spliced-series': 'prices of two stocks under one symbol',
  'unadjusted-actions': 'a split, bonus or rights issue by which earlier prices were not divided',
  'large-moves': 'closes more than 30 % away from the one before, for which nothing accounts',
  'missing-sessions': 'sessions that a stock lacks, though it traded on all those around them',
  'odd-days': 'days on which fewer than half of the stocks have a candle',
  'stale-symbols': 'listed stocks without a candle for more than 20 sessions',
  'price-bands': 'closes of the newest session outside the price band',
  'stray-records': 'records of a stock that the master list does not hold, or of another stock than their file',
  leftovers: 'files of stocks and indices that are no longer listed',
} as const

export type CheckName = keyof typeof CHECKS

export const checkNames = Object.keys(CHECKS) as readonly CheckName[]

/** One thing that a check found. */
export interface Finding {
  readonly check: CheckName
  readonly severity: Severity
  /** The stock or index that it is about; absent where it is about the market or a list. */
  readonly symbol?: string
  /** The other stock, where it is about two, and candles cannot tell which of them is wrong. */
  readonly other?: string
  /** The trading day, `YYYY-MM-DD`; the first one where there are several. */
  readonly day?: string
  /** Relative to the output folder. */
  readonly file?: string
  readonly detail: string
}
