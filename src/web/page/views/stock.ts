import { html, nothing, type TemplateResult } from 'lit-html'
import type { CandlesAnswer, IndexAnswer, StockAnswer } from '../../../show/answers.js'
import { AS_OF, asOfPath } from '../parts/as-of.js'
import { type ChartPanel, createChartPanel } from '../parts/chart-panel.js'
import { fetchJson } from '../parts/fetch-json.js'
import { formatNumber } from '../parts/format.js'
import { choices } from '../parts/panel.js'
import { findNeighbour, stockPath } from '../parts/stock-link.js'
import { changeQuery } from '../router.js'
import type { PageContext, View } from '../view.js'
import { allHolders, allQuarters, figuresPanels, findingsPanel, priceLine, stockHead, valuationPanel } from './stock/panels.js'
import { createTimeline, type Timeline } from './stock/timeline.js'

const createStockView = (): View<{ readonly stock: StockAnswer; readonly candles: CandlesAnswer }> => {
  let chart: ChartPanel | undefined
  let timeline: Timeline | undefined
  return {
    path: '/stock/:symbol',
    title: ({ params }) => params.symbol ?? 'Stock',
    hasDays: true,
    loadsOn: ['adjusted', 'step'],
    enter: (page) => {
      chart = createChartPanel(page)
      timeline = createTimeline()
      return chart.leave
    },
    load: async ({ params, query }, signal) => {
      const path = `/api/stock/${encodeURIComponent(params.symbol ?? '')}`
      const [stock, candles] = await Promise.all([
        fetchJson<StockAnswer>(asOfPath(path, { query }), { signal }),
        fetchJson<CandlesAnswer>(
          `${path}/candles${changeQuery(new URLSearchParams(), { adjusted: query.get('adjusted') ?? undefined, step: query.get('step') ?? undefined, [AS_OF]: query.get(AS_OF) ?? undefined })}`,
          { signal },
        ),
      ])
      return { stock, candles }
    },
    render: ({ stock, candles }, page) => html`
      ${stockHead(stock, page)} ${tabs(stock, page)}
      ${
        tabOf(page)?.(stock) ??
        html`<div class="stock">
        ${chart?.render({ candles, events: stock.events.rows }, page) ?? nothing}
        ${stock.problem === undefined ? html`${timeline?.render(stock.events, page) ?? nothing}${figuresPanels(stock)}` : nothing}
        <div>${stock.problem === undefined ? valuationPanel(stock) : nothing}${findingsPanel(stock.findings, stock.price !== undefined)}</div>
      </div>`
      }
    `,
    keys: (page) => [
      { keys: '[', about: 'the previous stock of the list you came from', act: () => goTo(page, -1) },
      { keys: ']', about: 'the next stock of that list', act: () => goTo(page, 1) },
    ],
  }
}

/** What is shown instead of the chart. */
const TABS: Readonly<Record<string, (stock: StockAnswer) => TemplateResult>> = {
  quarters: allQuarters,
  holders: allHolders,
  checks: (stock) => findingsPanel(stock.findings, stock.price !== undefined, Number.POSITIVE_INFINITY),
}

/** The part of the address; unknown ones are the overview. */
const tabOf = (page: PageContext): ((stock: StockAnswer) => TemplateResult) | undefined => {
  const tab = page.place.query.get('tab') ?? ''
  return Object.hasOwn(TABS, tab) ? TABS[tab] : undefined
}

const tabs = ({ facts }: StockAnswer, page: PageContext): TemplateResult => {
  const own = page.place.query.get('tab') ?? undefined
  const choose = (tab: string): void => page.setQuery({ tab: tab === '' ? undefined : tab })
  const peers =
    facts.sector === undefined ? nothing : html`<a href=${`/list/stocks?is.sector=${encodeURIComponent(facts.sector)}`}>peers ▸</a>`
  return html`<div class="tabs">
    ${choices('Parts', [['', 'overview'], ...Object.keys(TABS).map((tab) => [tab, tab] as const)], { chosen: own ?? '', choose })} ${peers}
  </div>`
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
    hasDays: true,
    loadsOn: ['step'],
    enter: (page) => {
      chart = createChartPanel(page)
      return chart.leave
    },
    load: async ({ params, query }, signal) => {
      const path = `/api/index/${encodeURIComponent(params.name ?? '')}`
      const [index, candles] = await Promise.all([
        fetchJson<IndexAnswer>(asOfPath(path, { query }), { signal }),
        fetchJson<CandlesAnswer>(
          `${path}/candles${changeQuery(new URLSearchParams(), { step: query.get('step') ?? undefined, [AS_OF]: query.get(AS_OF) ?? undefined })}`,
          {
            signal,
          },
        ),
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
