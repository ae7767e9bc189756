import type { Breadth, ListsAnswer, MarketAnswer, Mover, Panel } from '../../show/answers.js'
import { formatDay, formatDaysIn, formatNumber, formatPercent, formatQuantity, formatSigned } from '../../web/page/parts/format.js'
import { escapeHtml } from '../brief/html.js'
import { clean } from '../terminal/text.js'

/** Styles of the market; a mail program that drops them shows plain tables. */
export const MARKET_STYLE =
  'table{border-collapse:collapse;width:100%;margin:.6rem 0;font-variant-numeric:tabular-nums}td,th{padding:.1rem 1rem .1rem 0;text-align:left;font-weight:400;border-bottom:1px solid #8884}.n{text-align:right;white-space:nowrap}.note{opacity:.75;margin:.2rem 0}'

const SHOWN_INDICES = 8
const SHOWN_MOVERS = 5
const SHOWN_DEALS = 5

/** The market at a glance, as HTML without scripts and without anything from elsewhere. */
export const marketHtml = ({ breadth, indices, gainers, losers, busiest, circuits, deals }: MarketAnswer & ListsAnswer): string =>
  [
    `<h2>Market${breadth.about.day === undefined ? '' : ` of ${formatDay(breadth.about.day)}`}</h2>`,
    note(breadth.about.problem),
    breadthHtml(breadth),
    table(indices, SHOWN_INDICES, ['Index', 'Value', 'Change'], ({ name, symbol, close, changePct }) => [
      name || symbol,
      formatNumber(close, 2),
      percent(changePct),
    ]),
    gainers.rows.length + losers.rows.length === 0 ? '' : note('Volume: how many times the average of the 20 sessions before.'),
    moversHtml('Up most', gainers),
    moversHtml('Down most', losers),
    moversHtml('Most volume', busiest),
    circuits.total === 0
      ? note(circuits.about.problem)
      : `<p>${formatQuantity(circuits.total, 'stock')} at the price limit of the day.</p>`,
    table(deals, SHOWN_DEALS, ['Deal', 'Client', '₹ crore'], ({ symbol, client, side, valueCr }) => [
      symbol,
      `${client} ${side}`,
      formatNumber(valueCr, 2),
    ]),
  ]
    // Several parts may lack the same.
    .filter((part, place, all) => part !== '' && all.indexOf(part) === place)
    .join('\n')
    .concat('\n')

const note = (problem: string | undefined): string => (problem === undefined ? '' : `<p class="note">${text(formatDaysIn(problem))}</p>`)

const text = (value: string): string => escapeHtml(clean(value))

const breadthHtml = ({
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
}: Breadth): string => {
  if (traded === 0) return ''
  const parts = [
    `${formatQuantity(advances, 'stock')} rose, ${formatNumber(declines)} fell, ${formatNumber(unchanged)} unchanged (${formatNumber(traded)} of ${formatNumber(listed)} have a candle)`,
    `52-week highs ${formatNumber(newHighs)}, lows ${formatNumber(newLows)}`,
    ...(above50Pct === undefined ? [] : [`above the 50-day average ${formatPercent(above50Pct, 0)}`]),
    ...(above200Pct === undefined ? [] : [`above the 200-day average ${formatPercent(above200Pct, 0)}`]),
    `turnover ₹ ${formatNumber(turnoverCr)} crore`,
  ]
  return `<p>${parts.join('; ')}.</p>`
}

const moversHtml = (title: string, movers: Panel<Mover>): string =>
  table(movers, SHOWN_MOVERS, [title, 'Close', 'Change', 'Volume'], ({ symbol, close, changePct, volumeTimes }) => [
    symbol,
    formatNumber(close, 2),
    percent(changePct),
    volumeTimes === undefined ? '' : `${formatNumber(volumeTimes, 1)} ×`,
  ])

/** The first rows of a panel; nothing, or why it has nothing, without any. The first column and `Client` are texts. */
const table = <R>({ rows, about }: Panel<R>, most: number, titles: readonly string[], toCells: (row: R) => readonly string[]): string => {
  if (rows.length === 0) return note(about.problem)
  const isText = (place: number): boolean => place === 0 || titles[place] === 'Client'
  const cells = (tag: string, values: readonly string[]): string =>
    `<tr>${values.map((value, place) => `<${tag}${isText(place) ? '' : ' class="n"'}>${text(value)}</${tag}>`).join('')}</tr>`
  return `<table>\n${[cells('th', titles), ...rows.slice(0, most).map((row) => cells('td', toCells(row)))].join('\n')}\n</table>`
}

const percent = (value: number | undefined): string => (value === undefined ? '' : `${formatSigned(value, 2)} %`)
