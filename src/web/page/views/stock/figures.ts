import { html, type TemplateResult } from 'lit-html'
import type { Holding, Quarter, StockAnswer } from '../../../api/stock.js'
import { changeText } from '../../parts/change.js'
import { formatDay, formatLarge, formatNumber, formatPercent, formatSigned } from '../../parts/format.js'
import { emptyLine, panel } from '../../parts/panel.js'
import { columnChart, shareBar, sparkLine } from '../../parts/small-charts.js'

const SHOWN_QUARTERS = 5

/** Results and shareholding. */
export const figuresPanels = (stock: StockAnswer): TemplateResult => html`${quartersPanel(stock)}${holdersPanel(stock)}`

const FIGURES: readonly (readonly [title: string, read: (quarter: Quarter) => number | undefined, decimals: number])[] = [
  ['Sales ₹ cr', ({ salesCr }) => salesCr, 0],
  ['Profit ₹ cr', ({ profitCr }) => profitCr, 0],
  ['Margin %', ({ marginPct }) => marginPct, 1],
  ['EPS ₹', ({ eps }) => eps, 2],
]

const quartersPanel = ({ quarters: { about, basis, rows } }: StockAnswer): TemplateResult => {
  const shown = rows.slice(0, SHOWN_QUARTERS).toReversed()
  const [newest] = rows
  return panel({
    ...{ title: basis === undefined ? 'Quarters' : `Quarters, ${basis}`, about },
    content:
      newest === undefined
        ? emptyLine('No results are known.', about)
        : html`<table class="quarters">
            <thead><tr><th></th><th class="optional"></th>${shown.map(({ quarter }, place) => html`<th class=${numberClass(place)}>${quarter}</th>`)}</tr></thead>
            <tbody>${FIGURES.map(([title, read, decimals]) => figureRow(title, shown.map(read), decimals))}</tbody>
          </table>
          <p class="soft note">Against the year before: sales ${changeText(newest.salesGrowthPct)}, net profit ${changeText(newest.profitGrowthPct)}</p>`,
  })
}

/** On a phone there is no room for the oldest of five quarters. */
const numberClass = (place: number): string => (place < SHOWN_QUARTERS - 4 ? 'number optional' : 'number')

/** A small chart of the quarters, and their values. */
const figureRow = (title: string, values: readonly (number | undefined)[], decimals: number): TemplateResult => html`
  <tr><th scope="row">${title}</th><td class="optional">${columnChart(values, { width: 40, height: 22 })}</td>${values.map((value, place) => html`<td class=${numberClass(place)}>${formatNumber(value, value !== undefined && Math.abs(value) >= 100 ? 0 : decimals)}</td>`)}</tr>
`

const HOLDERS: readonly (readonly [name: string, title: string, read: (holding: Holding) => number | undefined])[] = [
  ['promoters', 'Promoters', ({ promoterPct }) => promoterPct],
  ['foreign', 'Foreign institutions', ({ fiiPct }) => fiiPct],
  ['domestic', 'Domestic institutions', ({ diiPct }) => diiPct],
  ['public', 'Public', ({ publicPct }) => publicPct],
]

const holdersPanel = ({ shareholding: { about, rows } }: StockAnswer): TemplateResult => {
  const [newest, before] = rows
  const quarters = rows.slice(0, SHOWN_QUARTERS).toReversed()
  return panel({
    ...{ title: newest?.day === undefined ? 'Shareholding' : `Shareholding, ${formatDay(newest.day)}`, about },
    content:
      newest === undefined
        ? emptyLine('No shareholding is known.', about)
        : html`${shareBar(HOLDERS.map(([name, , read]) => [name, read(newest) ?? 0]))}
          <table>
            <thead><tr><th>Holder</th><th class="optional">${formatNumber(quarters.length)} quarters</th><th class="number">Share</th><th class="number" title="Against the quarter before, percentage points">Change, pp</th></tr></thead>
            <tbody>
              ${HOLDERS.map(([name, title, read]) => {
                const [now, then] = [read(newest), before && read(before)]
                const line = quarters.map(read).filter((value) => value !== undefined)
                return html`<tr><td><i class=${`key ${name}`}></i>${title}</td><td class="optional">${sparkLine(line, { width: 64, height: 20 })}</td>
                  <td class="number">${formatPercent(now, 1)}</td><td class="number">${now === undefined || then === undefined ? '–' : formatSigned(now - then, 2)}</td></tr>`
              })}
            </tbody>
          </table>`,
  })
}

export const valuationPanel = ({ facts, quarters: { about } }: StockAnswer): TemplateResult => {
  const { marketCapCr, pe, roePct, rocePct, dividendYieldPct, faceValue } = facts
  const all: readonly (readonly [string, string])[] = [
    ['Market cap', marketCapCr === undefined ? '–' : `₹ ${formatLarge(Math.round(marketCapCr))} cr`],
    ['P/E', formatNumber(pe, 1)],
    ['Return on equity', formatPercent(roePct, 1)],
    ['Return on capital', formatPercent(rocePct, 1)],
    ['Dividend yield', formatPercent(dividendYieldPct, 2)],
    ['Face value', faceValue === undefined ? '–' : `₹ ${formatNumber(faceValue, Number.isInteger(faceValue) ? 0 : 2)}`],
  ]
  return panel({
    ...{ title: 'Valuation', about },
    content: html`<dl class="facts">${all.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`,
  })
}
