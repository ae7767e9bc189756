import { join } from 'node:path'
import { checkSeries } from '../../analysis/verify/candle-summaries.js'
import { compareWithBaseline, readBaseline } from '../../analysis/verify/life-of-findings.js'
import { readKnownActions } from '../../analysis/verify/stock-facts.js'
import { StorageError } from '../../model/errors.js'
import { omitUndefined } from '../../model/row.js'
import { readStateDocument } from '../../storage/file-system.js'
import type { CandlesAnswer, IndexAnswer, StockAnswer, StockFindings } from '../api/stock.js'
import { ACTION_FILES, findAdjustments, readActions } from './adjustments.js'
import { describePrice, readShownCandles, type ShownCandles, toCandlesAnswer } from './candles.js'
import { readEvents, type StockContext } from './events.js'
import { describeAbout, readRunFacts } from './freshness.js'
import { findRecords, type MarketFolder } from './market-folder.js'
import { readQuarters, readShareholding, readStockFacts } from './stock-facts.js'
import { nameIndex, readIndices, readStockNames } from './stocks.js'

/** A stock or an index that a name of a request means. Files are found by it, never by the text of the request. */
interface FoundFile {
  readonly file: string
  readonly shown: ShownCandles
  /** Indices may move freely: only impossible candles are checked. */
  readonly isStock: boolean
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
  const candles = await readStockCandles(context)
  const fundamentals = await findRecords(folder, 'fundamental_data.json', item.value.ISIN)
  const own = { ...fundamentals, rows: fundamentals.rows.filter(({ ISIN, isin }) => (ISIN ?? isin) === item.value.ISIN) }
  const about = describeAbout(facts, 'fundamental-data', own)
  const price = describePrice(candles.shown.adjusted, describeAbout(facts, 'all-ohlcv'))
  return omitUndefined({
    symbol: item.key,
    name: item.value.Name,
    isin: item.value.ISIN,
    oldSymbol,
    price,
    facts: await readStockFacts(context, own),
    events: await readEvents(context),
    quarters: { about, ...readQuarters(own.rows[0] ?? {}) },
    shareholding: { about, rows: readShareholding(own.rows[0] ?? {}) },
    findings: await findInCandles(folder, item.key, candles),
  })
}

const readStockCandles = async ({ folder, names, item }: StockContext): Promise<FoundFile> => {
  const adjustments = findAdjustments((await readActions(folder)).rows, names).get(item.key)
  const file = `ohlcv_data/${item.fileName}.csv`
  return { file, shown: await readShownCandles(folder.root, file, adjustments), isStock: true }
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
  return { item, file, shown, about, isStock: false }
}

/** What the page of an index shows; undefined for an unknown one. */
export const readIndex = async (folder: MarketFolder, key: string): Promise<IndexAnswer | undefined> => {
  const found = await readIndexCandles(folder, key)
  if (found === undefined) return undefined
  const { item, shown, about } = found
  return omitUndefined({
    key,
    symbol: item.key,
    name: nameIndex(item),
    price: describePrice(shown.stored, about),
    findings: await findInCandles(folder, item.key, found),
    problem: about.problem,
  })
}

export const readIndexChart = async (folder: MarketFolder, key: string): Promise<CandlesAnswer | undefined> => {
  const found = await readIndexCandles(folder, key)
  return found && toCandlesAnswer(found.shown, { isAdjusted: false, about: found.about })
}

/** What `verify` finds in the candles of one stock. Checks that compare with other stocks need the whole market, and are left out. */
const findInCandles = async (folder: MarketFolder, symbol: string, { file, shown, isStock }: FoundFile): Promise<StockFindings> => {
  const known = await readPriceActions(folder)
  const actions = known.bySymbol.get(symbol) ?? []
  const found: ReturnType<typeof checkSeries>['findings'] = [
    ...(shown.fault === undefined ? [] : [{ check: 'files', severity: 'error', symbol, file, detail: shown.fault } as const]),
    ...checkSeries({ symbol, file, candles: shown.raw }, { isStock, actions, listedOn: undefined }).findings,
  ]
  const accepted = await tellUnreadable(readBaseline(folder.root))
  // Without the list of accepted findings, every finding counts as new.
  const { fresh } = compareWithBaseline(found, accepted.value ?? [])
  const rows = found
    .map((finding) => {
      const { severity, check, day, detail } = finding
      return omitUndefined({ severity, check, day, detail, isAccepted: !fresh.includes(finding) })
    })
    .toSorted((one, other) => Number(one.isAccepted) - Number(other.isAccepted) || ((one.day ?? '') < (other.day ?? '') ? 1 : -1))
  return { rows, problems: [...known.problems, ...accepted.problems] }
}

/** The price actions of all stocks, as `verify` reads them. Without a list, moves have fewer explanations. */
const readPriceActions = ({ root, remember }: MarketFolder) =>
  remember('price actions', ACTION_FILES, async () => {
    const lists = await Promise.all(ACTION_FILES.map((file) => tellUnreadable(readStateDocument(join(root, file)))))
    return { bySymbol: readKnownActions(lists.map(({ value }) => value ?? [])), problems: lists.flatMap(({ problems }) => problems) }
  })

/** A file that cannot be read is a problem for the page to show; any other error is ours. */
const tellUnreadable = <T>(read: Promise<T>): Promise<{ readonly value?: T; readonly problems: readonly string[] }> =>
  read.then(
    (value) => ({ value, problems: [] }),
    (error: unknown) => {
      if (error instanceof StorageError) return { problems: [error.message] }
      throw error
    },
  )
