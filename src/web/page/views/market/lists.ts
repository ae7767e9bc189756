import { html, nothing, type TemplateResult } from 'lit-html'
import type { Panel } from '../../../api/about.js'
import type { CircuitRow, DealRow, ListChange } from '../../../api/market.js'
import { changeText } from '../../parts/change.js'
import { formatNumber } from '../../parts/format.js'
import { emptyLine, panel } from '../../parts/panel.js'
import { listLinked, stockLink } from '../../parts/stock-link.js'

export const circuitsPanel = ({ about, rows, total }: Panel<CircuitRow>): TemplateResult => {
  const list = listLinked(rows)
  const count = (side: CircuitRow['side']): number => rows.filter((row) => row.side === side).length
  return panel({
    ...{ title: 'At their price limit', about, total, room: 13 },
    content:
      rows.length === 0
        ? emptyLine('No stock is at its limit.', about)
        : html`<table>
            <thead><tr><th>Stock</th><th>${formatNumber(count('upper'))} upper, ${formatNumber(count('lower'))} lower</th><th class="number">Price</th><th class="number">Change</th></tr></thead>
            <tbody>
              ${rows.map(
                ({ side, price, changePct, isNew, ...stock }) => html`<tr>
                  <td>${stockLink(stock.symbol, { ...stock, list })}</td>
                  <td><span class=${side === 'upper' ? 'up' : 'down'}>${side}</span>${isNew === true ? html` <span class="tag">new</span>` : nothing}</td>
                  <td class="number">${formatNumber(price, 2)}</td><td class="number">${changeText(changePct)}</td>
                </tr>`,
              )}
            </tbody>
          </table>`,
  })
}

export const changesPanel = (title: string, { about, rows, total }: Panel<ListChange>, nothingChanged: string): TemplateResult => {
  const list = listLinked(rows)
  return panel({
    ...{ title, about },
    ...(total === 0 ? {} : { total, room: 8 }),
    content:
      rows.length === 0
        ? emptyLine(nothingChanged, about)
        : html`<table><tbody>${rows.map(
            ({ detail, ...stock }) =>
              html`<tr><td>${stockLink(stock.symbol, { ...stock, list })}</td><td class="wide"><bdi>${detail}</bdi></td></tr>`,
          )}</tbody></table>`,
  })
}

export const dealsPanel = ({ about, rows, total }: Panel<DealRow>): TemplateResult => {
  const list = listLinked(rows)
  return panel({
    ...{ title: 'Bulk and block deals', about, total, room: 8 },
    content:
      rows.length === 0
        ? emptyLine('No deal is known.', about)
        : html`<table>
            <thead><tr><th>Stock</th><th>Client</th><th></th><th class="number">₹ cr</th></tr></thead>
            <tbody>
              ${rows.map(
                ({
                  client,
                  side,
                  kind,
                  quantity,
                  price,
                  valueCr,
                  ...stock
                }) => html`<tr title=${`${client} ${side} ${formatNumber(quantity)} at ₹ ${formatNumber(price, 2)}, ${kind}`}>
                  <td>${stockLink(stock.symbol, { ...stock, list })}</td><td class="wide"><bdi>${client}</bdi></td>
                  <td class=${side === 'bought' ? 'up' : 'down'}>${side}</td><td class="number">${formatNumber(valueCr, valueCr < 100 ? 1 : 0)}</td>
                </tr>`,
              )}
            </tbody>
          </table>`,
  })
}
