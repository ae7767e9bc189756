import { html, type TemplateResult } from 'lit-html'
import type { Panel } from '../../../api/about.js'
import type { IndexRow, MarketAnswer, Mover } from '../../../api/market.js'
import { changeText } from '../../parts/change.js'
import { formatNumber } from '../../parts/format.js'
import { choices, emptyLine, panel } from '../../parts/panel.js'
import { sparkLine } from '../../parts/small-charts.js'
import { indexPath, stockLink } from '../../parts/stock-link.js'
import type { PageContext } from '../../view.js'

const MOVERS = [
  ['gainers', 'Up'],
  ['losers', 'Down'],
  ['busiest', 'Volume'],
] as const

type MoverList = (typeof MOVERS)[number][0]

export const moversPanel = (market: MarketAnswer, page: PageContext): TemplateResult => {
  const asked = page.place.query.get('movers')
  const chosen: MoverList = MOVERS.find(([value]) => value === asked)?.[0] ?? 'gainers'
  const { about, rows } = market[chosen]
  const tools = choices('Movers', MOVERS, { chosen, choose: (value) => page.setQuery({ movers: value === 'gainers' ? undefined : value }) })
  // The head of the view says what is wrong with the candles.
  const { problem: _, ...own } = about
  return panel({
    title: 'Movers',
    about: own,
    tools,
    room: 13,
    content: rows.length === 0 ? emptyLine('No stock moved that way.', about) : moversTable(rows),
  })
}

const moversTable = (rows: readonly Mover[]): TemplateResult => {
  const list = rows.map(({ symbol }) => symbol)
  return html`
    <table>
      <thead><tr><th>Stock</th><th class="number">Close</th><th class="number">Change</th><th class="number" title="Volume against the average of the 20 sessions before">Volume ×</th><th class="number optional">₹ cr</th></tr></thead>
      <tbody>
        ${rows.map(
          ({ symbol, name, close, changePct, volumeTimes, turnoverCr }) => html`<tr>
            <td>${stockLink(symbol, { name, list })}</td><td class="number">${formatNumber(close, 2)}</td><td class="number">${changeText(changePct)}</td>
            <td class="number">${formatNumber(volumeTimes, 1)}</td><td class="number optional">${formatNumber(turnoverCr, turnoverCr < 10 ? 1 : 0)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  `
}

export const indicesPanel = ({ about, rows, total }: Panel<IndexRow>): TemplateResult =>
  panel({
    ...{ title: 'Indices', about, total, room: 13 },
    content:
      rows.length === 0
        ? emptyLine('No index has candles.', about)
        : html`<table>
            <thead><tr><th>Index</th><th>60 sessions</th><th class="number">Value</th><th class="number">Change</th></tr></thead>
            <tbody>
              ${rows.map(
                ({ key, symbol, name, close, changePct, closes }) => html`<tr>
                  <td class="wide"><a href=${indexPath(key)} title=${symbol}><bdi>${name || symbol}</bdi></a></td><td>${sparkLine(closes, { width: 72, height: 20 })}</td>
                  <td class="number">${formatNumber(close, 2)}</td><td class="number">${changeText(changePct)}</td>
                </tr>`,
              )}
            </tbody>
          </table>`,
  })
