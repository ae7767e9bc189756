import type { Change } from '../../model/change.js'
import {
  formatCrore,
  formatDay,
  formatDaysIn,
  formatNumber,
  formatPercent,
  formatSigned,
} from '../../model/format.js'
import { formatMinute } from '../../model/trading-day.js'
import type { FeedAnswer, OwnStock, TodayAnswer } from '../../show/answers.js'
import type { Brief, Freshness, StockChanges } from '../../show/brief.js'
import type { MorningMarket } from '../../show/index.js'
import { describeSignal } from '../../tables/changes/signals.js'
import { formatCommandLine } from '../command-line.js'
import { describeAsOfSession } from '../options.js'
import { groupRewritten } from '../run/problems.js'
import { OUTCOME_WORDS } from '../run/summary.js'
import { type AnswerLine, fitTable, listFirst, type TextColumn, type TextLine } from '../terminal/terminal.js'
import { clean, cut, formatCount, formatDuration, formatQuantity, padEnd, wrap } from '../terminal/text.js'

/** A part of the brief: a title and its lines, as plain text. Every format prints the same parts. */
export interface BriefPart {
  readonly title: string
  readonly lines: readonly string[]
  /** How many lines of a terminal a line takes at most; the rest is cut. */
  readonly maxRows?: number
  /** Whether it says what is wrong, and comes before the market. */
  readonly isUrgent?: true
}

const STOCKS_SHOWN = 6
const FINDINGS_SHOWN = 3
const SIGNALS_SHOWN = 10

export const briefHead = ({
  outcome,
  asOf,
  stocks,
  durationMs,
  error,
  newestSession,
  simulated,
}: Brief): string =>
  [
    `${OUTCOME_WORDS[outcome][0]}: as of ${formatMinute(Date.parse(asOf))} (${stocks > 0 ? `${formatQuantity(stocks, 'stock')}, ` : ''}${formatDuration(durationMs)}`,
    newestSession === undefined ? '' : `, newest session ${newestSession}`,
    error === undefined ? ').' : `): ${clean(error)}`,
    simulated ? ' Simulated data.' : '',
  ].join('')

/** All that the brief says, part by part. A part without lines is left out. */
export const briefParts = (brief: Brief): readonly BriefPart[] => {
  const { asOfSession, outcome, error, outputs, stale = [], changes, counts, since } = brief
  const { rewritten, findings, signals = [], failedRules = [], wrongSymbols, notes } = brief
  const toCommand = (name: string): string => formatCommandLine([name, '--out', brief.folder])
  const sums = Object.entries(counts).filter(([, count]) => count > 0)
  const shown = changes.filter(({ isWatched }, index) => isWatched || index < STOCKS_SHOWN)
  const others = changes.length - shown.length
  const toMore = (name: string) => (rest: number) => `and ${formatCount(rest)} more (${toCommand(name)})`
  const changed: BriefPart = {
    title:
      since === null
        ? 'Nothing to compare with yet'
        : `Changed since ${since.asOf === undefined ? 'the run before' : formatMinute(Date.parse(since.asOf))}: ${sums.map(([name, count]) => `${name} ${formatCount(count)}`).join(', ') || 'nothing'}`,
    maxRows: 2,
    lines: [
      ...shown.map(describeStock),
      ...(others > 0 ? [`and ${formatQuantity(others, 'stock')} more (${toCommand('diff')})`] : []),
    ],
  }
  const parts: readonly BriefPart[] = [
    {
      title: 'Not up to date',
      isUrgent: true,
      lines: [...stale.map(clean), ...describeOutputs(outputs.filter(isBehind), error)],
    },
    { title: 'Two sessions', lines: asOfSession ? [describeAsOfSession(asOfSession)] : [] },
    { title: 'Wrong symbols in the watchlist', isUrgent: true, lines: wrongSymbols.map(clean) },
    // A failed run has changed nothing: the changes are those of an earlier one.
    ...(outcome === 'failed' ? [] : [changed]),
    {
      title: `Signals: ${formatCount(signals.length)}`,
      lines: [
        ...failedRules.map(clean),
        ...listFirst(
          signals,
          SIGNALS_SHOWN,
          (one) => clean(`${one.rule}: ${one.subject} ${describeSignal(one)}`),
          toMore('watch'),
        ),
      ],
    },
    { title: 'Replaced or merged files', lines: groupRewritten(rewritten) },
    {
      title: findings === undefined ? '' : `New findings: ${formatCount(findings.length)}`,
      lines: listFirst(findings ?? [], FINDINGS_SHOWN, describeFinding, toMore('verify')),
    },
    { title: 'Not compared', lines: notes.map(clean) },
  ]
  return parts.filter((part) => part.lines.length > 0 || part === changed)
}

const isBehind = ({ outcome, missing }: Freshness): boolean =>
  ['failed', 'stopped', 'partial'].includes(outcome) || missing !== undefined

const describeFinding = ({ symbol, file, day, detail }: NonNullable<Brief['findings']>[number]): string =>
  clean(`${[symbol ?? file, day].filter((part) => part !== undefined).join(' ')}: ${detail}`)

/** One line for each stream; streams of which the same is true share one. */
const describeOutputs = (outputs: readonly Freshness[], error: string | undefined): readonly string[] => {
  // The error of the run, which the first line has, is that of a stream.
  const texts = outputs.map((output) =>
    describeOutput(error === undefined ? output : { ...output, reason: '' }),
  )
  return [...new Set(texts)].map((text) => {
    const names = outputs.filter((_, index) => texts[index] === text).map(({ stream }) => stream)
    return `${names.join(', ')}: ${text}`
  })
}

const describeOutput = ({ outcome, missing, completeOn, reason = '' }: Freshness): string =>
  [
    outcome === 'skipped' && missing === 'all' ? 'not started' : outcome,
    ...(typeof missing === 'number' && outcome !== 'failed'
      ? [`${formatQuantity(missing, 'item')} missing`]
      : []),
    completeOn === undefined ? 'never complete' : `last complete on ${completeOn}`,
    ...(reason === '' ? [] : [clean(reason)]),
  ].join(', ')

const describeStock = ({ symbol, isWatched, changes }: StockChanges): string =>
  `${padEnd(`${clean(symbol)}${isWatched ? ' *' : ''}`, 14)} ${changes.map(describeChange).join('; ')}`

/** The changes of a section follow each other; its name is said once. */
const describeChange = ({ section, detail }: Change, index: number, all: readonly Change[]): string =>
  all[index - 1]?.section === section ? clean(detail) : `${section}: ${clean(detail)}`

const BRIEF_INDENT = 6

export const briefLines = (
  brief: Brief,
  market?: MorningMarket,
  watched: readonly string[] = [],
): readonly AnswerLine[] => {
  const [word, style] = OUTCOME_WORDS[brief.outcome]
  return [
    [[word, style], [briefHead(brief).slice(word.length)]],
    ...briefParts(brief).flatMap(
      ({ title, lines, maxRows = Number.POSITIVE_INFINITY }): readonly AnswerLine[] => [
        [[title, 'bold']],
        ...lines.map((line) => (columns: number) => {
          const fitting = wrap(cut(`  ${line}`, maxRows * (columns - BRIEF_INDENT)), columns)
          return fitting.map((text): TextLine => [[cut(text, columns)]])
        }),
      ],
    ),
    ...(market === undefined ? [] : marketLines(market, { ...brief, watched })),
  ]
}

/**
 * A table of the market, as text: every format shows the same. A title of a column that starts with `>`
 * stands over numbers.
 */
export interface MarketTable {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** The address of the last cell of each row. */
  readonly urls?: readonly string[]
  /** Why it has no rows, or not all. */
  readonly problem?: string | undefined
  /** What its rows are part of, in a sentence. */
  readonly sum?: string
}

const ROWS_SHOWN = { indices: 6, own: 20, results: 8, actions: 6, documents: 5 } as const
const MIN_NAME_WIDTH = 28

const formatShare = (value: number | undefined, decimals = 1): string =>
  value === undefined ? '' : `${formatSigned(value, decimals)} %`
const nameOf = ({ name, symbol }: { readonly name?: string; readonly symbol: string }): string =>
  clean(name || symbol)

/**
 * How the market went, in a sentence or two, with what is wrong with it unless the brief has told that; why
 * it is not known.
 */
export const describeBreadth = (
  { market: { breadth } }: MorningMarket,
  told: readonly string[] = [],
): string => {
  const {
    about,
    traded,
    listed,
    advances,
    declines,
    unchanged,
    newHighs,
    newLows,
    above50Pct,
    above200Pct,
    turnoverCr,
  } = breadth
  const problem = about.problem === undefined ? '' : formatDaysIn(about.problem)
  if (traded === 0) return problem || 'the folder has no candles of stocks'
  const parts = [
    `${formatQuantity(advances, 'stock')} rose, ${formatNumber(declines)} fell, ${formatNumber(unchanged)} unchanged (${formatNumber(traded)} of ${formatNumber(listed)} have a candle)`,
    `52-week highs ${formatNumber(newHighs)}, lows ${formatNumber(newLows)}`,
    ...(above50Pct === undefined ? [] : [`above the 50-day average ${formatPercent(above50Pct, 0)}`]),
    ...(above200Pct === undefined ? [] : [`above the 200-day average ${formatPercent(above200Pct, 0)}`]),
    `turnover ${formatCrore(turnoverCr)}`,
  ]
  return `${formatDay(about.day)}: ${parts.join('; ')}.${problem === '' || told.includes(about.problem ?? '') ? '' : ` Prices: ${problem}.`}`
}

/** The tables of the market; those without rows are left out, unless something is wrong with them. */
export const marketTables = (
  { market, today, own, feed }: MorningMarket,
  watched: readonly string[],
): readonly MarketTable[] => {
  const documents = chooseDocuments(feed, watched)
  const tables: readonly MarketTable[] = [
    {
      title: 'Indices',
      columns: ['Index', '>Value', '>Change'],
      problem: market.indices.about.problem,
      rows: market.indices.rows
        .slice(0, ROWS_SHOWN.indices)
        .map(({ name, symbol, close, changePct }) => [
          clean(name || symbol),
          formatNumber(close, 2),
          formatShare(changePct, 2),
        ]),
    },
    {
      title: 'Your stocks',
      columns: ['Stock', '>Price ₹', '>Change', 'What happened'],
      problem: own.problem,
      rows: own.rows
        .slice(0, ROWS_SHOWN.own)
        .map((stock) => [
          nameOf(stock),
          formatNumber(stock.close, 2),
          formatShare(stock.changePct),
          describeOwnStock(stock),
        ]),
    },
    resultsTable(today.results),
    {
      title: 'Ex-dates of the week',
      columns: ['Stock', 'Action', '>₹', '>Ex-date'],
      problem: today.actions.about.problem,
      rows: today.actions.rows
        .slice(0, ROWS_SHOWN.actions)
        .map((row) => [
          nameOf(row),
          clean([row.action, ...(row.amount === undefined && row.terms ? [row.terms] : [])].join(' ')),
          row.amount === undefined ? '' : formatNumber(row.amount, 2),
          formatDay(row.day),
        ]),
    },
    {
      title: `Documents ${feed.since === undefined ? `of ${formatDay(feed.day)}` : `since the close of ${formatDay(feed.since)}`}`,
      columns: ['Stock', '>At', 'Document'],
      problem: feed.problems[0],
      rows: documents.map(({ time, title, ...stock }) => [nameOf(stock), time, clean(title)]),
      urls: documents.map(({ url }) => url),
    },
  ]
  return tables.filter(
    ({ rows, problem, sum = '' }) => rows.length > 0 || problem !== undefined || sum !== '',
  )
}

const resultsTable = ({ about, rows, total, sum }: TodayAnswer['results']): MarketTable => ({
  title: `Results${total > ROWS_SHOWN.results ? `, ${ROWS_SHOWN.results} of ${formatNumber(total)}` : ''}`,
  columns: [
    'Stock',
    'Quarter',
    '>Sales ₹ crore',
    '>yoy',
    '>qoq',
    '>Profit ₹ crore',
    '>Profit yoy',
    '>Profit qoq',
    '>That day',
  ],
  problem: about.problem,
  sum,
  rows: rows
    .slice(0, ROWS_SHOWN.results)
    .map((row) => [
      nameOf(row),
      row.quarter ?? '',
      formatNumber(row.salesCr),
      formatShare(row.salesYoyPct, 0),
      formatShare(row.salesQoqPct, 0),
      formatNumber(row.profitCr),
      formatShare(row.profitYoyPct, 0),
      formatShare(row.profitQoqPct, 0),
      formatShare(row.dayReturnPct),
    ]),
})

const describeOwnStock = ({ circuit, asm, gsm, band, notes = [] }: OwnStock): string =>
  [
    ...[circuit && `${circuit} limit`, asm && 'ASM', gsm && 'GSM', band && `band ${band}`].filter(
      (tag) => tag !== undefined,
    ),
    ...notes.slice(0, 2).map(({ title }) => clean(title)),
  ].join(' · ')

/**
 * The documents that matter: those of your stocks, then results, then others, of the largest stocks first;
 * one of each stock.
 */
const chooseDocuments = ({ rows }: FeedAnswer, watched: readonly string[]) => {
  const rank = (symbol: string, text: string): number =>
    watched.includes(symbol) ? 0 : /result/i.test(text) ? 1 : 2
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
    .slice(0, ROWS_SHOWN.documents)
}

/**
 * The name of a company, which comes first, is cut to a third of the terminal. Where that is narrow, the last
 * numbers go first.
 */
const toColumn =
  (room: number) =>
  (title: string, place: number): TextColumn<readonly string[]> => ({
    title: title.replace('>', ''),
    align: title.startsWith('>') ? 'right' : 'left',
    cell: (row) => cut(row[place] ?? '', place === 0 ? Math.max(MIN_NAME_WIDTH, Math.floor(room / 3)) : room),
    ...((place > 2 && title.startsWith('>')) || title === '>At' ? { drop: 100 - place } : {}),
  })

export const marketLines = (
  market: MorningMarket,
  { stale, watched }: Pick<Brief, 'stale'> & { readonly watched: readonly string[] },
): readonly AnswerLine[] => [
  [['Market', 'bold']],
  `  ${describeBreadth(market, stale)}`,
  ...marketTables(market, watched).flatMap(
    ({ title, columns, rows, problem, sum = '' }): readonly AnswerLine[] => {
      const table = (room: number) => fitTable(columns.map(toColumn(room)), rows)(room)
      const indented = (room: number) => table(room - 2).map((line): TextLine => [['  '], ...line])
      return [
        [[title, 'bold']],
        ...(problem === undefined ? [] : [`  ${formatDaysIn(clean(problem))}`]),
        ...(sum === '' ? [] : [`  ${sum}`]),
        ...(rows.length === 0 ? [] : [indented]),
      ]
    },
  ),
]
