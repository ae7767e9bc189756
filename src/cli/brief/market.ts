import type { FeedAnswer, OwnStock, TodayAnswer } from '../../show/answers.js'
import type { Brief } from '../../show/brief.js'
import type { MorningMarket } from '../../show/index.js'
import { formatDay, formatDaysIn, formatNumber, formatPercent, formatQuantity, formatSigned } from '../../web/page/parts/format.js'
import { type AnswerLine, fitTable, type TextColumn, type TextLine } from '../terminal/terminal.js'
import { clean, cut } from '../terminal/text.js'

/** A table of the market, as text: every format shows the same. A title of a column that starts with `>` stands over numbers. */
export interface MarketTable {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** The address of the last cell of each row. */
  readonly urls?: readonly string[]
  /** Why it has no rows, or not all. */
  readonly problem?: string | undefined
}

const MAX = { indices: 6, own: 20, results: 8, actions: 6, documents: 5 } as const
const NAME = 28

const percent = (value: number | undefined, decimals = 1): string => (value === undefined ? '' : `${formatSigned(value, decimals)} %`)
const nameOf = ({ name, symbol }: { readonly name?: string; readonly symbol: string }): string => cut(clean(name || symbol), NAME)

/** How the market went, in a sentence or two, with what is wrong with it unless the brief has told that; why it is not known. */
export const describeBreadth = ({ market: { breadth } }: MorningMarket, told: readonly string[] = []): string => {
  const { about, traded, listed, advances, declines, unchanged, newHighs, newLows, above50Pct, above200Pct, turnoverCr } = breadth
  const problem = about.problem === undefined ? '' : formatDaysIn(about.problem)
  if (traded === 0) return problem || 'the folder has no candles of stocks'
  const parts = [
    `${formatQuantity(advances, 'stock')} rose, ${formatNumber(declines)} fell, ${formatNumber(unchanged)} unchanged (${formatNumber(traded)} of ${formatNumber(listed)} have a candle)`,
    `52-week highs ${formatNumber(newHighs)}, lows ${formatNumber(newLows)}`,
    ...(above50Pct === undefined ? [] : [`above the 50-day average ${formatPercent(above50Pct, 0)}`]),
    ...(above200Pct === undefined ? [] : [`above the 200-day average ${formatPercent(above200Pct, 0)}`]),
    `turnover ₹ ${formatNumber(turnoverCr)} crore`,
  ]
  return `${formatDay(about.day)}: ${parts.join('; ')}.${problem === '' || told.includes(about.problem ?? '') ? '' : ` Prices: ${problem}.`}`
}

/** The tables of the market; those without rows are left out, unless something is wrong with them. */
export const marketTables = ({ market, today, own, feed }: MorningMarket, watched: readonly string[]): readonly MarketTable[] => {
  const documents = chooseDocuments(feed, watched)
  const tables: readonly MarketTable[] = [
    {
      ...{ title: 'Indices', columns: ['Index', '>Value', '>Change'], problem: market.indices.about.problem },
      rows: market.indices.rows
        .slice(0, MAX.indices)
        .map(({ name, symbol, close, changePct }) => [clean(name || symbol), formatNumber(close, 2), percent(changePct, 2)]),
    },
    {
      ...{ title: 'Your stocks', columns: ['Stock', '>Price ₹', '>Change', 'What happened'], problem: own.problem },
      rows: own.rows
        .slice(0, MAX.own)
        .map((stock) => [nameOf(stock), formatNumber(stock.close, 2), percent(stock.changePct), describeOwn(stock)]),
    },
    resultsTable(today.results),
    {
      ...{ title: 'Ex-dates of the week', columns: ['Stock', 'Action', '>₹', '>Ex-date'], problem: today.actions.about.problem },
      rows: today.actions.rows
        .slice(0, MAX.actions)
        .map((row) => [nameOf(row), clean(row.action), row.amount === undefined ? '' : formatNumber(row.amount, 2), formatDay(row.day)]),
    },
    {
      ...{ title: `Documents of ${formatDay(feed.day)}`, columns: ['Stock', '>At', 'Document'], problem: feed.problems[0] },
      rows: documents.map(({ time, title, ...stock }) => [nameOf(stock), time, clean(title)]),
      urls: documents.map(({ url }) => url),
    },
  ]
  return tables.filter(({ rows, problem }) => rows.length > 0 || problem !== undefined)
}

const resultsTable = ({ about, rows, total }: TodayAnswer['results']): MarketTable => ({
  title: `Results${total > MAX.results ? `, ${MAX.results} of ${formatNumber(total)}` : ''}`,
  columns: ['Stock', 'Quarter', '>Sales ₹ cr', '>yoy', '>qoq', '>Profit ₹ cr', '>Profit yoy', '>Profit qoq', '>That day'],
  problem: about.problem,
  rows: rows
    .slice(0, MAX.results)
    .map((row) => [
      ...[nameOf(row), row.quarter ?? '', formatNumber(row.salesCr), percent(row.salesYoyPct, 0), percent(row.salesQoqPct, 0)],
      ...[formatNumber(row.profitCr), percent(row.profitYoyPct, 0), percent(row.profitQoqPct, 0), percent(row.dayReturnPct)],
    ]),
})

const describeOwn = ({ circuit, asm, gsm, band, notes = [] }: OwnStock): string =>
  [
    ...[circuit && `${circuit} limit`, asm && 'ASM', gsm && 'GSM', band && `band ${band}`].filter((tag) => tag !== undefined),
    ...notes.slice(0, 2).map(({ title }) => clean(title)),
  ].join(' · ')

/** The documents that matter: those of your stocks, then results, then others, of the largest stocks first; one of each stock. */
const chooseDocuments = ({ rows }: FeedAnswer, watched: readonly string[]) => {
  const rank = (symbol: string, text: string): number => (watched.includes(symbol) ? 0 : /result/i.test(text) ? 1 : 2)
  return rows
    .flatMap(({ symbol, name, events }) => {
      const [best] = events
        .flatMap(({ title, detail = '', url, time = '' }) =>
          url === undefined ? [] : [{ title, url, time, rank: rank(symbol, `${title} ${detail}`) }],
        )
        .toSorted((one, other) => one.rank - other.rank)
      return best === undefined ? [] : [{ symbol, ...(name === undefined ? {} : { name }), ...best }]
    })
    .toSorted((one, other) => one.rank - other.rank)
    .slice(0, MAX.documents)
}

const toColumn = (title: string, place: number): TextColumn<readonly string[]> => ({
  title: title.replace('>', ''),
  align: title.startsWith('>') ? 'right' : 'left',
  cell: (row) => row[place] ?? '',
  // In a narrow terminal the last numbers go first.
  ...((place > 2 && title.startsWith('>')) || title === '>At' ? { drop: 100 - place } : {}),
})

export const marketLines = (
  market: MorningMarket,
  { stale, watched }: Pick<Brief, 'stale'> & { readonly watched: readonly string[] },
): readonly AnswerLine[] => [
  [['Market', 'bold']],
  `  ${describeBreadth(market, stale)}`,
  ...marketTables(market, watched).flatMap(({ title, columns, rows, problem }): readonly AnswerLine[] => {
    const table = fitTable(columns.map(toColumn), rows)
    const indented = (room: number) => table(room - 2).map((line): TextLine => [['  '], ...line])
    return [
      [[title, 'bold']],
      ...(problem === undefined ? [] : [`  ${formatDaysIn(clean(problem))}`]),
      ...(rows.length === 0 ? [] : [indented]),
    ]
  }),
]
