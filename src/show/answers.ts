import type { DisplayedColumn } from '../tables/column-display.js'

/** What a part of an answer is about. */
export interface About {
  /** The day that the data is about, `YYYY-MM-DD`. */
  readonly day?: string
  /** When it was fetched, ISO 8601 in UTC. */
  readonly fetchedAt?: string
  /** Why something is missing, damaged or older than the last run, as a sentence. */
  readonly problem?: string
}

/** A list with what it is about. It may be cut; `total` counts all. */
export interface Panel<Row> {
  readonly about: About
  readonly rows: readonly Row[]
  readonly total: number
}

/** A stock or an index as search and lists name it. */
export interface NamedInstrument {
  readonly kind: 'stock' | 'index'
  /** What its address ends in: the symbol of a stock, the file name of an index. */
  readonly key: string
  readonly symbol: string
  readonly name: string
  readonly isin?: string
  /** A symbol that the stock had earlier, if the search found it by that. */
  readonly oldSymbol?: string
}

/** `GET /api/list/NAME?day=`: a whole list of the market. */
export interface ListTable {
  readonly title: string
  readonly about: string
  /** The columns of which one value can be chosen. */
  readonly facets: readonly string[]
  /** The statement of its rows, for `query`. */
  readonly sql: string
  readonly columns: readonly DisplayedColumn[]
  /** Cells as exact text; null for NULL. */
  readonly rows: readonly (readonly (string | null)[])[]
  /** Whether there are more rows. */
  readonly isCut: boolean
  /** The recorded day that answers. */
  readonly usedDay?: string
  /** What is missing, damaged or older than the last run, a sentence each. */
  readonly warnings: readonly string[]
}

/** `GET /api/search?q=` */
export interface SearchAnswer {
  readonly found: readonly NamedInstrument[]
}

/** `GET /api/market`: the market on the newest session. */
export interface MarketAnswer {
  readonly breadth: Breadth
  readonly indices: Panel<IndexRow>
}

/**
 * `GET /api/today`: results of the last days, the largest stocks first, and the ex-dates of the days to come.
 */
export interface TodayAnswer {
  readonly results: Panel<ResultsRow> & {
    /** How many reported, are due and grew, as a sentence; empty without any. */
    readonly sum: string
  }
  readonly actions: Panel<UpcomingAction>
}

/** `GET /api/signals`: what rules found in the newest session, or in that of a day. */
export interface SignalRow {
  readonly day: string
  readonly rule: string
  readonly subject: string
  /** What happened, in words. */
  readonly text: string
}

/** The results of a stock; without figures while the provider still has those of the quarter before. */
export interface ResultsRow {
  readonly symbol: string
  readonly name: string
  /** When they were filed. */
  readonly day: string
  readonly quarter?: string
  readonly salesCr?: number
  readonly salesYoyPct?: number
  readonly salesQoqPct?: number
  readonly profitCr?: number
  readonly profitYoyPct?: number
  readonly profitQoqPct?: number
  /** How the price took them. */
  readonly dayReturnPct?: number
}

export interface UpcomingAction {
  readonly symbol: string
  readonly name?: string
  /** The ex-date. */
  readonly day: string
  readonly action: string
  /** As the provider writes them, such as `1:10`. */
  readonly terms?: string
  /** Rupees a share. */
  readonly amount?: number
}

/** `GET /api/stocks?symbols=A,B` */
export interface OwnStocksAnswer {
  readonly rows: readonly OwnStock[]
  /** Symbols that no list has. */
  readonly unknown: readonly string[]
  readonly problem?: string
}

/** A stock of a watchlist, with what happened to it lately and what is to come. */
export interface OwnStock {
  readonly symbol: string
  readonly name: string
  readonly day?: string
  readonly close?: number
  readonly changePct?: number
  readonly volumeTimes?: number
  readonly circuit?: 'upper' | 'lower'
  readonly asm?: string
  readonly gsm?: string
  /** Its new price band, if it changed. */
  readonly band?: string
  readonly notes?: readonly { readonly day: string; readonly kind: string; readonly title: string }[]
}

/**
 * `GET /api/market/feed`: what happened since the end of the last session (15:30), grouped by stock, what
 * matters most first.
 */
export interface FeedAnswer {
  /** The day of the newest event. */
  readonly day?: string
  /** The day of that session; absent if none is known: then the events are those of `day`. */
  readonly since?: string
  /** How many stocks there are; `rows` may be cut. */
  readonly stocks: number
  /** How many events of each kind there are. */
  readonly kinds: Readonly<Record<string, number>>
  readonly rows: readonly FeedRow[]
  /** What is missing, damaged or older than the last run, a sentence each. */
  readonly problems: readonly string[]
}

/** A stock with the first of its events; `total` counts all. */
export interface FeedRow {
  readonly symbol: string
  readonly name?: string
  readonly total: number
  readonly events: readonly FeedEvent[]
}

export interface FeedEvent {
  /** `HH:MM`, India time, on days before `day` as `12 Feb 18:05`. */
  readonly time?: string
  readonly kind: 'filing' | 'news' | 'announcement' | 'deal' | 'price band'
  readonly title: string
  /** Kind of a filing or announcement, sentiment of news, exchange of a deal. */
  readonly detail?: string
  /** Of a deal, ₹ crore; negative for a sale. */
  readonly value?: number
  readonly url?: string
}

/** Advances and declines of the stocks that have a candle of the session. */
export interface Breadth {
  readonly about: About
  /** The stocks of the master list. */
  readonly listed: number
  /** Those with a candle of the session. */
  readonly traded: number
  readonly advances: number
  readonly declines: number
  readonly unchanged: number
  /** Above the highs, or below the lows, of the 52 weeks before. */
  readonly newHighs: number
  readonly newLows: number
  /** Of the stocks that have such an average; absent if none has. */
  readonly above50Pct?: number
  readonly above200Pct?: number
  readonly medianChangePct?: number
  /** Close times volume, ₹ crore. */
  readonly turnoverCr: number
  /** Advances and declines of the last sessions, oldest first. */
  readonly sessions: readonly (readonly [day: string, advances: number, declines: number])[]
}

export interface IndexRow {
  readonly key: string
  readonly symbol: string
  readonly name: string
  readonly day: string
  readonly close: number
  readonly changePct?: number
  /** The closes of the last 60 sessions, oldest first. */
  readonly closes: readonly number[]
}

/** `GET /api/stock/SYMBOL` */
export interface StockAnswer {
  readonly symbol: string
  readonly name: string
  readonly isin: string
  /** If it was asked for by a symbol that it had earlier. */
  readonly oldSymbol?: string
  /** Why there is nothing but its name and candles, such as that DuckDB is not installed. */
  readonly problem?: string
  readonly price?: PriceFacts
  readonly facts: StockFacts
  readonly events: { readonly about: readonly About[]; readonly rows: readonly StockEvent[] }
  readonly quarters: {
    readonly about: About
    readonly basis?: 'consolidated' | 'standalone'
    readonly rows: readonly Quarter[]
  }
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
  /** Of the last 52 weeks, or since the listing; absent if candles are missing before. */
  readonly high52?: number
  readonly low52?: number
  /** The close between these two: 0 to 100. */
  readonly place52Pct?: number
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
  /** The close against the earnings of four quarters. */
  readonly peTtm?: number
  /** As the master list has it, which has it of few stocks. */
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
  /** What the list of stocks at their limits says of its price, which may be newer than the candles. */
  readonly atLimit?: { readonly price?: number; readonly changePct?: number }
  /** The day of the lists above: surveillance, band and circuit. */
  readonly listDay?: string
  /** Which of the lists above could not be read or are old, with the reason. */
  readonly problems: readonly string[]
}

export interface StockEvent {
  readonly day: string
  /** `HH:MM`, India time; absent if only the day is known. */
  readonly time?: string
  readonly kind: 'action' | 'filing' | 'news' | 'deal' | 'announcement'
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

/**
 * `GET /api/stock/SYMBOL/candles` and `GET /api/index/NAME/candles`: columns of equal length, ascending by
 * day, each day once.
 */
export interface CandlesAnswer {
  readonly about: About
  /** Of a week its last session. */
  readonly days: readonly string[]
  /** Of weeks the Friday of each, which is the same one for every instrument. */
  readonly weeks?: readonly string[]
  readonly open: readonly number[]
  readonly high: readonly number[]
  readonly low: readonly number[]
  readonly close: readonly number[]
  readonly volume: readonly number[]
  /** The average close of the last 50 and 200 sessions, also of weeks; null where there are fewer. */
  readonly averages: readonly { readonly length: number; readonly values: readonly (number | null)[] }[]
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
