import { formatDay, formatDaysIn, formatNumber, formatQuantity, formatSigned } from '../../model/format.js'
import { escapeMarkup } from '../../model/text.js'
import type { Breadth, IndexRow } from '../../show/answers.js'
import type { Brief } from '../../show/brief.js'
import type { MorningMarket } from '../../show/index.js'
import { clean } from '../terminal/text.js'
import {
  type BriefPart,
  briefHead,
  briefParts,
  describeBreadth,
  type MarketTable,
  marketTables,
} from './lines.js'

const toSafeText = (value: string): string => escapeMarkup(clean(value))

// A mail program that drops styles shows plain tables. Colours: those of the page.
const STYLE = `body{font:15px/1.45 system-ui,sans-serif;max-width:46rem;margin:0 auto;padding:1rem;color-scheme:light dark;color:#16191d;background:#fff}
h1{font-size:1.5rem;line-height:1.2;margin:0}h2{font-size:1rem;margin:1.4rem 0 .2rem}p{margin:.3rem 0}ul{margin:0;padding-left:1.1rem}a{color:#0b5cad}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}td,th{padding:.15rem .8rem .15rem 0;text-align:left;font-weight:400;border-bottom:1px solid #8884;vertical-align:top}th{font-size:.8rem}
th,.s{color:#5b636d}.n{text-align:right;white-space:nowrap}.u{color:#00705f}.d{color:#b23a00}.w{color:#835800}.strip td{border:0;width:16.6%;font-size:.85rem}.strip b{display:block;font-size:1rem}
svg{display:block;fill:none;stroke:currentColor}.pre{display:none}
@media(prefers-color-scheme:dark){body{color:#e4e7ea;background:#14171a}a{color:#6cb2f5}th,.s{color:#9aa3ad}.u{color:#43c4ad}.d{color:#ff8f5c}.w{color:#e0b04a}}
@media(max-width:34rem){.strip,.strip tbody,.strip tr{display:block}.strip td{display:inline-block;width:48%}.o{display:none}td,th{padding-right:.4rem}}
@media print{@page{margin:12mm}body{font-size:11px;max-width:none;padding:0}table,ul,h2{break-inside:avoid}h2{break-after:avoid}}`

/** For a mail: one self-contained document without scripts, which can be printed. */
export const briefHtml = (brief: Brief, market: MorningMarket, watched: readonly string[] = []): string => {
  const head = formatDaysIn(briefHead(brief))
  const { breadth, indices } = market.market
  const parts = briefParts(brief)
  const tables = marketTables(market, watched).filter(
    ({ title, rows }) => title !== 'Indices' || rows.length === 0,
  )
  const [first = '', ...rest] = tables.map(tableHtml)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${toSafeText(head)}</title>
<style>${STYLE}</style>
</head>
<body>
<div class="pre">${toSafeText(preheader(brief, market))}</div>
<h1>${breadth.about.day === undefined ? 'The market' : formatDay(breadth.about.day)}</h1>
<p class="${brief.outcome === 'complete' ? 's' : 'w'}">${toSafeText(head)}</p>
${parts
  .filter(({ isUrgent }) => isUrgent)
  .map(partHtml)
  .join('\n')}
<table class="strip"><tr>${indices.rows.slice(0, 6).map(indexHtml).join('')}</tr></table>
${breadthBar(breadth)}<p>${toSafeText(describeBreadth(market, brief.stale))}</p>
${first}
${rest.slice(0, 1).join('\n')}
${parts
  .filter(({ isUrgent }) => !isUrgent)
  .map(partHtml)
  .join('\n')}
${rest.slice(1).join('\n')}
</body>
</html>
`
}

/** What a mail program shows beside the subject. */
const preheader = ({ changes }: Brief, { market: { breadth, indices }, today, own }: MorningMarket): string =>
  [
    ...indices.rows
      .slice(0, 1)
      .map(({ name, symbol, changePct }) => `${name || symbol} ${formatSigned(changePct, 2)} %`),
    ...(breadth.traded === 0
      ? []
      : [`${formatNumber(breadth.advances)} rose, ${formatNumber(breadth.declines)} fell`]),
    ...(own.rows.length === 0
      ? []
      : [
          `${own.rows.filter(({ notes = [] }) => notes.length > 0).length} of your ${formatQuantity(own.rows.length, 'stock')} in the news`,
        ]),
    ...(today.results.total === 0 ? [] : [formatQuantity(today.results.total, 'result')]),
    `${formatQuantity(changes.length, 'stock')} changed`,
  ].join(' · ')

const tone = (value: number | undefined): string =>
  value === undefined || value === 0 ? 's' : value > 0 ? 'u' : 'd'

const SPARK = { width: 96, height: 24, closes: 30 } as const

const indexHtml = ({ name, symbol, close, changePct, closes: all }: IndexRow): string => {
  const closes = all.slice(-SPARK.closes)
  const [low, high] = [Math.min(...closes), Math.max(...closes)]
  const points = closes.map(
    (value, place) =>
      `${Math.round((place / Math.max(1, closes.length - 1)) * SPARK.width)},${Math.round(1 + (1 - (value - low) / (high - low || 1)) * (SPARK.height - 2))}`,
  )
  const line =
    closes.length < 2
      ? ''
      : `<svg width="${SPARK.width}" height="${SPARK.height}" aria-hidden="true"><polyline points="${points.join(' ')}"/></svg>`
  return `<td><span class="s">${toSafeText(name || symbol)}</span><b>${formatNumber(close, 2)}</b><span class="${tone(changePct)}">${changePct === undefined ? '' : `${changePct < 0 ? '▼' : '▲'} ${formatSigned(changePct, 2)} %`}${line}</span></td>`
}

const breadthBar = ({ advances, declines, unchanged, traded }: Breadth): string => {
  if (traded === 0) return ''
  const share = (count: number): number => Math.round((1_000 * count) / traded) / 10
  const bar = (name: string, x: number, width: number): string =>
    `<rect class="${name}" x="${x}%" width="${width}%" height="8" fill="currentColor" stroke="none"/>`
  return `<svg width="100%" height="8" aria-hidden="true">${bar('u', 0, share(advances))}${bar('s', share(advances), share(unchanged))}${bar('d', share(advances + unchanged), share(declines))}</svg>`
}

const partHtml = ({ title, lines }: BriefPart): string =>
  `<h2>${toSafeText(formatDaysIn(title))}</h2>\n${lines.length === 0 ? '' : `<ul>\n${lines.map((line) => `<li>${toSafeText(formatDaysIn(line))}</li>`).join('\n')}\n</ul>`}`

const tableHtml = ({ title, columns, rows, urls, problem, sum = '' }: MarketTable): string => {
  const cell = (tag: string, value: string, place: number, url?: string): string => {
    const isNumber = columns[place]?.startsWith('>') ?? false
    const sign = /^[+-]\d.* %$/.exec(value)?.[0]
    const names = [
      isNumber ? 'n' : '',
      sign === undefined ? '' : sign.startsWith('+') ? 'u' : 'd',
      place === 4 || place > 6 ? 'o' : '',
    ].filter(Boolean)
    const shown =
      url === undefined ? toSafeText(value) : `<a href="${escapeMarkup(url)}">${toSafeText(value)}</a>`
    return `<${tag}${names.length === 0 ? '' : ` class="${names.join(' ')}"`}>${shown}</${tag}>`
  }
  const head = columns.map((column, place) => cell('th', column.replace('>', ''), place)).join('')
  const lines = rows.map(
    (row, index) =>
      `<tr>${row.map((value, place) => cell('td', value, place, place === columns.length - 1 ? urls?.[index] : undefined)).join('')}</tr>`,
  )
  return `<h2>${toSafeText(title)}</h2>\n${problem === undefined ? '' : `<p class="w">${toSafeText(formatDaysIn(problem))}</p>\n`}${sum === '' ? '' : `<p class="s">${toSafeText(sum)}</p>\n`}${rows.length === 0 ? '' : `<table>\n<tr>${head}</tr>\n${lines.join('\n')}\n</table>`}`
}
