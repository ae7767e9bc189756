import type { About, Panel } from './about.js'

/** `GET /api/market`: the market on the newest session. */
export interface MarketAnswer {
  readonly breadth: Breadth
  readonly gainers: Panel<Mover>
  readonly losers: Panel<Mover>
  /** The most traded stocks against their usual volume. */
  readonly busiest: Panel<Mover>
  readonly indices: Panel<IndexRow>
}

/** `GET /api/market/lists`: what the lists of the market say. They are small, so that this answer comes first. */
export interface ListsAnswer {
  readonly circuits: Panel<CircuitRow>
  readonly surveillance: Panel<ListChange>
  readonly bands: Panel<ListChange>
  readonly deals: Panel<DealRow>
  readonly announcements: Panel<Announcement>
}

/** `GET /api/market/documents`: filings and news of the newest day, which are in a file per stock. */
export interface DocumentsAnswer {
  readonly filings: Panel<Announcement>
  readonly news: Panel<NewsRow>
  /** The news of that day by sentiment. */
  readonly sentiments: Readonly<Record<string, number>>
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
  /** Close times volume, crore rupees. */
  readonly turnoverCr: number
  /** Advances and declines of the last sessions, oldest first. */
  readonly sessions: readonly (readonly [day: string, advances: number, declines: number])[]
}

export interface Mover {
  readonly symbol: string
  readonly name: string
  readonly close: number
  readonly changePct: number
  readonly volume: number
  /** Against the average of the 20 sessions before. */
  readonly volumeTimes?: number
  readonly turnoverCr: number
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

/** A stock of a list of the whole market. */
export interface NamedStock {
  readonly symbol: string
  readonly name: string
  /** It is not in the master list of the folder. */
  readonly hasNoPage?: true
}

export interface CircuitRow extends NamedStock {
  readonly side: 'upper' | 'lower'
  readonly price?: number
  readonly changePct?: number
  /** Whether it was not there before the last run; absent if there is nothing to compare with. */
  readonly isNew?: boolean
}

/** A stock that entered a list, left it, or changed its place in it. */
export interface ListChange extends NamedStock {
  readonly change: string
  readonly detail: string
}

export interface DealRow extends NamedStock {
  readonly client: string
  readonly side: 'bought' | 'sold'
  /** Bulk or block. */
  readonly kind: string
  readonly quantity: number
  readonly price: number
  readonly valueCr: number
}

export interface Announcement {
  readonly symbol: string
  readonly name: string
  /** `YYYY-MM-DD HH:MM`, India time. */
  readonly at: string
  readonly title: string
  readonly kind?: string
  readonly url?: string
}

export interface NewsRow extends Announcement {
  readonly sentiment: string
}
