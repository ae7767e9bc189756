import { dayToNumber } from '../market/candle-file.js'
import { groupBy, median } from '../model/map.js'
import { isRow, type Row, readText } from '../model/row.js'
import { readDay } from '../model/trading-day.js'
import type { RecentCandles } from './candle-series.js'
import type { ListFacts, Summaries } from './candle-summaries.js'
import type { Finding } from './finding.js'
import type { IndexSeries, SeriesDays } from './sessions.js'

const YEAR_DAYS = 365

/**
 * How far a list is from a subject, such as candles: the logarithm of the factor for prices; 0 if it fits,
 * NaN if it says nothing.
 */
type Claim<T> = (subject: T) => number

/** A list that is compared with candles or results. */
interface ClaimSource<T> {
  readonly name: string
  readonly of: 'candles' | 'results'
  readonly tolerance: number
  readonly claims: Iterable<readonly [symbol: string, Claim<T>]>
}

type Subjects<T> = ReadonlyMap<string, { readonly value: T; readonly file: string }>

/**
 * A list that differs for more stocks than these, or for a third of few, is not comparable: it may be of
 * another day or in another unit.
 */
const MAX_WRONG = 3
const MAX_WRONG_SHARE = 0.05
const isUncomparable = (wrong: number, all: number): boolean =>
  wrong * 3 > all || wrong > Math.min(1 + all / 10, Math.max(MAX_WRONG, MAX_WRONG_SHARE * all))

/** Of the change over a year, fewer stocks that fit prove nothing: many have no candle of a year ago. */
const MIN_YEARS = 8
const YEAR_CHANGE = 'the change over a year'

/**
 * Finds the stocks that a list contradicts; undefined if it contradicts too many. Two that fit each other's
 * values are swapped.
 */
const compareSource = <T>(
  { name, of, tolerance, claims: given }: ClaimSource<T>,
  subjects: Subjects<T>,
): readonly Finding[] | undefined => {
  const claims = new Map(given)
  const measure = (symbol: string, other = symbol): number => {
    const subject = subjects.get(other)
    return subject === undefined ? Number.NaN : (claims.get(symbol)?.(subject.value) ?? Number.NaN)
  }
  const compared = [...claims.keys()]
    .map((symbol) => ({ symbol, off: measure(symbol) }))
    .filter(({ off }) => !Number.isNaN(off))
  const wrong = compared.filter(({ off }) => Math.abs(off) > tolerance)
  if (
    isUncomparable(wrong.length, compared.length) ||
    (name === YEAR_CHANGE && compared.length - wrong.length < MIN_YEARS)
  )
    return undefined
  return wrong.map(({ symbol, off }): Finding => {
    const fits = (one: string, two: string): boolean =>
      one !== two && Math.abs(measure(one, two)) <= tolerance
    const other = wrong.find((one) => fits(symbol, one.symbol) && fits(one.symbol, symbol))?.symbol
    const about = { check: 'recorded-values', symbol, file: subjects.get(symbol)?.file ?? '' } as const
    const factor = of === 'candles' ? `, at a factor of ${Number(Math.exp(-off).toPrecision(4))}` : ''
    if (other === undefined)
      return { ...about, severity: 'warning', detail: `its ${of} do not fit ${name}${factor}` }
    const detail = `its ${of} fit ${name} of ${other}, and those of ${other} its own: they are swapped`
    return { ...about, severity: 'error', other, detail }
  })
}

interface RecordedContext extends Pick<ListFacts, 'rows' | 'actions'>, Pick<Summaries, 'stocks' | 'indices'> {
  readonly listDay: number | undefined
}

/** Compares candles and results with what other lists of the same run say of them. */
export const findRecordedValues = (
  context: RecordedContext,
): { readonly findings: readonly Finding[]; readonly lacks: string } => {
  const { rows, stocks, indices, listDay } = context
  const toSubjects = (all: readonly (SeriesDays | IndexSeries)[]): Subjects<RecentCandles> =>
    new Map(all.map(({ symbol, file, recent: value }) => [symbol, { value, file }]))
  const file = 'fundamental_data.json'
  const growth = new Map(
    (rows.get(file) ?? []).map(({ Symbol: symbol, profits }) => [
      readText(symbol),
      { value: readGrowth(profits), file },
    ]),
  )
  const levels = indices.map(({ symbol, row }) => [symbol, createIndexClaim(row, listDay)] as const)
  const candles = toSubjects(stocks)
  const values = toSubjects(indices)
  // After the close nearly all are equal, and one that is not has another day's value; during a session, they
  // are of other minutes.
  const compareIndices = (tolerance: number) =>
    compareSource({ name: INDEX_VALUES, of: 'candles', tolerance, claims: levels }, values)
  const sources = [
    ...createPriceSources(context).map((source) => ({
      name: source.name,
      found: compareSource(source, candles),
    })),
    { name: INDEX_VALUES, found: (compareIndices(0.00001) && compareIndices(0.001)) ?? compareIndices(0.05) },
    {
      name: GROWTH,
      found: compareSource(
        { name: GROWTH, of: 'results', tolerance: 0.2, claims: createGrowthClaims(rows) },
        growth,
      ),
    },
  ]
  const bySeries = groupBy(
    sources.flatMap(({ found }) => found ?? []),
    ({ symbol, file }) => `${symbol}\n${file}`,
  )
  const names = sources.flatMap(({ name, found }) => (found === undefined ? [name] : []))
  return {
    findings: [...bySeries.values()].map((own) => ({
      ...(own[0] as Finding),
      detail: own.map(({ detail }) => detail).join('; '),
    })),
    lacks:
      names.length === 0
        ? ''
        : `recorded values: too few stocks fit ${names.join(', ')}; compare some with the exchange`,
  }
}

const INDEX_VALUES = 'the list of indices'
const GROWTH = 'the growth of profit in the master list'

const readNumber = (value: unknown): number => Number(readText(value) || Number.NaN)

/** What lists say of the prices of stocks. Those before a corporate action are left out. */
const createPriceSources = ({
  rows,
  actions,
  listDay = 0,
}: RecordedContext): readonly ClaimSource<RecentCandles>[] => {
  const hasAction = (symbol: string, since: number): boolean =>
    actions.get(symbol)?.some(({ day }) => day > since) ?? false
  const collect = (lists: readonly string[], days: number, claim: (row: Row) => Claim<RecentCandles>) =>
    lists
      .flatMap((list) => rows.get(list) ?? [])
      .map((row) => [readText(row.Symbol ?? row.Sym), claim(row)] as const)
      .filter(([symbol]) => !hasAction(symbol, listDay - days))
  const deals = [...groupBy(rows.get('bulk_block_deals.json') ?? [], ({ sym }) => readText(sym))].map(
    ([symbol, own]) => [symbol, createDealClaim(own, (day) => hasAction(symbol, day))] as const,
  )
  const circuits = ['upper_circuit_stocks.json', 'lower_circuit_stocks.json']
  const master = ['master_data_response.json']
  return [
    { name: 'the deals', of: 'candles', tolerance: 0.1, claims: deals },
    {
      name: 'the circuit list',
      of: 'candles',
      tolerance: 0.05,
      claims: collect(circuits, 10, createCircuitClaim),
    },
    {
      name: 'the indicators',
      of: 'candles',
      tolerance: 0.15,
      claims: collect(['advanced_indicator_data.json'], 10, createAverageClaim),
    },
    {
      name: YEAR_CHANGE,
      of: 'candles',
      tolerance: 0.3,
      claims: collect(master, YEAR_DAYS + 10, createYearClaim),
    },
    {
      name: 'the volume of the day',
      of: 'candles',
      tolerance: 0.1,
      claims: collect(master, 0, (row) => createVolumeClaim(row, listDay)),
    },
  ]
}

/** The median of the factors between the prices of deals and the range of their days. */
const createDealClaim =
  (deals: readonly Row[], hasActionSince: (day: number) => boolean): Claim<RecentCandles> =>
  ({ candles: { day, low, high } }) => {
    const offs = deals.flatMap(({ date, avgprice }) => {
      const on = dayToNumber(readDay(date) ?? '')
      const index = day.indexOf(on)
      const price = readNumber(avgprice)
      const nearest = Math.min(high[index] ?? 0, Math.max(low[index] ?? 0, price))
      return index < 0 || hasActionSince(on) ? [] : [Math.log(price / nearest)]
    })
    return offs.length === 0 ? Number.NaN : median(offs)
  }

/** The newest candle is of the day of the list, or of the session before. */
const createCircuitClaim =
  ({ LTP, ChangePercent }: Row): Claim<RecentCandles> =>
  ({ candles }) => {
    const now = Math.log(readNumber(LTP) / (candles.close.at(-1) ?? 0))
    const before = now - Math.log(1 + readNumber(ChangePercent) / 100)
    return Math.abs(before) < Math.abs(now) ? before : now
  }

const createAverageClaim = ({ SMA }: Row): Claim<RecentCandles> => {
  const average = [SMA].flat().find((one): one is Row => isRow(one) && one.Indicator === '5-SMA')
  return ({ candles: { close } }) =>
    Math.log((readNumber(average?.Value) * 5) / close.slice(-5).reduce((sum, one) => sum + one, 0))
}

const createYearClaim =
  ({ PricePerchng1year: percent }: Row): Claim<RecentCandles> =>
  ({ candles, yearAgo = Number.NaN }) =>
    Math.log(((1 + readNumber(percent) / 100) * yearAgo) / (candles.close.at(-1) ?? 0))

const createVolumeClaim =
  ({ volume }: Row, listDay: number): Claim<RecentCandles> =>
  ({ candles }) =>
    candles.day.at(-1) === listDay ? Math.log(readNumber(volume) / (candles.volume.at(-1) ?? 0)) : Number.NaN

/** The value of the day of the list, or the one before where the candles end earlier. */
const createIndexClaim =
  ({ Ltp, Pchange }: Row, listDay: number | undefined): Claim<RecentCandles> =>
  ({ candles: { day, close } }) =>
    Math.log((readNumber(Ltp) - (day.at(-1) === listDay ? 0 : readNumber(Pchange))) / (close.at(-1) ?? 0))

/** The growth of a quarterly profit against the year before, in percent, from `10|5|4|3|2`. */
const readGrowth = (profits: unknown): number => {
  const [now = Number.NaN, , , , before = Number.NaN] = readText(profits).split('|').map(readNumber)
  return ((now - before) / Math.abs(before)) * 100
}

/** Percent: a difference between smaller ones does not count. */
const MIN_GROWTH = 50

const createGrowthClaims = (rows: RecordedContext['rows']): readonly (readonly [string, Claim<number>])[] =>
  (rows.get('master_data_response.json') ?? []).map(({ Sym, YoYLastQtrlyProfitGrowth: percent }) => {
    const given = readNumber(percent)
    return [
      readText(Sym),
      (growth) => (given - growth) / Math.max(MIN_GROWTH, Math.abs(given), Math.abs(growth)),
    ]
  })
