import type { Row } from '../model/row.js'
import type { StockView } from '../tables/stock-view.js'
import type { Finding } from '../verify/finding.js'
import { defineCommand } from './command.js'
import { flag, folderFlags, jsonFlag } from './options.js'
import { type AnswerLine, fitTable, type TextColumn, type TextSpan } from './terminal/terminal.js'
import { clean, formatCount } from './terminal/text.js'

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
    const { readStockView, verify } = await import('./folder-readers.js')
    const view = await readStockView(out, { stock, streams, limit: json ? EVENTS_IN_JSON : EVENTS_SHOWN })
    const symbols = [String(view.facts.symbol)]
    const findings = isVerified ? (await verify(out, { streams, exchange, limits, symbols })).findings : undefined
    const whole = findings === undefined ? view : { ...view, findings }
    return { json: whole, lines: () => stockLines(whole) }
  },
})

type ShownStock = StockView & { readonly findings?: readonly Finding[] }

/** A stock for people, part by part; a part without a value is left out. */
export const stockLines = ({ facts, events, renamed, findings = [] }: ShownStock): readonly AnswerLine[] => {
  const parts: readonly (readonly [title: string, lines: readonly AnswerLine[]])[] = [
    [`Price of ${text(facts.price_day)}`, facts.close_inr === null ? [] : priceLines(facts)],
    [`Results: ${text(facts.quarter)}`, facts.quarter === null ? [] : resultLines(facts)],
    ['Valuation and holders', joinFigures(VALUATION.map((figure) => describeFigure(facts, figure)))],
    ['Watch', watchLines(facts)],
    ...EVENT_KINDS.map(([kind, title]) => [title, events.filter((one) => one.kind === kind).map(describeEvent)] as const),
    ['Findings', findings.map(({ day, detail }) => `  ${day === undefined ? '' : `${day}  `}${clean(detail)}`)],
  ]
  return [
    [[text(facts.symbol), 'bold'], [`  ${text(facts.name)}  ${text(facts.isin)}`]],
    ...identityLines(facts),
    ...(renamed === undefined ? [] : [[[`  ${renamed}`, 'yellow']] as const]),
    ...parts.flatMap(([title, lines]) => (lines.length === 0 ? [] : ['', [[title, 'cyan']] as const, ...lines])),
  ]
}

const EVENT_KINDS = [
  ['filing', 'Filings'],
  ['news', 'News'],
  ['announcement', 'Announcements'],
  ['deal', 'Deals'],
  ['corporate action', 'Corporate actions'],
] as const

const text = (value: unknown): string => (value === null || value === undefined ? '' : clean(String(value)))

type Parts = readonly (string | undefined)[]

const joinParts = (parts: Parts): string => parts.filter((part) => part !== undefined && part !== '').join(' · ')

/** The parts that have a value, as a paragraph; nothing without one. */
const joinFigures = (parts: Parts): readonly string[] => {
  const joined = joinParts(parts)
  return joined === '' ? [] : [`  ${joined}`]
}

const formatFigure = (value: unknown, digits = 2): string | undefined => {
  if (typeof value !== 'number') return undefined
  const [whole = '', decimals] = Math.abs(value).toFixed(digits).split('.')
  return `${value < 0 ? '-' : ''}${formatCount(Number(whole))}${decimals === undefined ? '' : `.${decimals}`}`
}

type Figure = readonly [label: string, column: string, unit?: string, digits?: number]

/** A figure with its label, unless it is unknown. The name of a column ends in its unit. */
const describeFigure = (facts: Row, [label, column, unit, digits]: Figure): string | undefined => {
  const isShare = column.endsWith('_pct')
  const value = facts[column]
  const shown = typeof value === 'string' ? clean(value) : formatFigure(value, digits ?? (isShare ? 1 : 2))
  return shown === undefined ? undefined : `${label} ${shown}${unit ?? (isShare ? ' %' : '')}`
}

const identityLines = (facts: Row): readonly string[] =>
  joinFigures([
    facts.board === null ? undefined : `${text(facts.board)} board`,
    text(facts.series),
    text(facts.sector),
    facts.fno === 1 ? 'futures and options' : undefined,
    describeFigure(facts, ['listed', 'listed_on']),
    describeFigure(facts, ['market cap', 'market_cap_cr', ' cr', 0]),
  ])

const DAY: readonly Figure[] = [
  ['open', 'open_inr'],
  ['high', 'high_inr'],
  ['low', 'low_inr'],
  ['volume', 'volume', '', 0],
  ['relative volume', 'rvol'],
]

const DISTANCES: readonly Figure[] = [
  ['from high of all', 'from_high_all_pct'],
  ['from average 50', 'from_sma_50_pct'],
  ['from average 200', 'from_sma_200_pct'],
  ['ATR', 'atr_14_pct'],
]

const RETURN_PERIODS = ['1w', '1m', '3m', '6m', '1y', 'ytd'] as const

const priceLines = (facts: Row): readonly AnswerLine[] => {
  const change = typeof facts.change_pct === 'number' ? facts.change_pct : 0
  const changed = facts.change_pct === null ? '' : `  ${change > 0 ? '+' : ''}${formatFigure(change)} %`
  const list = (figures: readonly Figure[]) => joinFigures(figures.map((figure) => describeFigure(facts, figure)))
  const first: readonly TextSpan[] = [
    [`  ${formatFigure(facts.close_inr)}`, 'bold'],
    [changed, change < 0 ? 'red' : 'green'],
  ]
  return [
    first,
    ...list(DAY),
    ...rangeLines(facts),
    ...list(RETURN_PERIODS.map((name) => [name, `return_${name}_pct`])),
    ...list(DISTANCES),
  ]
}

const BAR_WIDTH = 20

/** Where the close is between the lowest and the highest price of 52 weeks. */
const rangeLines = ({ low_52w_inr: low, high_52w_inr: high, close_inr: close }: Row): readonly string[] => {
  if (typeof low !== 'number' || typeof high !== 'number' || typeof close !== 'number' || high <= low) return []
  const place = Math.round(((close - low) / (high - low)) * (BAR_WIDTH - 1))
  const bar = Array.from({ length: BAR_WIDTH }, (_, index) => (index === place ? '#' : '-')).join('')
  return [`  52 weeks ${formatFigure(low)} ${bar} ${formatFigure(high)}`]
}

const QUARTERS = ['newest', '1 before', '2 before', '3 before', 'year before'] as const

const RESULT_ROWS = [
  ['sales', 'sales', 'cr'],
  ['net profit', 'net_profit', 'cr'],
  ['EPS, rupees', 'eps', 'inr'],
  ['margin, %', 'opm', 'pct'],
] as const

const resultLines = (facts: Row): readonly AnswerLine[] => {
  const columns: readonly TextColumn<(typeof RESULT_ROWS)[number]>[] = [
    { title: '  crore rupees', align: 'left', cell: ([title]) => `  ${title}` },
    ...QUARTERS.map((title, place) => ({
      ...{ title, align: 'right' as const },
      ...(place === 0 ? {} : { drop: place === 4 ? 4 : 4 - place }),
      cell: ([, name, unit]: (typeof RESULT_ROWS)[number]) => formatFigure(facts[`${name}_q${place}_${unit}`], 1) ?? '-',
    })),
  ]
  const isOlder = facts.figures_are_of_results === 0
  return [
    fitTable(columns, RESULT_ROWS),
    ...joinFigures([
      describeFigure(facts, ['sales against the year before', 'sales_yoy_pct']),
      describeFigure(facts, ['net profit', 'net_profit_yoy_pct']),
    ]),
    ...joinFigures([
      describeFigure(facts, ['results came', 'results_at']),
      isOlder ? `of ${text(facts.results_quarter)}, newer than these figures` : undefined,
      describeFigure(facts, ['since then', 'return_since_results_pct']),
    ]),
  ]
}

const VALUATION: readonly Figure[] = [
  ['PE of four quarters', 'pe_ttm'],
  ['PE', 'pe'],
  ['dividend', 'dividend_yield_pct'],
  ['ROE', 'roe_pct'],
  ['ROCE', 'roce_pct'],
  ['promoters', 'promoter_pct'],
  ['foreign', 'fii_pct'],
  ['domestic', 'dii_pct'],
  ['public', 'public_pct'],
]

const SURVEILLANCE: readonly Figure[] = [
  ['ASM', 'asm_stage'],
  ['GSM', 'gsm_stage'],
  ['price band', 'band'],
  ['price band before', 'band_before_pct'],
  ['circuit', 'circuit'],
  ['next', 'next_action'],
  ['on', 'next_action_day'],
  ['results expected on', 'next_results_day'],
]

const watchLines = (facts: Row): readonly string[] =>
  joinFigures([
    ...SURVEILLANCE.map((figure) => describeFigure(facts, figure)),
    facts.deals_7d === 0 ? undefined : describeFigure(facts, ['deals of 7 days, net', 'deals_net_7d_cr', ' cr']),
  ])

const describeEvent = ({ day, title, value, unit }: Row): string =>
  `  ${text(day)}  ${joinParts([text(title), value === null ? undefined : `${formatFigure(value)} ${text(unit)}`])}`
