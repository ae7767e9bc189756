import type { About } from './about.js'

/** `GET /api/stock/SYMBOL` */
export interface StockAnswer {
  readonly symbol: string
  readonly name: string
  readonly isin: string
  /** If it was asked for by a symbol that it had earlier. */
  readonly oldSymbol?: string
  readonly price?: PriceFacts
  readonly facts: StockFacts
  readonly events: { readonly about: readonly About[]; readonly rows: readonly StockEvent[] }
  readonly quarters: { readonly about: About; readonly basis?: 'consolidated' | 'standalone'; readonly rows: readonly Quarter[] }
  readonly shareholding: { readonly about: About; readonly rows: readonly Holding[] }
  readonly findings: StockFindings
}

/** The newest candle and the prices around it, in rupees of today (points of an index). */
export interface PriceFacts {
  readonly about: About
  readonly day: string
  readonly close: number
  readonly changePct?: number
  readonly volume: number
  readonly volumeTimes?: number
  /** Of the last 52 weeks, or of all candles if they are fewer. */
  readonly high52: number
  readonly low52: number
  readonly sessions: number
  readonly firstDay: string
  /** Returns in percent by `1W`, `1M`, `3M`, `6M`, `1Y`; absent without the candles. */
  readonly returns: Readonly<Record<string, number>>
}

export interface StockFacts {
  readonly sector?: string
  readonly industry?: string
  readonly series?: string
  readonly listedOn?: string
  readonly faceValue?: number
  readonly hasDerivatives: boolean
  readonly marketCapCr?: number
  readonly pe?: number
  readonly roePct?: number
  readonly rocePct?: number
  readonly dividendYieldPct?: number
  /** Such as `20 %` or `no band`. */
  readonly band?: string
  /** Such as `from 10 % to 5 %`. */
  readonly bandChange?: string
  /** Stages of surveillance, such as `ASM: LTASM - I (13)`. */
  readonly surveillance: readonly string[]
  readonly circuit?: 'upper' | 'lower'
  /** Which of the lists above could not be read or are old, with the reason. */
  readonly problems: readonly string[]
}

export type EventKind = 'action' | 'filing' | 'news' | 'deal' | 'announcement'

export interface StockEvent {
  readonly day: string
  /** `HH:MM`, India time; absent if only the day is known. */
  readonly time?: string
  readonly kind: EventKind
  /** The letter of its mark on the chart. */
  readonly mark: 'D' | 'S' | 'A' | 'F' | 'N' | 'B'
  readonly title: string
  readonly detail?: string
  readonly sentiment?: string
  /** Crore rupees; negative for a sale. */
  readonly valueCr?: number
  readonly url?: string
}

export interface Quarter {
  /** Such as `Q3 FY26`. */
  readonly quarter: string
  readonly day: string
  readonly salesCr?: number
  readonly profitCr?: number
  readonly marginPct?: number
  readonly eps?: number
  readonly salesGrowthPct?: number
  readonly profitGrowthPct?: number
}

export interface Holding {
  readonly day?: string
  readonly promoterPct?: number
  readonly fiiPct?: number
  readonly diiPct?: number
  readonly publicPct?: number
}

export interface StockFinding {
  readonly severity: 'error' | 'warning' | 'info'
  readonly check: string
  readonly day?: string
  readonly detail: string
  /** Whether somebody has reviewed and accepted it. */
  readonly isAccepted: boolean
}

/** What the checks of the candles found; `problems` are files that these checks could not read. */
export interface StockFindings {
  readonly rows: readonly StockFinding[]
  readonly problems: readonly string[]
}

/** `GET /api/stock/SYMBOL/candles` and `GET /api/index/NAME/candles`: columns of equal length, ascending by day, each day once. */
export interface CandlesAnswer {
  readonly about: About
  readonly days: readonly string[]
  readonly open: readonly number[]
  readonly high: readonly number[]
  readonly low: readonly number[]
  readonly close: readonly number[]
  readonly volume: readonly number[]
  /** Whether splits and bonuses changed anything; without any, both kinds of prices are the same. */
  readonly isAdjusted: boolean
  /** What was left out or put in order for display, as sentences. */
  readonly cleaned: readonly string[]
}

/** `GET /api/index/NAME` */
export interface IndexAnswer {
  readonly key: string
  readonly symbol: string
  readonly name: string
  readonly price?: PriceFacts
  readonly findings: StockFindings
  readonly problem?: string
}
