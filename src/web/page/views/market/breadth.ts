import { html, nothing, type TemplateResult } from 'lit-html'
import type { Breadth } from '../../../api/market.js'
import { formatDay, formatDaysIn, formatLarge, formatNumber, formatPercent, formatQuantity, formatSigned } from '../../parts/format.js'
import { balanceChart, shareBar } from '../../parts/small-charts.js'

/** The sentence of the day, and the numbers behind it. */
export const breadthHead = (breadth: Breadth | undefined): TemplateResult => {
  if (breadth === undefined) return html`<div class="breadth"><h1 class="soft">Market</h1><dl></dl></div>`
  const { about, listed, traded, advances, declines, unchanged, sessions } = breadth
  if (traded === 0)
    return html`<div class="breadth"><h1>No candles yet</h1><p class="problem">${about.problem ?? 'the folder has no candles of stocks'}</p></div>`
  return html`
    <div class="breadth">
      <h1>${describeMarket(breadth)}</h1>
      <p class="soft">${formatDay(about.day)}, ${describeSession(traded, listed)} ${about.problem === undefined ? nothing : html`<span class="problem">${formatDaysIn(about.problem)}</span>`}</p>
      <div class="balances">
        ${shareBar([
          ['up', advances],
          ['flat', unchanged],
          ['down', declines],
        ])}
        ${
          sessions.length < 2
            ? nothing
            : html`<figure>${balanceChart(sessions, { width: 480, height: 48 })}<figcaption class="soft">Advances and declines, ${formatNumber(sessions.length)} sessions</figcaption></figure>`
        }
      </div>
      <dl>${listFacts(breadth).map(([name, value, tone]) => html`<div><dt>${name}</dt><dd class=${tone ?? ''}>${value}</dd></div>`)}</dl>
    </div>
  `
}

const describeMarket = ({ advances, declines }: Breadth): string =>
  advances === declines
    ? `${formatQuantity(advances, 'stock')} rose, as many fell`
    : advances > declines
      ? `${formatQuantity(advances, 'stock')} rose, ${formatNumber(declines)} fell`
      : `${formatQuantity(declines, 'stock')} fell, ${formatNumber(advances)} rose`

const describeSession = (traded: number, listed: number): string =>
  traded === listed ? `all ${formatNumber(listed)} stocks` : `${formatNumber(traded)} of ${formatNumber(listed)} stocks have a candle`

const listFacts = ({
  advances,
  declines,
  unchanged,
  newHighs,
  newLows,
  above50Pct,
  above200Pct,
  medianChangePct,
  turnoverCr,
}: Breadth): readonly (readonly [name: string, value: string, tone?: string])[] => [
  ['Advances', formatNumber(advances), 'up'],
  ['Declines', formatNumber(declines), 'down'],
  ['Unchanged', formatNumber(unchanged)],
  ['Median change', medianChangePct === undefined ? '–' : `${formatSigned(medianChangePct, 2)} %`],
  ['52-week highs', formatNumber(newHighs)],
  ['52-week lows', formatNumber(newLows)],
  ['Above 50-day average', formatPercent(above50Pct, 0)],
  ['Above 200-day average', formatPercent(above200Pct, 0)],
  ['Turnover', `₹ ${formatLarge(Math.round(turnoverCr))} cr`],
]
