import { formatCrore, formatNumber, formatPercent, formatPrice } from '../model/format.js'
import type { Row } from '../model/row.js'
import { hasNotTraded } from '../model/trading-day.js'
import type { StockView } from '../tables/stock-view.js'
import { screener } from '../tables/views/screener/screener.js'
import type { Finding } from '../verify/finding.js'
import { defineCommand } from './command.js'
import { flag, folderFlags, jsonFlag } from './options.js'
import { type AnswerLine, columnsOf, fitTable, type TextSpan } from './terminal/terminal.js'
import { clean } from './terminal/text.js'

const EVENTS_SHOWN = 3
const EVENTS_IN_JSON = 100

export const addShow = defineCommand({
  name: 'show',
  about: 'Shows one stock at a glance.',
  args: [['<stock>', 'symbol, ISIN, former symbol or name of the company']],
  flags: () => ({
    ...folderFlags(),
    verify: flag('--verify', 'also show the findings of "verify" about it; takes some seconds'),
    json: jsonFlag('print everything as JSON'),
  }),
  examples: [
    ['scripstream show TCS', 'price, range, results, filings, news and deals'],
    ['scripstream show "Tata Consultancy"', 'by the name of the company; also by ISIN or a former symbol'],
    ['scripstream show TCS --verify', 'also with what "verify" finds about it'],
    ['scripstream show TCS --json', 'all columns of the screener, and the events'],
  ],
  needs: ['@duckdb/node-api'],
  endsBySignal: true,
  run: async ({ json, verify: isVerified }, { typed: [stock = ''], dependencies: { streams }, settings }) => {
    const { out, exchange, verify: limits } = settings()
    const { readStockView } = await import('../tables/stock-view.js')
    const { verify } = await import('../verify/verify.js')
    const view = await readStockView(out, { stock, streams, limit: json ? EVENTS_IN_JSON : EVENTS_SHOWN })
    const symbols = [String(view.facts.symbol)]
    const findings = isVerified
      ? (await verify(out, { streams, exchange, limits, symbols })).findings
      : undefined
    const whole = findings === undefined ? view : { ...view, findings }
    return { json: whole, lines: () => stockLines(whole) }
  },
})

type ShownStock = StockView & { readonly findings?: readonly Finding[] }

/** A stock for people, part by part; a part without a value is left out. */
export const stockLines = ({ facts, events, renamed, findings = [] }: ShownStock): readonly AnswerLine[] => {
  const board = facts.board === null ? '' : `${formatFact(facts.board)} board`
  const identity = [
    board,
    formatFact(facts.series),
    formatFact(facts.sector),
    facts.fno === 1 ? 'futures and options' : '',
  ]
  const surveillance = listFigures(
    facts,
    facts.deals_7d === 0 ? WATCH_FIGURES : { ...WATCH_FIGURES, ...DEAL_FIGURES },
  )
  const parts: readonly (readonly [title: string, lines: readonly AnswerLine[]])[] = [
    [describePrice(facts), facts.close_inr === null ? [] : priceLines(facts)],
    [`Results: ${formatFact(facts.quarter)}`, facts.quarter === null ? [] : quarterLines(facts)],
    ['Valuation and holders', joinFigures(listFigures(facts, VALUATION))],
    ['Watch', joinFigures(surveillance)],
    ...Object.entries(EVENT_KINDS).map(
      ([kind, title]) => [title, events.filter((one) => one.kind === kind).map(describeEvent)] as const,
    ),
    [
      'Findings',
      findings.map(({ day, detail }) => `  ${day === undefined ? '' : `${day}  `}${clean(detail)}`),
    ],
  ]
  return [
    [[formatFact(facts.symbol), 'bold'], [`  ${formatFact(facts.name)}  ${formatFact(facts.isin)}`]],
    ...joinFigures([
      ...identity,
      ...listFigures(facts, { listed: 'listed_on', 'market cap': 'market_cap_cr' }),
    ]),
    ...(renamed === undefined ? [] : [[[`  ${renamed}`, 'yellow']] as const]),
    ...parts.flatMap(([title, lines]) =>
      lines.length === 0 ? [] : ['', [[title, 'cyan']] as const, ...lines],
    ),
  ]
}

const EVENT_KINDS = {
  filing: 'Filings',
  news: 'News',
  announcement: 'Announcements',
  deal: 'Deals',
  'corporate action': 'Corporate actions',
}

/** The columns of figures by their labels. */
type Figures = Readonly<Record<string, string>>

const DAY_FIGURES: Figures = {
  open: 'open_inr',
  high: 'high_inr',
  low: 'low_inr',
  volume: 'volume',
  'relative volume': 'rvol',
}
const DISTANCES: Figures = {
  'from high of all': 'from_high_all_pct',
  'from average 50': 'from_sma_50_pct',
  'from average 200': 'from_sma_200_pct',
  ATR: 'atr_14_pct',
}
const WHY_FIGURES: Figures = { why: 'why' }
const RETURN_PERIODS: Figures = Object.fromEntries(
  ['1w', '1m', '3m', '6m', '1y', 'ytd'].map((name) => [name, `return_${name}_pct`]),
)
const VALUATION: Figures = {
  'PE of four quarters': 'pe_ttm',
  PE: 'pe',
  dividend: 'dividend_yield_pct',
  ROE: 'roe_pct',
  ROCE: 'roce_pct',
  promoters: 'promoter_pct',
  foreign: 'fii_pct',
  domestic: 'dii_pct',
  public: 'public_pct',
}
const WATCH_FIGURES: Figures = {
  ASM: 'asm_stage',
  GSM: 'gsm_stage',
  'price band': 'band',
  'price band before': 'band_before_pct',
  circuit: 'circuit',
  next: 'next_action',
  on: 'next_action_day',
  'results expected on': 'next_results_day',
}
const DEAL_FIGURES: Figures = { 'deals of 7 days, net': 'deals_net_7d_cr' }

const formatFact = (value: unknown): string =>
  value === null || value === undefined ? '' : clean(String(value))

const joinParts = (parts: readonly string[]): string => parts.filter((part) => part !== '').join(' · ')

/** The parts that have a value, as a paragraph; nothing without one. */
const joinFigures = (parts: readonly string[]): readonly string[] =>
  joinParts(parts) === '' ? [] : [`  ${joinParts(parts)}`]

const formatFigure = (value: unknown, digits = 2): string =>
  typeof value === 'number' ? formatNumber(value, digits) : ''

/** A number in the unit of its column. */
const formatColumn = (column: string, value: number): string => {
  const { unit } = screener.columns.find(({ name }) => name === column) ?? {}
  if (unit === '%') return formatPercent(value)
  if (unit === '₹ crore') return formatCrore(value)
  return formatNumber(value, column === 'volume' ? 0 : 2)
}

/** Figures with their labels and units; those that are unknown are left out. */
const listFigures = (facts: Row, figures: Figures): readonly string[] =>
  Object.entries(figures).flatMap(([label, column]) => {
    const value = facts[column]
    const shown =
      typeof value === 'number' ? formatColumn(column, value) : typeof value === 'string' ? clean(value) : ''
    return shown === '' ? [] : [`${label} ${shown}`]
  })

const describePrice = ({ price_day, day }: Row): string =>
  hasNotTraded(String(price_day), day === null ? undefined : String(day))
    ? `No trade since ${formatFact(price_day)}`
    : `Price of ${formatFact(price_day)}`

const priceLines = (facts: Row): readonly AnswerLine[] => {
  const change = typeof facts.change_pct === 'number' ? facts.change_pct : 0
  const changed = facts.change_pct === null ? '' : `  ${change > 0 ? '+' : ''}${formatFigure(change)} %`
  const first: readonly TextSpan[] = [
    [`  ${formatFigure(facts.close_inr)}`, 'bold'],
    [changed, change < 0 ? 'red' : 'green'],
  ]
  const list = (figures: Figures) => joinFigures(listFigures(facts, figures))
  return [
    first,
    ...list(WHY_FIGURES),
    ...list(DAY_FIGURES),
    ...rangeLines(facts),
    ...list(RETURN_PERIODS),
    ...list(DISTANCES),
  ]
}

const BAR_WIDTH = 20

/** Where the close is between the lowest and the highest price of 52 weeks. */
const rangeLines = ({
  low_52w_inr: low,
  high_52w_inr: high,
  place_52w_pct: share,
}: Row): readonly string[] => {
  if (typeof share !== 'number') return []
  const place = Math.round((share / 100) * (BAR_WIDTH - 1))
  const bar = Array.from({ length: BAR_WIDTH }, (_, index) => (index === place ? '#' : '-')).join('')
  return [`  52 weeks ${formatFigure(low)} ${bar} ${formatFigure(high)}`]
}

const RESULT_TITLES = {
  '  ₹ crore': undefined,
  newest: undefined,
  '1 before': 3,
  '2 before': 2,
  '3 before': 1,
  'year before': 4,
}
const RESULT_ROWS = {
  sales: ['sales', 'cr'],
  'net profit': ['net_profit', 'cr'],
  'EPS, ₹': ['eps', 'inr'],
  'margin, %': ['opm', 'pct'],
}

const quarterLines = (facts: Row): readonly AnswerLine[] => {
  const rows = Object.entries(RESULT_ROWS).map(([title, [name, unit]]) => [
    `  ${title}`,
    ...[0, 1, 2, 3, 4].map((place) => formatFigure(facts[`${name}_q${place}_${unit}`], 1) || '-'),
  ])
  const older =
    facts.figures_are_of_results === 0
      ? `of ${formatFact(facts.results_quarter)}, newer than these figures`
      : ''
  const [came, since] = [{ 'results came': 'results_at' }, { 'since then': 'return_since_results_pct' }]
  return [
    fitTable(columnsOf(RESULT_TITLES), rows),
    ...joinFigures(
      listFigures(facts, {
        'sales against the year before': 'sales_yoy_pct',
        'net profit': 'net_profit_yoy_pct',
      }),
    ),
    ...joinFigures([...listFigures(facts, came), older, ...listFigures(facts, since)]),
  ]
}

/** The values of events, by their units. */
const EVENT_VALUES: Readonly<Record<string, (value: number) => string>> = {
  'crore rupees': formatCrore,
  'rupees a share': (value) => `${formatPrice(value)} a share`,
  percent: formatPercent,
}

const describeEvent = ({ day, title, value, unit }: Row): string => {
  const amount =
    typeof value === 'number' ? (EVENT_VALUES[String(unit)]?.(value) ?? formatNumber(value, 2)) : ''
  return `  ${formatFact(day)}  ${joinParts([formatFact(title), amount])}`
}
