import { html, nothing } from 'lit-html'
import type { CandlesAnswer, IndexAnswer } from '../../api/stock.js'
import { type ChartPanel, createChartPanel } from '../parts/chart-panel.js'
import { fetchJson } from '../parts/fetch-json.js'
import { formatNumber } from '../parts/format.js'
import type { View } from '../view.js'
import { findingsPanel } from './stock/findings.js'
import { priceLine } from './stock/head.js'

interface IndexData {
  readonly index: IndexAnswer
  readonly candles: CandlesAnswer
}

const createIndexView = (): View<IndexData> => {
  let chart: ChartPanel | undefined
  return {
    path: '/index/:name',
    title: ({ params }) => params.name ?? 'Index',
    enter: (page) => {
      const own = createChartPanel(page)
      chart = own
      return own.leave
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
