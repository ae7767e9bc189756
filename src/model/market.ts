import type { Stock } from './stock.js'

/** Pseudo-random numbers, the same for the same seed and key. */
export interface Random {
  /** In [0, 1). */
  next(): number
  /** A whole number from `least` to `most`, both included. */
  int(least: number, most: number): number
  /** A number in [least, most) with `digits` decimals. */
  decimal(least: number, most: number, digits?: number): number
  pick<T>(list: readonly [T, ...T[]]): T
  chance(probability: number): boolean
  /** A text with a number for each `{2..9}`, and one of the texts for each `{a|b}`. */
  fill(text: string): string
}

/**
 * A stock of the simulated market. `Mcap` (₹ crore), `Ltp` (rupees) and `pe` are those of the turn of the
 * year 2026; `quote` has those of now.
 */
export interface SampleStock extends Stock {
  readonly Mcap: number
  readonly Ltp: number
  readonly pe: number
  /** Market capitalisation to book value at the turn of that year. */
  readonly pb: number
  /** Rupees a share in each year; 0 if it pays none. */
  readonly dividend: number
  readonly sector: string
  readonly series: 'EQ' | 'BE' | 'SM'
  /**
   * How far its price usually may move in a session, in percent; undefined without a limit. `bandOn` has that
   * of a day.
   */
  readonly band: number | undefined
  /**
   * Its place among the stocks that close at a limit in each session from the anchor on: of each pair, one at
   * the upper and one at the lower.
   */
  readonly limitPlace?: number | undefined
  /** The surveillance list that it is always on. */
  readonly watched?: 'asm' | 'gsm' | undefined
  /** First trading day, `YYYY-MM-DD`. */
  readonly listedOn: string
  readonly split?: SampleSplit
  /**
   * Only in a market with planned events: its place among all stocks that were ever listed, 0 for the first.
   */
  readonly rank?: number
  /**
   * The planned events that it has had so far, in the order of their planning; splits and bonuses from their
   * announcement on.
   */
  readonly events?: readonly PlannedStockEvent[]
}

/**
 * A split or bonus. From the opening of that day on, all earlier candles are served divided by the factor.
 */
export interface SampleSplit {
  readonly type: 'SPLIT' | 'BONUS'
  /** The ex-date, `YYYY-MM-DD`. */
  readonly on: string
  /** New shares for one old share. */
  readonly factor: number
}

/** An event of the whole market. `day` is the day itself, or the first session of the frozen provider. */
export type MarketEvent =
  | { readonly kind: 'holiday' | 'weekend-session'; readonly day: string }
  /** From `day` to `until`, candles are answered as of the session before `day`. */
  | { readonly kind: 'frozen-provider'; readonly day: string; readonly until: string }

/**
 * An event of one stock. `day` is the first session whose answers show it, from 09:15 in India on; of splits
 * and bonuses it is the ex-date. `symbol` and `isin` are those before the event.
 */
export type PlannedStockEvent = {
  readonly day: string
  readonly symbol: string
  readonly isin: string
} & (
  | {
      readonly kind: 'split' | 'bonus'
      /** New shares for one old share. */
      readonly factor: number
      readonly announcedOn: string
      /**
       * The provider divides the earlier candles by the factor on the ex-date (`at-once`), on `adjustedOn`
       * (`late`) or `never`.
       */
      readonly adjusted: 'at-once' | 'late' | 'never'
      /** Absent if never. */
      readonly adjustedOn?: string
    }
  | { readonly kind: 'rename'; readonly newSymbol: string }
  | { readonly kind: 'isin-change'; readonly newIsin: string }
  | { readonly kind: 'listing' | 'delisting' }
  /** The net profit of that quarter (`YYYYMM`) is multiplied by the factor. */
  | { readonly kind: 'restated-quarter'; readonly quarter: string; readonly factor: number }
  /**
   * A filing with the time `filedAt` (India time): some days before `day` if late, a month or more if
   * backdated.
   */
  | { readonly kind: 'late-filing' | 'backdated-filing'; readonly filedAt: string; readonly newsId: string }
  | { readonly kind: 'surveillance-entry' | 'surveillance-exit'; readonly list: 'asm' | 'gsm' }
  /** The prices of the candles from `from` to `to` are multiplied by the factor. */
  | {
      readonly kind: 'rewritten-history'
      readonly from: string
      readonly to: string
      readonly factor: number
    }
)

/** What happened in a simulated market. */
export type PlantedEvent = MarketEvent | PlannedStockEvent

/** An index of the simulated market. */
export interface SampleIndex {
  readonly Sym: string
  readonly DispSym: string
  readonly Sid: number
}

/**
 * Daily candles as the provider sends them: six columns of equal length, `Time` in epoch seconds at midnight
 * in India.
 */
export interface CandleColumns {
  readonly Time: number[]
  readonly o: number[]
  readonly h: number[]
  readonly l: number[]
  readonly c: number[]
  readonly v: number[]
}

/** The newest candle of a stock, and what follows from it. */
export interface SampleQuote {
  /** Rupees. */
  readonly close: number
  /** Against the close before, percent; a split or bonus on the day does not count. */
  readonly change: number
  /** Shares. */
  readonly volume: number
  /** ₹ crore. */
  readonly marketCap: number
  /** Price to the earnings of the last four quarters; undefined without any. */
  readonly pe: number | undefined
  /** Market capitalisation to book value. */
  readonly pb: number
  /** Percent. */
  readonly dividendYield: number
  /** The limit of its band at which it closed. */
  readonly limit?: 'upper' | 'lower'
}

/** What a company has reported for a quarter: ₹ crore, and rupees a share. */
export interface SampleQuarter {
  /** `YYYYMM`. */
  readonly period: string
  /** Epoch milliseconds. */
  readonly publishedAt: number
  readonly sales: number
  readonly ebitda: number
  readonly profit: number
  readonly eps: number
}

/** A document of a company: a filing, a news item. `id` and what `random` draws never change. */
export interface SampleDocument {
  readonly id: string
  /** Epoch milliseconds. */
  readonly at: number
  readonly random: Random
}

/** The seeded market that endpoints draw their sample answers from. */
export interface SampleMarket {
  readonly exchange: string
  /** "Now" of this market, epoch milliseconds. */
  readonly asOf: number
  readonly stocks: readonly SampleStock[]
  readonly indices: readonly SampleIndex[]
  readonly buildId: string
  readonly sheet: { readonly id: string; readonly asmTabId: string; readonly gsmTabId: string }
  /** The stocks listed on a day that is not after `asOf`. */
  stocksOn(day: string): readonly SampleStock[]
  /**
   * The largest stocks of the turn of the year, from one place to another; a market of fewer than 500 stocks
   * has fewer in proportion.
   */
  largest(from: number, to: number): readonly SampleStock[]
  /** The newest candle of a stock; undefined without one. */
  quote(stock: SampleStock): SampleQuote | undefined
  /** The price band of a stock on a day that is not after `asOf`, in percent; undefined without a limit. */
  bandOn(stock: SampleStock, day: string): number | undefined
  /**
   * The quarters that a company has reported, or will within `days`, newest first. Earnings are those of
   * today's number of shares.
   */
  results(stock: SampleStock, count: number, days?: number): readonly SampleQuarter[]
  /**
   * The same of the years that end in March and whose quarters it has all reported; each figure is the sum of
   * its quarters.
   */
  years(stock: SampleStock, count: number): readonly SampleQuarter[]
  /**
   * The newest documents of a kind, newest first: at most `count` of the last `days`, at a rate of `perYear`.
   */
  documents(
    stock: SampleStock,
    kind: string,
    wanted: Readonly<Record<'perYear' | 'count' | 'days', number>>,
  ): readonly SampleDocument[]
  stockByIsin(isin: string): SampleStock | undefined
  stockBySid(sid: string): SampleStock | undefined
  indexBySid(sid: string): SampleIndex | undefined
  /** The same key gives the same numbers, independent of earlier calls. */
  random(...key: readonly (string | number)[]): Random
  /** Days on which the market traded, oldest first, both ends included; never after `asOf`. */
  tradingDays(from: string, to: string): readonly string[]
  /**
   * Candles of a stock or index from `start` to `end` (epoch seconds, both included). The candle of the
   * current session still changes.
   */
  candles(sid: string, start: number, end: number): CandleColumns
  /**
   * What a stock traded at on a day, as the exchange published it that evening: later splits and errors of
   * the provider change nothing.
   */
  tradesOn(sid: string, day: string): CandleColumns
}
