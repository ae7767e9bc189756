import { join } from 'node:path'
import { parseLines } from '../../analysis/verify/record-checks.js'
import { isRow, omitUndefined, type Row, readText } from '../../model/row.js'
import { disk } from '../../storage/disk.js'
import type { Holding, Quarter, StockFacts } from '../api/stock.js'
import type { StockContext } from './events.js'
import { describeAbout } from './freshness.js'
import { catchUnreadable, findRecords, type MarketFolder, readList, type StoredList } from './market-folder.js'
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
      rows: parseLines((await disk.readFile(join(folder.root, file), 'utf8')).split('\n')),
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

/** One period of a block of figures: by name in capitals, the texts of that place. */
type Figures = ReadonlyMap<string, string>

/** The periods of a block such as `{"SALES":"12|11","YEAR":"202512|202509"}`, newest first. */
const readPeriods = (block: unknown): readonly Figures[] => {
  if (!isRow(block)) return []
  const columns = Object.entries(block).map(([name, texts]) => [name.toUpperCase(), readText(texts).split('|')] as const)
  const most = Math.min(MAX_PERIODS, Math.max(0, ...columns.map(([, cells]) => cells.length)))
  return Array.from({ length: most }, (_, place) => new Map(columns.map(([name, cells]) => [name, cells[place] ?? ''])))
}

const MAX_PERIODS = 40

const pick = (figures: Figures, name: string): number | undefined => toNumber(figures.get(name))

/** The last day of a month in the form YYYYMM. */
const toMonthEnd = (text = ''): string | undefined => {
  const [, year, month] = /^\s*(\d{4})(0[1-9]|1[0-2])\s*$/.exec(text) ?? []
  return year === undefined || month === undefined
    ? undefined
    : new Date(Date.UTC(Number(year), Number(month), 0)).toISOString().slice(0, 10)
}

/** `Q3 FY26`: the quarter of the financial year from April to March. */
const nameQuarter = (day: string): string => {
  const [year = 0, month = 0] = day.split('-').map(Number)
  return `Q${Math.floor(((month + 8) % 12) / 3) + 1} FY${String(month > 3 ? year + 1 : year).slice(-2)}`
}

/** Growth in percent; undefined after a loss, with which it says nothing. */
const grow = (now: number | undefined, before: number | undefined): number | undefined =>
  now === undefined || before === undefined || before <= 0 ? undefined : 100 * (now / before - 1)

const BLOCKS = [
  ['consolidated', 'incomeStat_cq'],
  ['standalone', 'incomeStat_sq'],
] as const

/** The results by quarter, newest first: consolidated ones, or standalone ones if there are no others. */
export const readQuarters = (fundamentals: Row): { readonly basis?: 'consolidated' | 'standalone'; readonly rows: readonly Quarter[] } => {
  for (const [basis, name] of BLOCKS) {
    const rows = readPeriods(fundamentals[name]).flatMap(toQuarter)
    if (rows.length > 0) return { basis, rows: rows.map((row) => addGrowth(row, rows)) }
  }
  return { rows: [] }
}

const toQuarter = (figures: Figures): readonly Quarter[] => {
  const day = toMonthEnd(figures.get('YEAR'))
  if (day === undefined) return []
  const quarter = { quarter: nameQuarter(day), day }
  return [
    omitUndefined({
      ...quarter,
      salesCr: pick(figures, 'SALES'),
      profitCr: pick(figures, 'NET_PROFIT'),
      marginPct: pick(figures, 'OPM'),
      eps: pick(figures, 'EPS'),
    }),
  ]
}

const addGrowth = (row: Quarter, all: readonly Quarter[]): Quarter => {
  const before = all.find(({ day }) => day.slice(0, 7) === `${Number(row.day.slice(0, 4)) - 1}${row.day.slice(4, 7)}`)
  return omitUndefined({
    ...row,
    salesGrowthPct: grow(row.salesCr, before?.salesCr),
    profitGrowthPct: grow(row.profitCr, before?.profitCr),
  })
}

/** The shareholding by quarter, newest first. */
export const readShareholding = (fundamentals: Row): readonly Holding[] =>
  readPeriods(fundamentals.sHp)
    .map((figures) =>
      omitUndefined({
        day: toMonthEnd(figures.get('YEAR')),
        promoterPct: pick(figures, 'PROMOTER'),
        fiiPct: pick(figures, 'FII'),
        diiPct: pick(figures, 'DII'),
        publicPct: pick(figures, 'PUBLIC'),
      }),
    )
    .filter(({ promoterPct, fiiPct, diiPct, publicPct }) => [promoterPct, fiiPct, diiPct, publicPct].some((share) => share !== undefined))

/** Ratios, sector and industry; the case of the names varies from stock to stock. */
const readRatios = (fundamentals: Row) => {
  const [ratios] = readPeriods(fundamentals.CV)
  const text = (name: string): string | undefined => ratios?.get(name)?.trim() || undefined
  return omitUndefined({
    sector: text('SECTOR'),
    industry: text('INDUSTRY_NAME'),
    roePct: ratios && pick(ratios, 'ROE'),
    rocePct: ratios && pick(ratios, 'ROCE'),
  })
}
