import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseLines } from '../../analysis/verify/record-checks.js'
import { omitUndefined, type Row, readText } from '../../model/row.js'
import type { StockFacts } from '../api/stock.js'
import type { StockContext } from './events.js'
import { readRatios } from './figures.js'
import { describeAbout } from './freshness.js'
import { catchUnreadable, findRecords, readList, type StoredList } from './lists.js'
import type { MarketFolder } from './market-folder.js'
import { readCircuitList, SIDES, toNumber } from './market-lists.js'

/** What the lists of the market say about a stock. */
export const readStockFacts = async (context: StockContext, fundamentals: StoredList): Promise<StockFacts> => {
  const { folder, item, names } = context
  const { key: symbol, value: stock } = item
  const prefix = folder.exchange.toLowerCase()
  const isOwn = (row: Row): boolean => readText(row.ISIN) === stock.ISIN || names.toPresent(readText(row.Symbol)) === symbol
  const [master, listing, asm, gsm, bands, changes] = await Promise.all([
    findRecords(folder, 'master_data_response.json', JSON.stringify(stock.ISIN)),
    readListings(folder, `${prefix}_equity_list.csv`),
    ...[`${prefix}_asm_list.json`, `${prefix}_gsm_list.json`, 'complete_price_bands.json', 'incremental_price_bands.json'].map((file) =>
      readList(folder, file, keepOwnFields),
    ),
  ] as const)
  const figures = master.rows.find((row) => readText(row.Isin) === stock.ISIN)
  const listed = listing.rows.find((row) => readText(row['ISIN NUMBER']) === stock.ISIN)
  const [band, change] = [bands, changes].map((list) => list?.rows.find(isOwn))
  const circuit = (await Promise.all(SIDES.map((side) => readCircuitList(folder, side))))
    .flatMap(({ rows }) => rows)
    .find((row) => names.toPresent(row.symbol) === symbol)
  return omitUndefined({
    ...readRatios(fundamentals.rows[0] ?? {}),
    series: readText(listed?.SERIES) || readText(band?.Series) || undefined,
    listedOn: readText(listed?.['DATE OF LISTING']) || undefined,
    faceValue: toNumber(listed?.['FACE VALUE']),
    hasDerivatives: stock.FnoFlag === 1,
    marketCapCr: toNumber(figures?.Mcap),
    pe: toNumber(figures?.Pe),
    dividendYieldPct: toNumber(figures?.DivYeild),
    band: describeBand(readText(band?.Band)),
    bandChange: change && `from ${describeBand(readText(change.From))} to ${describeBand(readText(change.To))}`,
    surveillance: [
      ...(asm?.rows.filter(isOwn) ?? []).map(({ Stage }) => `ASM: ${readText(Stage)}`),
      ...(gsm?.rows.filter(isOwn) ?? []).map(({ Stage }) => `GSM: ${readText(Stage)}`),
    ],
    circuit: circuit?.side,
    problems: describeProblems(context, [
      ['surveillance-lists', asm],
      ['surveillance-lists', gsm],
      ['complete-price-bands', bands],
      ['circuit-stocks', undefined],
      ['listing-dates', listing],
    ]),
  })
}

const readListings = (folder: MarketFolder, file: string): Promise<StoredList> =>
  folder.remember(`list ${file}`, [file], () =>
    catchUnreadable(file, async () => ({
      rows: parseLines((await readFile(join(folder.root, file), 'utf8')).split('\n')),
      isMissing: false,
    })),
  )

/** The fields of surveillance and band lists that are shown; the whole lists would stay in memory. */
const keepOwnFields = (rows: readonly Row[]): readonly Row[] =>
  rows.map(({ Symbol: symbol, ISIN, Stage, Series, Band, From, To }) => ({ Symbol: symbol, ISIN, Stage, Series, Band, From, To }))

const describeBand = (band: string): string | undefined =>
  band === '' ? undefined : /^[\d.]+$/.test(band) ? `${band} %` : band.toLowerCase()

const describeProblems = (
  { facts }: StockContext,
  lists: readonly (readonly [stream: string, list: StoredList | undefined])[],
): readonly string[] => [...new Set(lists.flatMap(([stream, list]) => describeAbout(facts, stream, list).problem ?? []))]
