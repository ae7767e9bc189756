import { html, nothing, type TemplateResult } from 'lit-html'
import type {
  AnnouncementRow,
  Breadth,
  CircuitRow,
  DealRow,
  DocumentsAnswer,
  IndexRow,
  ListChange,
  ListsAnswer,
  MarketAnswer,
  Mover,
  NewsRow,
  Panel,
} from '../../../../show/answers.js'
import {
  formatDay,
  formatDaysIn,
  formatLarge,
  formatNumber,
  formatPercent,
  formatQuantity,
  formatSigned,
  MISSING,
} from '../../parts/format.js'
import { changeText, choices, emptyLine, panel } from '../../parts/panel.js'
import { balanceChart, shareBar, sparkLine } from '../../parts/small-charts.js'
import { indexPath, listLinked, stockLink } from '../../parts/stock-link.js'
import type { PageContext } from '../../view.js'

/** A panel of a list; without rows, a line that says so. */
const listPanel = <R>(
  title: string,
  { about, rows, total }: Panel<R>,
  {
    list,
    empty,
    room = 13,
    content,
  }: { readonly list: string; readonly empty: string; readonly room?: number; readonly content: () => TemplateResult },
): TemplateResult => panel({ title, about, total, list, room, content: rows.length === 0 ? emptyLine(empty, about) : content() })

export const circuitsPanel = (circuits: ListsAnswer['circuits']): TemplateResult => {
  const { rows } = circuits
  const list = listLinked(rows)
  const count = (side: CircuitRow['side']): string =>
    `${circuits.missing.includes(side) ? MISSING : formatNumber(rows.filter((row) => row.side === side).length)} ${side}`
  return listPanel('At their price limit', circuits, {
    list: '/list/circuits',
    empty: 'No stock is at its limit.',
    content: () =>
      html`<table>
            <thead><tr><th>Stock</th><th>${count('upper')}, ${count('lower')}</th><th class="number">Price</th><th class="number">Change</th></tr></thead>
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

export const changesPanel = (
  title: string,
  { about, rows, total }: Panel<ListChange>,
  { path, nothingChanged }: { readonly path: string; readonly nothingChanged: string },
): TemplateResult => {
  const list = listLinked(rows)
  return panel({
    ...{ title, about, list: path },
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

export const dealsPanel = (deals: Panel<DealRow>): TemplateResult => {
  const { rows } = deals
  const list = listLinked(rows)
  return listPanel('Bulk and block deals', deals, {
    list: '/list/deals',
    empty: 'No deal is known.',
    room: 8,
    content: () =>
      html`<table>
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

const MOVERS = [
  ['gainers', 'Up'],
  ['losers', 'Down'],
  ['busiest', 'Volume'],
] as const

export const moversPanel = (market: MarketAnswer, page: PageContext): TemplateResult => {
  const asked = page.place.query.get('movers')
  const chosen = MOVERS.find(([value]) => value === asked)?.[0] ?? 'gainers'
  const { about, rows } = market[chosen]
  const tools = choices('Movers', MOVERS, { chosen, choose: (value) => page.setQuery({ movers: value === 'gainers' ? undefined : value }) })
  // The head of the view says what is wrong with the candles.
  const { problem: _, ...own } = about
  const content = rows.length === 0 ? emptyLine('No stock moved that way.', about) : moversTable(rows)
  const sorts = { gainers: '-change_pct', losers: 'change_pct', busiest: '-volume_x' }
  return panel({ title: 'Movers', about: own, tools, list: `/list/stocks?sort=${sorts[chosen]}`, room: 13, content })
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

export const indicesPanel = (indices: Panel<IndexRow>): TemplateResult =>
  listPanel('Indices', indices, {
    list: '/list/indices',
    empty: 'No index has candles.',
    content: () =>
      html`<table>
            <thead><tr><th>Index</th><th>60 sessions</th><th class="number">Value</th><th class="number">Change</th></tr></thead>
            <tbody>
              ${indices.rows.map(
                ({ key, symbol, name, close, changePct, closes }) => html`<tr>
                  <td class="wide"><a href=${indexPath(key)} title=${symbol}><bdi>${name || symbol}</bdi></a></td><td>${sparkLine(closes, { width: 72, height: 20 })}</td>
                  <td class="number">${formatNumber(close, 2)}</td><td class="number">${changeText(changePct)}</td>
                </tr>`,
              )}
            </tbody>
          </table>`,
  })

const SENTIMENTS = ['negative', 'mixed', 'positive', 'neutral']
const rankOf = ({ sentiment }: NewsRow): number => (SENTIMENTS.indexOf(sentiment) + SENTIMENTS.length + 1) % (SENTIMENTS.length + 1)

/** How a sentiment is shown: by a word, and a colour where it matters. */
export const sentimentText = (sentiment: string): TemplateResult => {
  const tone = sentiment === 'negative' ? 'down' : sentiment === 'positive' ? 'up' : 'soft'
  return html`<span class=${tone}>${sentiment}</span>`
}

/** The news of the day, negative ones first. */
export const newsPanel = ({ news, sentiments }: DocumentsAnswer): TemplateResult =>
  listPanel('News', news, {
    list: '/list/news',
    empty: 'No news of that day.',
    content: () =>
      html`<p class="soft">${Object.entries(sentiments)
        .map(([name, count]) => `${formatNumber(count)} ${name}`)
        .join(' · ')}</p>${documentList(
        news.rows.toSorted((one, other) => rankOf(one) - rankOf(other)),
        ({ sentiment }) => sentimentText(sentiment),
      )}`,
  })

/** Filings or announcements. */
export const documentsPanel = (title: string, documents: Panel<AnnouncementRow>, empty: string): TemplateResult =>
  listPanel(title, documents, {
    empty,
    list: `/list/${title.toLowerCase()}${documents.about.day === undefined ? '' : `?is.day=${documents.about.day}`}`,
    content: () => documentList(documents.rows, ({ kind }) => html`<bdi class="soft">${kind}</bdi>`),
  })

const documentList = <R extends AnnouncementRow>(rows: readonly R[], note: (row: R) => TemplateResult): TemplateResult => {
  const list = rows.map(({ symbol }) => symbol)
  return html`<ul class="documents">${rows.map(
    (row) => html`<li>
      <p class="line"><time class="soft">${row.at.slice(11)}</time> ${stockLink(row.symbol, { name: row.name, list })} ${note(row)}</p>
      <p class="text"><bdi>${row.url === undefined ? row.title : html`<a href=${row.url} target="_blank" rel="noreferrer">${row.title}</a>`}</bdi></p>
    </li>`,
  )}</ul>`
}

/** The sentence of the day, and the numbers behind it. */
export const breadthHead = (breadth: Breadth | undefined): TemplateResult => {
  if (breadth === undefined) return html`<div class="breadth"><h1 class="soft">Market</h1><dl></dl></div>`
  const { about, listed, traded, advances, declines, unchanged, sessions } = breadth
  if (traded === 0)
    return html`<div class="breadth"><h1>No prices</h1><p class="problem">${about.problem ?? 'the folder has no candles of stocks'}</p></div>`
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
