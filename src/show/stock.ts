import { join } from 'node:path'
import { StorageError } from '../model/errors.js'
import { omitUndefined } from '../model/row.js'
import { quoteText } from '../storage/duckdb.js'
import { readStateDocument } from '../storage/file-system.js'
import { compareWithBaseline, readBaseline } from '../verify/life-of-findings.js'
import { ACTION_FILES, readKnownActions } from '../verify/price-moves.js'
import { checkSeries } from '../verify/series-checks.js'
import type { About, CandlesAnswer, IndexAnswer, PriceFacts, StockAnswer, StockFindings } from './answers.js'
import { type ChartWishes, type Factors, readShownCandles, type ShownCandles, toCandlesAnswer } from './candles.js'
import type { MarketFolder } from './folder.js'
import { describeAbout, readRunFacts } from './freshness.js'
import { EVENT_STREAMS, findBandChange, LIST_STREAMS, PRICE_LINE, readStockTables, toStockEvents } from './stock-tables.js'
import { nameIndex, readIndices, readSid, readStockNames } from './stocks.js'
import { listOf, readAnswer, rowOf } from './tables.js'

/** The stock of a symbol, also of one that it had earlier; undefined without one. */
const findStock = async (folder: MarketFolder, symbol: string) => {
  const names = await readStockNames(folder)
  const capitals = symbol.toUpperCase()
  const item = names.find(symbol) ?? names.find(capitals)
  return item && { item, file: `ohlcv_data/${item.fileName}.csv`, oldSymbol: names.former.has(capitals) ? capitals : undefined }
}

/** Everything that the page of a stock shows, besides its candles; undefined for an unknown symbol. */
export const readStock = async (folder: MarketFolder, symbol: string): Promise<StockAnswer | undefined> => {
  const found = await findStock(folder, symbol)
  if (found === undefined) return undefined
  const { item, oldSymbol, file } = found
  const { ISIN: isin, Name: name } = item.value
  const runs = await readRunFacts(folder)
  const { answer, damage, problem } = await readStockTables(folder, { symbol: item.key, isin })
  const { facts, quarters = [], shareholding = [], filled = {} } = answer
  const describe = (stream: string, table: string, isOptional = false): About => {
    const isMissing = problem === undefined && filled[stream] === false && !(isOptional && runs.report?.scripts[stream] !== undefined)
    return describeAbout(runs, stream, omitUndefined({ isMissing, damage: damage.get(table) }))
  }
  const about = describe('fundamental-data', 'fundamentals')
  const problems = Object.entries(LIST_STREAMS).flatMap(([stream, table]) => describe(stream, table).problem ?? [])
  const { price, asm, gsm, ...own } = facts ?? { hasDerivatives: item.value.FnoFlag === 1 }
  return omitUndefined({
    ...{ symbol: item.key, name, isin, oldSymbol, problem },
    price: toPrice(price, describeAbout(runs, 'all-ohlcv')),
    facts: omitUndefined({
      ...own,
      bandChange: findBandChange(answer),
      surveillance: [...(asm === undefined ? [] : [`ASM: ${asm}`]), ...(gsm === undefined ? [] : [`GSM: ${gsm}`])],
      listDay: describe('circuit-stocks', 'circuits').day,
      problems: [...new Set(problems)],
    }),
    events: {
      about: [
        ...new Map(
          Object.entries(EVENT_STREAMS)
            .map(([stream, table]) => describe(stream, table, true))
            .flatMap((one) => (one.problem === undefined ? [] : [[one.problem, one]])),
        ).values(),
      ],
      rows: toStockEvents(answer),
    },
    quarters: omitUndefined({ about, basis: quarters[0]?.basis, rows: quarters }),
    shareholding: { about, rows: shareholding },
    findings: await findInCandles(folder, item.key, { file, shown: await readShownCandles(folder, file), isStock: true }),
  })
}

/** A stock or an index without candles has no price. */
const toPrice = (price: Partial<PriceFacts> | undefined, about: About): PriceFacts | undefined =>
  price?.day === undefined ? undefined : ({ ...price, about: { ...about, day: price.day } } as PriceFacts)

/** The candles of a stock for a chart; undefined for an unknown symbol. */
export const readCandles = async (folder: MarketFolder, symbol: string, wishes: ChartWishes): Promise<CandlesAnswer | undefined> => {
  const found = await findStock(folder, symbol)
  if (found === undefined) return undefined
  const shown = await readShownCandles(folder, found.file)
  const stock = found.item.key
  const rows = `SELECT max(day) AS until, factor FROM candles_adjusted WHERE symbol = ${quoteText(stock)} AND factor <> 1 GROUP BY factor`
  const { answer, problem } = await readAnswer<{ factors: Factors }>(folder, { factors: listOf(rows, 'r.until') }, { symbol: stock })
  const cleaned =
    problem === undefined ? shown.cleaned : [...shown.cleaned, 'prices are as stored, because they cannot be adjusted without DuckDB']
  const about = describeAbout(await readRunFacts(folder), 'all-ohlcv', { isMissing: shown.raw.length === 0 })
  return toCandlesAnswer({ ...shown, cleaned }, { ...answer, ...wishes, about })
}

const findIndex = async (folder: MarketFolder, key: string) => {
  const item = (await readIndices(folder)).rows.find(({ fileName }) => fileName === key)
  if (item === undefined) return undefined
  const file = `ohlcv_data/indices/${item.fileName}.csv`
  const shown = await readShownCandles(folder, file)
  const about = describeAbout(await readRunFacts(folder), 'indices-ohlcv', { isMissing: shown.raw.length === 0 })
  return { item, file, shown, about, isStock: false }
}

/** What the page of an index shows; undefined for an unknown one. */
export const readIndex = async (folder: MarketFolder, key: string): Promise<IndexAnswer | undefined> => {
  const found = await findIndex(folder, key)
  if (found === undefined) return undefined
  const { item, about } = found
  const row = `SELECT ${PRICE_LINE} FROM index_prices WHERE symbol = ${quoteText(item.key)} AND sid = ${quoteText(readSid(item))}`
  const { answer, problem } = await readAnswer<{ facts: { price: Partial<PriceFacts> } }>(folder, { facts: rowOf(row) })
  return omitUndefined({
    ...{ key, symbol: item.key, name: nameIndex(item) },
    price: toPrice(answer.facts?.price, about),
    findings: await findInCandles(folder, item.key, found),
    problem: about.problem ?? problem,
  })
}

export const readIndexChart = async (folder: MarketFolder, key: string, wishes: ChartWishes = {}): Promise<CandlesAnswer | undefined> => {
  const found = await findIndex(folder, key)
  return found && toCandlesAnswer(found.shown, { ...wishes, about: found.about })
}

/** A stock or an index that a name of a request means. Files are found by it, never by the text of the request. */
interface FoundFile {
  readonly file: string
  readonly shown: ShownCandles
  /** Indices may move freely: only impossible candles are checked. */
  readonly isStock: boolean
}

/** What `verify` finds in the candles of one stock. Checks that compare with other stocks need the whole market, and are left out. */
const findInCandles = async (folder: MarketFolder, symbol: string, { file, shown, isStock }: FoundFile): Promise<StockFindings> => {
  const known = await readActionLists(folder)
  const actions = known.bySymbol.get(symbol) ?? []
  const { findings: found } = checkSeries({ symbol, file }, { candles: shown.raw, fault: shown.fault }, { isStock, actions })
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
const readActionLists = ({ root, remember }: MarketFolder) =>
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
