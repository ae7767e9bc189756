import type { Row } from '../../model/row.js'
import type { StockView } from '../../tables/stock-view.js'
import type { Finding } from '../../verify/finding.js'
import { formatCount } from '../terminal/format.js'
import { renderFittingTable, type TextLine, wrapLines, wrapTitled } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'

type ShownStock = StockView & { readonly findings?: readonly Finding[] }

/** A stock for people, section by section; a section without a value is left out. */
export const stockLines = ({ facts, events, renamed, findings }: ShownStock, columns: number): readonly TextLine[] => {
  const sections: readonly (readonly [title: string, lines: readonly TextLine[]])[] = [
    [`Price of ${text(facts.price_day)}`, facts.close_inr === null ? [] : priceLines(facts, columns)],
    [`Results: ${text(facts.quarter)}`, facts.quarter === null ? [] : resultLines(facts, columns)],
    ['Valuation and holders', partLines(valuationParts(facts), columns)],
    ['Watch', partLines(watchParts(facts), columns)],
    ...KINDS.map(([kind, title]) => [title, events.filter((one) => one.kind === kind).flatMap((one) => eventLines(one, columns))] as const),
    [
      'Findings',
      (findings ?? []).flatMap(({ day, detail }) => wrapLines(`  ${day === undefined ? '' : `${day}  `}${clean(detail)}`, columns)),
    ],
  ]
  return [
    ...wrapTitled([text(facts.symbol), 'bold'], `  ${text(facts.name)}  ${text(facts.isin)}`, columns),
    ...partLines(identityParts(facts), columns),
    ...(renamed === undefined ? [] : wrapLines(`  ${clean(renamed)}`, columns, 'yellow')),
    ...sections.flatMap(([title, lines]) => (lines.some(hasWords) ? [[] as TextLine, [[title, 'cyan']] as TextLine, ...lines] : [])),
  ]
}

const KINDS = [
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
const partLines = (parts: Parts, columns: number): readonly TextLine[] => {
  const joined = joinParts(parts)
  return joined === '' ? [] : wrapLines(`  ${joined}`, columns)
}

const number = (value: unknown, digits = 2): string | undefined => {
  if (typeof value !== 'number') return undefined
  const [whole = '', decimals] = Math.abs(value).toFixed(digits).split('.')
  return `${value < 0 ? '-' : ''}${formatCount(Number(whole))}${decimals === undefined ? '' : `.${decimals}`}`
}

const part = (label: string, value: unknown, unit = '', digits = 2): string | undefined => {
  const shown = typeof value === 'string' ? clean(value) : number(value, digits)
  return shown === undefined ? undefined : `${label} ${shown}${unit}`
}

const percent = (label: string, value: unknown): string | undefined => part(label, value, ' %', 1)

const identityParts = (facts: Row) => [
  facts.board === null ? undefined : `${text(facts.board)} board`,
  text(facts.series),
  text(facts.sector),
  facts.fno === 1 ? 'futures and options' : undefined,
  part('listed', facts.listed_on),
  part('market cap', facts.market_cap_cr, ' cr', 0),
]

const RETURNS = ['1w', '1m', '3m', '6m', '1y', 'ytd'] as const
const BAR_WIDTH = 20

const hasWords = (line: TextLine): boolean => line.some(([words]) => words.trim() !== '')

const priceLines = (facts: Row, columns: number): readonly TextLine[] => {
  const change = typeof facts.change_pct === 'number' ? facts.change_pct : 0
  const first: TextLine = [
    [`  ${number(facts.close_inr)}`, 'bold'],
    [facts.change_pct === null ? '' : `  ${change > 0 ? '+' : ''}${number(change)} %`, change < 0 ? 'red' : 'green'],
  ]
  const day = [part('open', facts.open_inr), part('high', facts.high_inr), part('low', facts.low_inr), part('volume', facts.volume, '', 0)]
  const averages = [percent('from average 50', facts.from_sma_50_pct), percent('from average 200', facts.from_sma_200_pct)]
  return [
    first,
    ...partLines([...day, part('relative volume', facts.rvol)], columns),
    ...rangeLines(facts, columns),
    ...partLines(
      RETURNS.map((name) => percent(name, facts[`return_${name}_pct`])),
      columns,
    ),
    ...partLines([percent('from high of all', facts.from_high_all_pct), ...averages, percent('ATR', facts.atr_14_pct)], columns),
  ]
}

/** Where the close is between the lowest and the highest price of 52 weeks. */
const rangeLines = ({ low_52w_inr: low, high_52w_inr: high, close_inr: close }: Row, columns: number): readonly TextLine[] => {
  if (typeof low !== 'number' || typeof high !== 'number' || typeof close !== 'number' || high <= low) return []
  const place = Math.round(((close - low) / (high - low)) * (BAR_WIDTH - 1))
  const bar = Array.from({ length: BAR_WIDTH }, (_, index) => (index === place ? '#' : '-')).join('')
  return wrapLines(`  52 weeks ${number(low)} ${bar} ${number(high)}`, columns)
}

const resultLines = (facts: Row, columns: number): readonly TextLine[] => [
  ...renderFittingTable(
    [
      { title: '  crore rupees', align: 'left', cell: ([title]: readonly [string, string, string]) => `  ${title}` },
      ...['newest', '1 before', '2 before', '3 before', 'year before'].map((title, place) => ({
        title,
        align: 'right' as const,
        ...(place === 0 ? {} : { drop: place === 4 ? 4 : 4 - place }),
        cell: ([, name, unit]: readonly [string, string, string]) => number(facts[`${name}_q${place}_${unit}`], 1) ?? '-',
      })),
    ],
    [
      ['sales', 'sales', 'cr'],
      ['net profit', 'net_profit', 'cr'],
      ['EPS, rupees', 'eps', 'inr'],
      ['margin, %', 'opm', 'pct'],
    ],
    columns,
  ),
  ...partLines([percent('sales against the year before', facts.sales_yoy_pct), percent('net profit', facts.net_profit_yoy_pct)], columns),
  ...partLines(
    [
      part('results came', facts.results_at),
      facts.figures_are_of_results === 0 ? `of ${text(facts.results_quarter)}, newer than these figures` : undefined,
      percent('since then', facts.return_since_results_pct),
    ],
    columns,
  ),
]

const valuationParts = (facts: Row) => [
  part('PE of four quarters', facts.pe_ttm),
  part('PE', facts.pe),
  percent('dividend', facts.dividend_yield_pct),
  percent('ROE', facts.roe_pct),
  percent('ROCE', facts.roce_pct),
  percent('promoters', facts.promoter_pct),
  percent('foreign', facts.fii_pct),
  percent('domestic', facts.dii_pct),
  percent('public', facts.public_pct),
]

const watchParts = (facts: Row) => [
  part('ASM', facts.asm_stage),
  part('GSM', facts.gsm_stage),
  part('price band', facts.band),
  percent('price band before', facts.band_before_pct),
  part('circuit', facts.circuit),
  part('next', facts.next_action),
  facts.next_action_day === null ? undefined : `on ${text(facts.next_action_day)}`,
  part('results expected on', facts.next_results_day),
  facts.deals_7d === 0 ? undefined : part('deals of 7 days, net', facts.deals_net_7d_cr, ' cr'),
]

const eventLines = ({ day, title, value, unit }: Row, columns: number): readonly TextLine[] =>
  wrapLines(`  ${text(day)}  ${joinParts([text(title), value === null ? undefined : `${number(value)} ${text(unit)}`])}`, columns)
