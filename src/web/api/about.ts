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

/** `GET /api/search?q=` */
export interface SearchAnswer {
  readonly found: readonly NamedInstrument[]
}
