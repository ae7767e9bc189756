import { html, nothing, type TemplateResult } from 'lit-html'
import {
  formatCrore,
  formatDay,
  formatDaysIn,
  formatNumber,
  formatPart,
  formatPercent,
  formatQuantity,
  formatSigned,
} from '../../../model/format.js'
import type {
  Breadth,
  FeedAnswer,
  FeedEvent,
  FeedRow,
  ListTable,
  MarketAnswer,
} from '../../../show/answers.js'
import { asOfPath } from '../parts/as-of.js'
import { placeOf } from '../parts/column-format.js'
import { dataTable, facetChoice, followScroll, rowKeys } from '../parts/data-table.js'
import { createLater, fetchPart, type Later } from '../parts/fetch-json.js'
import { changeText, choices, dealValue, documentTitle, sentences, sentimentText } from '../parts/panel.js'
import { balanceChart } from '../parts/small-charts.js'
import { emptyState, errorState, whenThere } from '../parts/states.js'
import { stockLink, stockPath } from '../parts/stock-link.js'
import { readOwnList } from '../parts/storage.js'
import { changeQuery } from '../router.js'
import type { PageContext, View } from '../view.js'

/** The parts of the market, which come one after the other: prices first, thousands of documents last. */
interface MarketData {
  market?: MarketAnswer | Error
  stocks?: ListTable | Error
  sectors?: ListTable | Error
  indices?: ListTable | Error
  feed?: FeedAnswer | Error
  /** The stocks with those of this browser marked, and which those are. */
  own?: { readonly symbols: string; readonly of: ListTable; readonly table: ListTable }
}

/** The key of the universe in the address: it filters the stocks, and narrows the breadth and the sectors. */
const UNIVERSE_KEY = 'is.universe'

/** What is narrowed to a universe, while the view is shown. */
interface Narrowed {
  readonly market: Later<MarketAnswer>
  readonly sectors: Later<ListTable>
}

const PART_PATHS: Readonly<Record<Exclude<keyof MarketData, 'own'>, string>> = {
  market: '/api/market',
  stocks: '/api/market/stocks',
  sectors: '/api/list/sectors',
  feed: '/api/market/feed',
  indices: '/api/list/indices',
}

const MARKET_PARTS = [
  ['stocks', 'Stocks'],
  ['sectors', 'Sectors'],
  ['feed', 'What happened'],
  ['indices', 'Indices'],
] as const

/** The columns of the stocks that the menu brings. */
const HIDDEN = [
  'return_1m_pct',
  'return_1y_pct',
  'market_cap_cr',
  'pe_ttm',
  'price_day',
  'board',
  'universe',
  'stage',
  'band',
]

let narrowed: Narrowed | undefined

export const marketView: View<MarketData> = {
  path: '/market',
  title: () => 'Market',
  hasDays: true,
  enter: (page) => {
    const own: Narrowed = { market: createLater(page.update, true), sectors: createLater(page.update, true) }
    narrowed = own
    const parts = [followScroll(page), own.market.stop, own.sectors.stop]
    return () => {
      for (const leave of parts) leave()
    }
  },
  keys: rowKeys,
  load: async (place, signal, update) => {
    const data: MarketData = {}
    const fetchNamed = (name: keyof typeof PART_PATHS): Promise<void> =>
      fetchPart(data, name, asOfPath(PART_PATHS[name], place), { update, signal })
    await fetchNamed('market')
    // The part that is asked for comes first.
    const asked = partOf(place.query)
    void [asked, ...MARKET_PARTS.map(([name]) => name).filter((name) => name !== asked)].reduce(
      (before, name) => before.then(() => (signal.aborted ? undefined : fetchNamed(name))),
      Promise.resolve(),
    )
    return data
  },
  isWhole: (data) => Object.keys(PART_PATHS).every((name) => name in data),
  render: (data, page) => {
    const { market } = data
    if (market instanceof Error) return errorState(market, page.reload)
    if (market === undefined) return html``
    const { breadth } = market
    if (breadth.listed === 0)
      return emptyState(
        'Nothing is collected here yet',
        html`${breadth.about.problem && html`<b>${breadth.about.problem}</b>. `}The market needs a list of stocks and their candles. The <a href="/run">run page</a> has the command that fetches them.`,
      )
    const chosen = partOf(page.place.query)
    const universe = page.place.query.get(UNIVERSE_KEY) ?? undefined
    const choose = (part: string): void =>
      page.go(
        `/market${changeQuery(new URLSearchParams(), { part: part === 'stocks' ? undefined : part, [UNIVERSE_KEY]: universe })}`,
      )
    const own = universe === undefined ? market : readNarrowed(narrowed?.market, PART_PATHS.market, page)
    return html`
      ${whenThere(own, (answer) => renderBreadth(answer.breadth, universe))}
      <div class="tabs">${choices('Parts', MARKET_PARTS, { chosen, choose })} ${chosen === 'sectors' ? universeChoice(data, page) : nothing}</div>
      ${renderPart(data, chosen, page)}
    `
  },
}

/** What is answered about the universe of the address; undefined until it is there. */
const readNarrowed = <T>(
  later: Later<T> | undefined,
  path: string,
  { place }: PageContext,
): T | Error | undefined => {
  const name = place.query.get(UNIVERSE_KEY) ?? ''
  const universe = name === OWN_UNIVERSE ? `${OWN_UNIVERSE}:${readOwnList().join()}` : name
  return later?.read(asOfPath(`${path}?${new URLSearchParams({ universe })}`, place))
}

/** The universes of the stocks, once they are there. */
const universeChoice = (data: MarketData, page: PageContext): TemplateResult | typeof nothing =>
  data.stocks === undefined || data.stocks instanceof Error
    ? nothing
    : facetChoice(markOwn(data, data.stocks), 'universe', page)

const partOf = (query: URLSearchParams) =>
  MARKET_PARTS.find(([name]) => name === query.get('part'))?.[0] ?? 'stocks'

const renderPart = (
  data: MarketData,
  name: (typeof MARKET_PARTS)[number][0],
  page: PageContext,
): TemplateResult => {
  const isNarrowed = name === 'sectors' && page.place.query.has(UNIVERSE_KEY)
  const part = isNarrowed ? readNarrowed(narrowed?.sectors, PART_PATHS.sectors, page) : data[name]
  return whenThere<ListTable | FeedAnswer>(part, (there) =>
    'kinds' in there ? renderFeed(there, data, page) : renderPartTable(data, there, name, page),
  )
}

const renderPartTable = (
  data: MarketData,
  part: ListTable,
  name: string,
  page: PageContext,
): TemplateResult => {
  const table = name === 'stocks' ? markOwn(data, part) : part
  // The head of the view says it already.
  const headProblem = data.market instanceof Error ? undefined : data.market?.breadth.about.problem
  return html`
    ${sentences(table.warnings.filter((warning) => warning !== headProblem))}
    ${dataTable(table, page, { file: name, label: table.title, facets: table.facets, isCut: table.isCut, isNamed: true, ...(name === 'stocks' ? { hidden: HIDDEN } : {}) })}
  `
}

const OWN_UNIVERSE = 'mine'

/** The stocks of this browser are a universe of their own. */
const markOwn = (data: MarketData, of: ListTable): ListTable => {
  const list = readOwnList()
  const symbols = list.join()
  if (data.own?.of !== of || data.own.symbols !== symbols) {
    const [symbol, universe] = [placeOf(of.columns, 'symbol'), placeOf(of.columns, 'universe')]
    const mark = (row: ListTable['rows'][number]): ListTable['rows'][number] =>
      list.includes(row[symbol] ?? '')
        ? row.map((cell, place) =>
            place !== universe ? cell : cell === null ? OWN_UNIVERSE : `${cell} · ${OWN_UNIVERSE}`,
          )
        : row
    data.own = { symbols, of, table: list.length === 0 ? of : { ...of, rows: of.rows.map(mark) } }
  }
  return data.own.table
}

const FEED_STEP = 40
const plural = (kind: string, count: number): string =>
  kind === 'news' ? `${formatNumber(count)} news` : formatQuantity(count, kind)

/** What happened, grouped by stock. */
const renderFeed = (
  { day, since, stocks, kinds, rows, problems }: FeedAnswer,
  { stocks: all }: MarketData,
  page: PageContext,
): TemplateResult => {
  const most = Number(page.place.query.get('most')) || FEED_STEP
  const list = rows.map(({ symbol }) => symbol)
  const changes = all === undefined || all instanceof Error ? new Map<string, string>() : readChanges(all)
  return html`
    ${sentences(problems)}
    <p class="feed-line">${day === undefined ? 'Nothing is known.' : html`${since === undefined ? formatDay(day) : `Since the close of ${formatDay(since)}`}: ${Object.entries(kinds).map(([kind, count], place) => html`${place === 0 ? nothing : ' · '}<a href=${`/list/happened?is.kind=${encodeURIComponent(kind)}`}>${plural(kind, count)}</a>`)} of ${formatQuantity(stocks, 'stock')} · <a href="/list/netted">who sold to whom</a>`}</p>
    <div class="feed">${rows.slice(0, most).map((row) => feedStock(row, changes.get(row.symbol), list))}</div>
    ${rows.length <= most ? nothing : html`<button type="button" @click=${() => page.setQuery({ most: String(most + 2 * FEED_STEP) })}>${formatNumber(Math.min(rows.length - most, 2 * FEED_STEP))} more stocks</button>`}
  `
}

const readChanges = ({ columns, rows }: ListTable): ReadonlyMap<string, string> => {
  const [symbol, change] = [placeOf(columns, 'symbol'), placeOf(columns, 'change_pct')]
  return new Map(rows.map((row) => [row[symbol] ?? '', row[change] ?? '']))
}

const feedStock = (
  { symbol, name, total, events }: FeedRow,
  change: string | undefined,
  list: readonly string[],
): TemplateResult => html`
  <section class="documents" aria-label=${name ?? symbol}>
    <h2>${stockLink(symbol, { text: name ?? symbol, list })} <span class="soft">${symbol}</span> ${change ? changeText(Number(change)) : nothing}</h2>
    ${events.map(feedLine)}
    ${total > events.length ? html`<p><a href=${`${stockPath(symbol)}?tab=documents`}>${formatNumber(total - events.length)} more ▸</a></p>` : nothing}
  </section>
`

const feedLine = ({ time, kind, title, detail, value, url }: FeedEvent): TemplateResult => html`
  <p class="text"><span class="soft">${time ?? ''} ${kind}</span> ${kind === 'news' && detail !== undefined ? sentimentText(detail) : nothing}
    ${dealValue(value)} ${documentTitle(title, url)}</p>
`

/** The sentence of the day, and the numbers behind it. */
const renderBreadth = (breadth: Breadth, universe = ''): TemplateResult => {
  const { about, listed, traded, advances, declines, sessions } = breadth
  if (traded === 0)
    return html`<div class="breadth"><h1>No prices</h1><p class="problem">${about.problem ?? 'the folder has no candles of stocks'}</p></div>`
  return html`
    <div class="breadth">
      <h1>${formatQuantity(advances, 'stock')} rose, ${formatNumber(declines)} fell</h1>
      <p class="soft">${formatDay(about.day)}, ${describeSession(traded, listed)}${universe === '' ? nothing : html` of <b>${universe}</b>`} ${about.problem && html`<span class="problem">${formatDaysIn(about.problem)}</span>`}</p>
      ${sessions.length < 2 ? nothing : html`<figure>${balanceChart(sessions, { width: 480, height: 48 })}<figcaption class="soft">Advances and declines, ${formatNumber(sessions.length)} sessions</figcaption></figure>`}
      <dl>${Object.entries(listBreadth(breadth)).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    </div>
  `
}

const describeSession = (traded: number, listed: number): string =>
  traded === listed
    ? `all ${formatQuantity(listed, 'stock')}`
    : `${formatPart(traded, listed, 'stock')} have a candle`

const listBreadth = ({
  unchanged,
  newHighs,
  newLows,
  above50Pct,
  above200Pct,
  medianChangePct,
  turnoverCr,
}: Breadth) => ({
  Unchanged: formatNumber(unchanged),
  'Median change': medianChangePct === undefined ? '–' : `${formatSigned(medianChangePct, 2)} %`,
  '52-week highs': formatNumber(newHighs),
  '52-week lows': formatNumber(newLows),
  'Above 50-day average': formatPercent(above50Pct, 0),
  'Above 200-day average': formatPercent(above200Pct, 0),
  Turnover: formatCrore(turnoverCr),
})
