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
  /** Market capitalisation in crore rupees. */
  readonly Mcap: number
  /** Last traded price in rupees. */
  readonly Ltp: number
  /** First trading day, `YYYY-MM-DD`. */
  readonly listedOn: string
  readonly split?: SampleSplit
}

/** A split or bonus. From the opening of that day on, all earlier candles are served divided by the factor. */
export interface SampleSplit {
  readonly type: 'SPLIT' | 'BONUS'
  /** The ex-date, `YYYY-MM-DD`. */
  readonly on: string
  /** New shares for one old share. */
  readonly factor: number
}

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
  stockByIsin(isin: string): SampleStock | undefined
  stockBySid(sid: string): SampleStock | undefined
  indexBySid(sid: string): SampleIndex | undefined
  /** The same key gives the same numbers, independent of earlier calls. */
  random(...key: readonly (string | number)[]): Random
  /** Days on which the market traded, oldest first, both ends included; never after `asOf`. */
  tradingDays(from: string, to: string): readonly string[]
  /** Candles of a stock or index from `start` to `end` (epoch seconds, both included). The candle of the current session still changes. */
  candles(sid: string, start: number, end: number): CandleColumns
}
