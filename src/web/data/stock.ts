import type { CandlesAnswer, IndexAnswer, StockAnswer } from '../api/stock.js'
import { findAdjustments, readActions } from './adjustments.js'
import { readShownCandles, type ShownCandles, toCandlesAnswer } from './candles.js'
import { readEvents, type StockContext } from './events.js'
import { readQuarters, readShareholding } from './figures.js'
import { findInCandles } from './findings.js'
import { describeAbout, readRunFacts } from './freshness.js'
import { readIndices } from './known-indices.js'
import { findRecords } from './lists.js'
import type { MarketFolder } from './market-folder.js'
import { describePrice } from './price-facts.js'
import { readStockFacts } from './stock-facts.js'
import { readStockNames } from './stocks.js'

/** A stock or an index that a name of a request means. Files are found by it, never by the text of the request. */
interface FoundFile {
  readonly file: string
  readonly shown: ShownCandles
}

/** The stock of a symbol, also of one that it had earlier; undefined without one. */
const findStock = async (folder: MarketFolder, symbol: string): Promise<(StockContext & { readonly oldSymbol?: string }) | undefined> => {
  const [facts, names] = await Promise.all([readRunFacts(folder), readStockNames(folder)])
  const listed = names.bySymbol.get(symbol) ?? names.bySymbol.get(symbol.toUpperCase())
  if (listed !== undefined) return { folder, facts, names, item: listed }
  const former = names.former.find((one) => one.symbol === symbol.toUpperCase())
  return former && { folder, facts, names, item: former.item, oldSymbol: former.symbol }
}

/** Everything that the page of a stock shows, besides its candles; undefined for an unknown symbol. */
export const readStock = async (folder: MarketFolder, symbol: string): Promise<StockAnswer | undefined> => {
  const context = await findStock(folder, symbol)
  if (context === undefined) return undefined
  const { facts, item, oldSymbol } = context
  const { file, shown } = await readStockCandles(context)
  const fundamentals = await findRecords(folder, 'fundamental_data.json', item.value.ISIN)
  const own = { ...fundamentals, rows: fundamentals.rows.filter(({ ISIN, isin }) => (ISIN ?? isin) === item.value.ISIN) }
  const about = describeAbout(facts, 'fundamental-data', own)
  const price = describePrice(shown.adjusted, describeAbout(facts, 'all-ohlcv'))
  return {
    symbol: item.key,
    name: item.value.Name,
    isin: item.value.ISIN,
    ...(oldSymbol === undefined ? {} : { oldSymbol }),
    ...(price === undefined ? {} : { price }),
    facts: await readStockFacts(context, own),
    events: await readEvents(context),
    quarters: { about, ...readQuarters(own.rows[0] ?? {}) },
    shareholding: { about, rows: readShareholding(own.rows[0] ?? {}) },
    findings: await findInCandles(folder, { symbol: item.key, file, candles: shown.raw, fault: shown.fault, isStock: true }),
  }
}

const readStockCandles = async ({ folder, names, item }: StockContext): Promise<FoundFile> => {
  const adjustments = findAdjustments((await readActions(folder)).rows, names).get(item.key)
  const file = `ohlcv_data/${item.fileName}.csv`
  return { file, shown: await readShownCandles(folder.root, file, adjustments) }
}

/** The candles of a stock for a chart; undefined for an unknown symbol. */
export const readCandles = async (folder: MarketFolder, symbol: string, isAdjusted: boolean): Promise<CandlesAnswer | undefined> => {
  const context = await findStock(folder, symbol)
  if (context === undefined) return undefined
  const { shown } = await readStockCandles(context)
  return toCandlesAnswer(shown, { isAdjusted, about: describeAbout(context.facts, 'all-ohlcv', { isMissing: shown.raw.length === 0 }) })
}

const readIndexCandles = async (folder: MarketFolder, key: string) => {
  const item = (await readIndices(folder)).rows.find(({ fileName }) => fileName === key)
  if (item === undefined) return undefined
  const file = `ohlcv_data/indices/${item.fileName}.csv`
  const shown = await readShownCandles(folder.root, file)
  const about = describeAbout(await readRunFacts(folder), 'indices-ohlcv', { isMissing: shown.raw.length === 0 })
  return { item, file, shown, about }
}

/** What the page of an index shows; undefined for an unknown one. */
export const readIndex = async (folder: MarketFolder, key: string): Promise<IndexAnswer | undefined> => {
  const found = await readIndexCandles(folder, key)
  if (found === undefined) return undefined
  const { item, file, shown, about } = found
  const price = describePrice(shown.stored, about)
  const { DispSym } = item.value as { readonly DispSym?: unknown }
  return {
    key,
    symbol: item.key,
    name: typeof DispSym === 'string' ? DispSym : '',
    ...(price === undefined ? {} : { price }),
    findings: await findInCandles(folder, { symbol: item.key, file, candles: shown.raw, fault: shown.fault, isStock: false }),
    ...(about.problem === undefined ? {} : { problem: about.problem }),
  }
}

export const readIndexChart = async (folder: MarketFolder, key: string): Promise<CandlesAnswer | undefined> => {
  const found = await readIndexCandles(folder, key)
  return found && toCandlesAnswer(found.shown, { isAdjusted: false, about: found.about })
}
