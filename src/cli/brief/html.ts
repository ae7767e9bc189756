import type { Breadth, DocumentsAnswer, ListsAnswer, MarketAnswer, Mover, Panel } from '../../show/answers.js'
import type { Brief } from '../../show/brief.js'
import {
  formatChange,
  formatDay,
  formatDaysIn,
  formatNumber,
  formatPercent,
  formatQuantity,
  formatSigned,
} from '../../web/page/parts/format.js'
import { clean } from '../terminal/text.js'
import { briefHead, briefParts, filingLinks } from './lines.js'

/** A text as HTML shows it, whatever it contains. */
const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;')

/** For a mail: one self-contained document without scripts, with the market at a glance. */
type WholeMarket = MarketAnswer & ListsAnswer & Pick<DocumentsAnswer, 'deals'>

export const briefHtml = (brief: Brief, market: WholeMarket): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(formatDaysIn(briefHead(brief)))}</title>
<style>body{font:15px/1.5 system-ui,sans-serif;max-width:50rem;margin:1rem auto;padding:0 1rem;color-scheme:light dark}h2{font-size:1rem;margin:1rem 0 .2rem}ul{margin:0;padding-left:1.2rem}${MARKET_STYLE}</style>
</head>
<body>
<p><strong>${escapeHtml(formatDaysIn(briefHead(brief)))}</strong></p>
${marketHtml(market)}${briefParts(brief)
  .map(
    ({ title, lines }) =>
      `<h2>${escapeHtml(formatDaysIn(title))}</h2>\n${lines.length === 0 ? '' : `<ul>\n${lines.map((line) => `<li>${escapeHtml(formatChange(line))}</li>`).join('\n')}\n</ul>`}`,
  )
  .join('\n')}
${filingLinks(brief)
  .map(({ text, url }, index) => `${index === 0 ? '<h2>Filings</h2>\n' : ''}<p><a href="${escapeHtml(url)}">${escapeHtml(text)}</a></p>`)
  .join('\n')}
</body>
</html>
`

/** Styles of the market; a mail program that drops them shows plain tables. */
const MARKET_STYLE =
  'table{border-collapse:collapse;width:100%;margin:.6rem 0;font-variant-numeric:tabular-nums}td,th{padding:.1rem 1rem .1rem 0;text-align:left;font-weight:400;border-bottom:1px solid #8884}.n{text-align:right;white-space:nowrap}.note{opacity:.75;margin:.2rem 0}'

const SHOWN_INDICES = 8
const SHOWN_MOVERS = 5
const SHOWN_DEALS = 5

/** The market at a glance, as HTML without scripts and without anything from elsewhere. */
export const marketHtml = ({ breadth, indices, gainers, losers, busiest, circuits, deals }: WholeMarket): string =>
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

const breadthHtml = (breadth: Breadth): string => {
  const { traded, listed, advances, declines, unchanged, newHighs, newLows, above50Pct, above200Pct, turnoverCr } = breadth
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
