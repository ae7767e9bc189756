import { html, nothing, type TemplateResult } from 'lit-html'
import { formatNumber } from '../../../model/format.js'
import type { CandlesAnswer, IndexAnswer, ListTable, StockAnswer } from '../../../show/answers.js'
import { AS_OF, asOfPath } from '../parts/as-of.js'
import { type ChartPanel, createChartPanel } from '../parts/chart-panel.js'
import { dataTable, followScroll, rowKeys } from '../parts/data-table.js'
import { createLater, fetchJson, type Later } from '../parts/fetch-json.js'
import { choices, sentences } from '../parts/panel.js'
import { whenThere } from '../parts/states.js'
import { findNeighbour, indexPath, stockPath } from '../parts/stock-link.js'
import { changeQuery } from '../router.js'
import type { PageContext, Place, View } from '../view.js'
import {
  figuresPanels,
  findingsPanel,
  priceLine,
  renderTimeline,
  stockHead,
  valuationPanel,
} from './stock/panels.js'

type Instrument<T> = readonly [answer: T, candles: CandlesAnswer]

/** A stock or an index with its candles. */
const loadInstrument = <T>(path: string, { query }: Place, signal: AbortSignal): Promise<Instrument<T>> => {
  const wishes = Object.fromEntries(
    ['adjusted', 'step', AS_OF].map((key) => [key, query.get(key) ?? undefined]),
  )
  return Promise.all([
    fetchJson<T>(asOfPath(`/api${path}`, { query }), { signal }),
    fetchJson<CandlesAnswer>(`/api${path}/candles${changeQuery(new URLSearchParams(), wishes)}`, { signal }),
  ])
}

const createStockView = (): View<Instrument<StockAnswer>> => {
  let chart: ChartPanel | undefined
  let list: Later<ListTable> | undefined
  return {
    path: '/stock/:symbol',
    title: ({ params }) => params.symbol ?? 'Stock',
    hasDays: true,
    loadsOn: ['adjusted', 'step'],
    enter: (page) => {
      chart = createChartPanel(page)
      list = createLater(page.update)
      const parts = [chart.leave, list.stop, followScroll(page)]
      return () => {
        for (const leave of parts) leave()
      }
    },
    load: (place, signal) => loadInstrument(stockPath(place.params.symbol ?? ''), place, signal),
    render: ([stock, candles], page) => {
      const tab = tabOf(page)
      const head = html`${stockHead(stock, page)} ${tabs(page)}`
      if (tab === 'checks')
        return html`${head}${findingsPanel(stock.findings, stock.price !== undefined, Number.POSITIVE_INFINITY)}`
      if (tab !== 'overview') {
        const own = list?.read(asOfPath(`/api${stockPath(stock.symbol)}/list/${tab}`, page.place))
        return html`${head}${whenThere(own, (there) => renderList(there, tab, page))}`
      }
      return html`${head}<div class="stock">
        ${chart?.render({ candles, events: stock.events.rows }, page) ?? nothing}
        ${stock.problem === undefined ? html`${renderTimeline(stock.events, page)}${figuresPanels(stock)}` : nothing}
        <div>${stock.problem === undefined ? valuationPanel(stock) : nothing}${findingsPanel(stock.findings, stock.price !== undefined)}</div>
      </div>`
    },
    keys: (page) => [
      {
        keys: '[',
        about: 'the previous stock of the list you came from',
        act: () => goToNeighbour(page, -1),
      },
      { keys: ']', about: 'the next stock of that list', act: () => goToNeighbour(page, 1) },
      ...rowKeys(),
    ],
  }
}

/** The parts of the page of a stock. All but the first and the last are lists. */
const TABS = ['overview', 'quarters', 'years', 'holders', 'documents', 'deals', 'peers', 'checks'].map(
  (tab) => [tab, tab] as const,
)

/** The part of the address; unknown ones are the overview. */
const tabOf = ({ place: { query } }: PageContext): string =>
  TABS.find(([tab]) => tab === query.get('tab'))?.[0] ?? 'overview'

const tabs = (page: PageContext): TemplateResult => {
  // What sorts and filters a list is no use for another one.
  const isOfList = (key: string): boolean => /^(?:sort|find|hide|tab|is\..*)$/.test(key)
  const others = Object.fromEntries(
    [...page.place.query.keys()].filter(isOfList).map((key) => [key, undefined]),
  )
  const choose = (tab: string): void =>
    page.setQuery({ ...others, tab: tab === 'overview' ? undefined : tab })
  return html`<div class="tabs">${choices('Parts', TABS, { chosen: tabOf(page), choose })}</div>`
}

/** A list of a stock, such as its deals. */
const renderList = (list: ListTable, tab: string, page: PageContext): TemplateResult => html`
    <p class="list-head soft">${list.about}. <a href=${`/query?sql=${encodeURIComponent(list.sql)}`}>As a query</a></p>
    ${sentences(list.warnings)}
    ${dataTable(list, page, { file: `${page.place.params.symbol ?? ''}-${tab}`, label: list.title, facets: list.facets, isCut: list.isCut, isNamed: true })}
  `

/** All but the chosen day stays from stock to stock. */
const goToNeighbour = ({ go, place: { params, query } }: PageContext, step: 1 | -1): void => {
  const next = findNeighbour(params.symbol ?? '', step)
  if (next !== undefined) go(stockPath(next) + changeQuery(query, { day: undefined }))
}

export const stockView = createStockView()

const createIndexView = (): View<Instrument<IndexAnswer>> => {
  let chart: ChartPanel | undefined
  return {
    path: '/index/:name',
    title: ({ params }) => params.name ?? 'Index',
    hasDays: true,
    loadsOn: ['step'],
    enter: (page) => {
      chart = createChartPanel(page)
      return chart.leave
    },
    load: (place, signal) => loadInstrument(indexPath(place.params.name ?? ''), place, signal),
    render: ([{ name, symbol, price, findings }, candles], page) => html`
      <div class="instrument">
        <div class="title"><h1><bdi>${name || symbol}</bdi></h1> <span class="soft"><bdi>${symbol}</bdi></span></div>
        ${price && priceLine(price, formatNumber(price.close, 2))}
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
