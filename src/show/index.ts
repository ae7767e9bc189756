import type { Day } from '../model/trading-day.js'
import type { ChartWishes } from './candles.js'
import type { MarketFolder } from './folder.js'
import { readFeed } from './happened.js'
import { readMarket, readOwnStocks, readToday } from './market.js'
import { readCandles, readIndex, readIndexChart, readStock } from './stock.js'
import { readWholeList } from './whole-lists.js'

export { type DataSource, type MarketFolder, openMarketFolder } from './folder.js'
export { REPORT } from './freshness.js'
export { readSignalRows } from './market.js'
export { search } from './stocks.js'

/** What the morning's page shows of the market, in every format. */
export type MorningMarket = Awaited<ReturnType<typeof readMorning>>

/** Reads the market of the last run, with the stocks of a watchlist. */
export const readMorning = async (folder: MarketFolder, watched: readonly string[]) => ({
  market: await readMarket(folder),
  today: await readToday(folder),
  own: await readOwnStocks(folder, watched.join(',')),
  feed: await readFeed(folder),
})

/** What is asked of the tables: all needs DuckDB, and up to some hundred MB. */
const readers = {
  market: readMarket,
  feed: readFeed,
  stock: readStock,
  candles: readCandles,
  index: readIndex,
  indexCandles: readIndexChart,
  list: readWholeList,
  today: readToday,
  stocks: readOwnStocks,
} satisfies Readonly<
  Record<string, (folder: MarketFolder, name: string, wishes: ChartWishes) => Promise<unknown>>
>

export type ShowAnswers = {
  readonly [Kind in keyof typeof readers]: Awaited<ReturnType<(typeof readers)[Kind]>>
}

export interface ShowRequest<Kind extends keyof ShowAnswers = keyof ShowAnswers> extends ChartWishes {
  readonly show: Kind
  /** Of a stock, an index or a list; of several stocks their symbols, with commas. */
  readonly name?: string
  /** The day as of which it is shown; now if absent. */
  readonly day?: Day
}

/**
 * Answers in this process or in another one, which `signal` ends; undefined for an unknown stock or index.
 */
export type ShowRunner = <Kind extends keyof ShowAnswers>(
  request: ShowRequest<Kind>,
  signal?: AbortSignal,
) => Promise<ShowAnswers[Kind]>

export const createShowRunner =
  (folder: MarketFolder): ShowRunner =>
  async <Kind extends keyof ShowAnswers>({ show, name = '', day, ...wishes }: ShowRequest<Kind>) =>
    (await readers[show](day === undefined ? folder : { ...folder, day }, name, wishes)) as ShowAnswers[Kind]
