import { html, nothing } from 'lit-html'
import type { CandlesAnswer, StockAnswer } from '../../api/stock.js'
import { type ChartPanel, createChartPanel } from '../parts/chart-panel.js'
import { fetchJson } from '../parts/fetch-json.js'
import { findNeighbour, stockPath } from '../parts/stock-link.js'
import type { PageContext, View } from '../view.js'
import { figuresPanels, valuationPanel } from './stock/figures.js'
import { findingsPanel } from './stock/findings.js'
import { stockHead } from './stock/head.js'
import { createTimeline, type Timeline } from './stock/timeline.js'

interface StockData {
  readonly stock: StockAnswer
  readonly candles: CandlesAnswer
}

const createStockView = (): View<StockData> => {
  let chart: ChartPanel | undefined
  let timeline: Timeline | undefined
  return {
    path: '/stock/:symbol',
    title: ({ params }) => params.symbol ?? 'Stock',
    loadsOn: ['adjusted'],
    enter: (page) => {
      const own = createChartPanel(page)
      chart = own
      timeline = createTimeline()
      return own.leave
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
      ${stockHead(stock)}
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

const goTo = ({ go, place }: PageContext, step: 1 | -1): void => {
  const next = findNeighbour(place.params.symbol ?? '', step)
  if (next !== undefined) go(stockPath(next) + keepChoices(place.query))
}

/** The range stays from stock to stock, the chosen day does not. */
const keepChoices = (query: URLSearchParams): string => {
  const range = query.get('range')
  return range === null ? '' : `?range=${encodeURIComponent(range)}`
}

export const stockView = createStockView()
