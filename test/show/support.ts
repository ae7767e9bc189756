import { type MarketFolder, openMarketFolder } from '../../src/show/folder.js'
import { streams } from '../../streams/registry.js'
import { folderWith } from '../tables/support.js'

export const ISIN = 'INE009A01021'

/** A folder as the page reads it. */
export const openFolder = (root: string): MarketFolder => openMarketFolder({ root, exchange: 'NSE', streams })

/** A folder with exactly these files. */
export const marketWith = (files: Readonly<Record<string, string | object>>): MarketFolder =>
  openFolder(folderWith(files))

export const stock = (symbol: string, isin = ISIN, name = `${symbol} Ltd`) => ({
  Symbol: symbol,
  ISIN: isin,
  Name: name,
  Sid: '1',
  FnoFlag: 0,
})

/** A candle file: a day and a close on each line; the other prices are near it. */
export const candleFile = (
  rows: readonly (readonly [day: string, close: number, volume?: number])[],
): string =>
  `Timestamp,Open,High,Low,Close,Volume\n${rows.map(([day, close, volume = 1000]) => candleLine(day, [close, close * 1.02, close * 0.98, close], volume)).join('')}`

export const candleLine = (day: string, prices: readonly number[], volume = 1000): string =>
  `${Date.parse(`${day}T00:00:00+05:30`) / 1000},${prices.join(',')},${volume}\n`

const script = (outcome: string, more: object = {}) => ({
  outcome,
  durationMs: 1,
  requests: 1,
  retries: 0,
  rateLimited: 0,
  degraded: 0,
  takenOver: 0,
  files: 1,
  bytes: 1,
  problems: [],
  items: { success: 1, empty: 0, skipped: 0, rate_limit: 0, error: 0 },
  ...more,
})

/** A report of a run on Thursday 12 February 2026. */
export const report = (
  scripts: Readonly<Record<string, readonly [outcome: string, more?: object]>>,
  more: object = {},
) => ({
  run: 'r',
  asOf: '2026-02-12T14:30:00.000Z',
  startedAt: '2026-02-12T14:30:00.000Z',
  finishedAt: '2026-02-12T14:31:00.000Z',
  durationMs: 60_000,
  outcome: 'partial',
  stocks: 1,
  ...more,
  scripts: Object.fromEntries(
    Object.entries(scripts).map(([name, [outcome, own]]) => [name, script(outcome, own)]),
  ),
})
