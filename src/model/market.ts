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
}

/** A stock of the simulated market. */
export interface SampleStock extends Stock {
  /** Market capitalisation in ₹ crore. */
  readonly Mcap: number
  /** Last traded price in rupees. */
  readonly Ltp: number
  /** Its earnings are ₹ `Mcap / pe` crore a year, `Ltp / pe` rupees a share. */
  readonly pe: number
  readonly sector: string
  /** How far its price may move in a session, in percent; undefined without a limit. */
  readonly band: number | undefined
  /** First trading day, `YYYY-MM-DD`. */
  readonly listedOn: string
  readonly split?: SampleSplit
  /** Only in a market with planned events: its place among all stocks that were ever listed, 0 for the first. */
  readonly rank?: number
  /** The planned events that it has had so far, in the order of their planning; splits and bonuses from their announcement on. */
  readonly events?: readonly PlannedStockEvent[]
}

/** A split or bonus. From the opening of that day on, all earlier candles are served divided by the factor. */
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
 * An event of one stock. `day` is the first session whose answers show it, from 09:15 in India on; of splits and bonuses it is the ex-date.
 * `symbol` and `isin` are those before the event.
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
      /** The provider divides the earlier candles by the factor on the ex-date (`at-once`), on `adjustedOn` (`late`) or `never`. */
      readonly adjusted: 'at-once' | 'late' | 'never'
      /** Absent if never. */
      readonly adjustedOn?: string
    }
  | { readonly kind: 'rename'; readonly newSymbol: string }
  | { readonly kind: 'isin-change'; readonly newIsin: string }
  | { readonly kind: 'listing' | 'delisting' }
  /** The net profit of that quarter (`YYYYMM`) is multiplied by the factor. */
  | { readonly kind: 'restated-quarter'; readonly quarter: string; readonly factor: number }
  /** A filing with the time `filedAt` (India time): some days before `day` if late, a month or more if backdated. */
  | { readonly kind: 'late-filing' | 'backdated-filing'; readonly filedAt: string; readonly newsId: string }
  | { readonly kind: 'surveillance-entry' | 'surveillance-exit'; readonly list: 'asm' | 'gsm' }
  /** The prices of the candles from `from` to `to` are multiplied by the factor. */
  | { readonly kind: 'rewritten-history'; readonly from: string; readonly to: string; readonly factor: number }
)

/** What happened in a simulated market. */
export type PlantedEvent = MarketEvent | PlannedStockEvent

/** An index of the simulated market. */
export interface SampleIndex {
  readonly Sym: string
  readonly DispSym: string
  readonly Sid: number
}

/** Daily candles as the provider sends them: six columns of equal length, `Time` in epoch seconds at midnight in India. */
export interface CandleColumns {
  readonly Time: number[]
  readonly o: number[]
  readonly h: number[]
  readonly l: number[]
  readonly c: number[]
  readonly v: number[]
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
   * When something of an age (milliseconds) was published. Without planned events that moves with `asOf`. With them it stays, and recurs
   * every 365 days as another `issue`, which is empty at first.
   */
  published(ageMs: number): { readonly at: number; readonly issue: string }
  stockByIsin(isin: string): SampleStock | undefined
  stockBySid(sid: string): SampleStock | undefined
  indexBySid(sid: string): SampleIndex | undefined
  /** The same key gives the same numbers, independent of earlier calls. */
  random(...key: readonly (string | number)[]): Random
  /** Days on which the market traded, oldest first, both ends included; never after `asOf`. */
  tradingDays(from: string, to: string): readonly string[]
  /** Candles of a stock or index from `start` to `end` (epoch seconds, both included). The candle of the current session still changes. */
  candles(sid: string, start: number, end: number): CandleColumns
  /** What a stock traded at on a day, as the exchange published it that evening: later splits and errors of the provider change nothing. */
  tradesOn(sid: string, day: string): CandleColumns
}
