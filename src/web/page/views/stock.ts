import { html, nothing } from 'lit-html'
import type { CandlesAnswer, IndexAnswer, StockAnswer } from '../../../show/answers.js'
import { type ChartPanel, createChartPanel } from '../parts/chart-panel.js'
import { fetchJson } from '../parts/fetch-json.js'
import { formatNumber } from '../parts/format.js'
import { findNeighbour, stockPath } from '../parts/stock-link.js'
import { changeQuery } from '../router.js'
import type { PageContext, View } from '../view.js'
import { figuresPanels, findingsPanel, priceLine, stockHead, valuationPanel } from './stock/panels.js'
import { createTimeline, type Timeline } from './stock/timeline.js'

const createStockView = (): View<{ readonly stock: StockAnswer; readonly candles: CandlesAnswer }> => {
  let chart: ChartPanel | undefined
  let timeline: Timeline | undefined
  return {
    path: '/stock/:symbol',
    title: ({ params }) => params.symbol ?? 'Stock',
    loadsOn: ['adjusted'],
    enter: (page) => {
      chart = createChartPanel(page)
      timeline = createTimeline()
      return chart.leave
    },
    load: async ({ params, query }, signal) => {
      const path = `/api/stock/${encodeURIComponent(params.symbol ?? '')}`
      const [stock, candles] = await Promise.all([
        fetchJson<StockAnswer>(path, { signal }),
        fetchJson<CandlesAnswer>(`${path}/candles?adjusted=${query.get('adjusted') === '0' ? 0 : 1}`, { signal }),
      ])
      return { stock, candles }
    },
    render: ({ stock, candles }, page) => html`
      ${stockHead(stock, page)}
      <div class="stock">
        ${chart?.render({ candles, events: stock.events.rows }, page) ?? nothing}
        ${timeline?.render(stock.events, page) ?? nothing}
        ${figuresPanels(stock)}
        <div>${valuationPanel(stock)}${findingsPanel(stock.findings, stock.price !== undefined)}</div>
      </div>
    `,
    keys: (page) => [
      { keys: '[', about: 'the previous stock of the list you came from', act: () => goTo(page, -1) },
      { keys: ']', about: 'the next stock of that list', act: () => goTo(page, 1) },
    ],
  }
}

/** The range stays from stock to stock, the chosen day does not. */
const goTo = ({ go, place: { params, query } }: PageContext, step: 1 | -1): void => {
  const next = findNeighbour(params.symbol ?? '', step)
  if (next !== undefined) go(stockPath(next) + changeQuery(new URLSearchParams(), { range: query.get('range') ?? undefined }))
}

export const stockView = createStockView()

const createIndexView = (): View<{ readonly index: IndexAnswer; readonly candles: CandlesAnswer }> => {
  let chart: ChartPanel | undefined
  return {
    path: '/index/:name',
    title: ({ params }) => params.name ?? 'Index',
    enter: (page) => {
      chart = createChartPanel(page)
      return chart.leave
    },
    load: async ({ params }, signal) => {
      const path = `/api/index/${encodeURIComponent(params.name ?? '')}`
      const [index, candles] = await Promise.all([
        fetchJson<IndexAnswer>(path, { signal }),
        fetchJson<CandlesAnswer>(`${path}/candles`, { signal }),
      ])
      return { index, candles }
    },
    render: ({ index: { name, symbol, price, findings }, candles }, page) => html`
      <div class="instrument">
        <div class="title"><h1><bdi>${name || symbol}</bdi></h1> <span class="soft"><bdi>${symbol}</bdi></span></div>
        ${price === undefined ? nothing : priceLine(price, formatNumber(price.close, 2))}
      </div>
      <div class="stock wide">
        ${chart?.render({ candles, events: NO_EVENTS }, page) ?? nothing}
        ${findings.rows.length + findings.problems.length === 0 ? nothing : findingsPanel(findings, true)}
      </div>
    `,
  }
}

/** One list, so that the chart sees that nothing has changed. */
const NO_EVENTS: readonly [] = []

export const indexView = createIndexView()
