import { html, nothing, type TemplateResult } from 'lit-html'
import {
  formatCrore,
  formatDay,
  formatDaysIn,
  formatNumber,
  formatPercent,
  formatQuantity,
} from '../../../model/format.js'
import type {
  IndexRow,
  MarketAnswer,
  OwnStock,
  OwnStocksAnswer,
  ResultsRow,
  SignalRow,
  TodayAnswer,
} from '../../../show/answers.js'
import type { FolderChanges, FolderState } from '../../api/state.js'
import { AS_OF, asOfPath } from '../parts/as-of.js'
import { runOf } from '../parts/days.js'
import { createLater, fetchJson, fetchPart, type Later } from '../parts/fetch-json.js'
import { changeText, emptyLine, panel, waitingPanel } from '../parts/panel.js'
import { sparkLine } from '../parts/small-charts.js'
import { whenThere } from '../parts/states.js'
import { indexPath, listLinked, runPath, stockLink } from '../parts/stock-link.js'
import { readOwnList, toggleOwn } from '../parts/storage.js'
import { describeChanges, renderAnswer, renderFix, renderLost } from '../run/answer.js'
import { type LiveStore, loadState, openLiveStore } from '../run/live-store.js'
import type { PageContext, View } from '../view.js'

/** What the view shows: the state of the folder at once, the other parts as they come. */
interface TodayData {
  readonly state: FolderState
  readonly watchlists: Readonly<Record<string, readonly string[]>>
  market?: MarketAnswer | Error
  today?: TodayAnswer | Error
  changes?: FolderChanges | Error
  /** The run of a past day. */
  run?: string
}

const BROWSER = 'this browser'
const SHOWN_INDICES = 6

/** The stocks of the chosen list. */
let own: Later<OwnStocksAnswer> | undefined

const createTodayView = (): View<TodayData> => {
  let store: LiveStore | undefined
  let last: { readonly day: string | null; readonly data: TodayData } | undefined
  return {
    path: '/',
    title: () => 'Today',
    isLive: true,
    hasDays: true,
    enter: (context) => {
      own = createLater(context.update, true)
      store = openLiveStore(context.update, context.reload)
      return () => {
        store?.close()
        own?.stop()
        store = undefined
      }
    },
    load: async (place, signal, update) => {
      // A server that has ended answers nothing any more.
      const known = store?.last() && last?.data.watchlists
      const [state, watchlists] = await Promise.all([
        loadState(store, signal),
        known ?? fetchJson<TodayData['watchlists']>('/api/watchlists', { signal }),
      ])
      const day = place.query.get(AS_OF)
      // What was there stays until its successor comes.
      const data: TodayData = { ...(last?.day === day ? last.data : {}), state, watchlists }
      last = { day, data }
      const later = (name: 'market' | 'today' | 'changes', path: string): Promise<void> =>
        fetchPart(data, name, asOfPath(path, place), { update, signal })
      if (state.last !== undefined) {
        void later('market', '/api/market').then(() => later('today', '/api/today'))
        if (day === null) void later('changes', '/api/changes')
        else
          void runOf(day).then((run) => {
            data.run = run
            if (run === '') data.changes = new Error('not recorded: no run of that day is in the log')
            return run === '' ? update() : later('changes', `/api${runPath(run)}/changes`)
          })
      }
      return data
    },
    isWhole: ({ market, today, changes }) => [market, today, changes].every((part) => part !== undefined),
    render: (data, context) => renderToday(data, context, store),
  }
}

export const todayView = createTodayView()

const renderToday = (data: TodayData, page: PageContext, store: LiveStore | undefined): TemplateResult => {
  const { state, market, today, changes } = data
  const isPast = page.place.query.has(AS_OF)
  const active = store?.active()
  return html`
    ${active && html`<p class="banner" role="status"><a href="/run">A run is in progress: ${Math.floor(active.share * 100)} % ▸</a></p>`}
    ${renderLost(store?.isLost() ?? false, active?.at, Date.now())}
    ${isPast ? nothing : html`${renderAnswer(state, 'elsewhere', Date.now())} ${renderFix(state)}`}
    ${
      state.last === undefined
        ? nothing
        : html`${renderStrip(market)}
    <div class="market">
      ${ownPanel(data, page)}
      <div>
        ${whole(today, 'Results', ({ results }) => resultsPanel(results))}
        ${whole(today, 'Ex-dates of the week', ({ actions }) => actionsPanel(actions))}
        ${signalsPanel(page, state.last?.run)}
      </div>
      <div>
        ${whole(changes, 'What changed', (answer) => changesPanel(answer, data.run === undefined ? '/run' : runPath(data.run)))}
      </div>
    </div>`
    }
  `
}

/** A part that is there, on its way, or could not be read. */
const whole = <T extends object>(
  part: T | Error | undefined,
  title: string,
  show: (part: T) => TemplateResult,
): TemplateResult => {
  if (part === undefined) return waitingPanel(title)
  return part instanceof Error
    ? panel({ title, about: { problem: part.message }, content: html`` })
    : show(part)
}

/** The indices and the market in one line. */
const renderStrip = (market: MarketAnswer | Error | undefined): TemplateResult => {
  if (market === undefined) return html`<div class="strip soft" role="status">Loading …</div>`
  if (market instanceof Error)
    return html`<div class="strip"><p class="problem" role="alert">${market.message}</p></div>`
  const { breadth, indices } = market
  return html`
    <div class="strip">
      ${indices.about.day === undefined || indices.about.day === breadth.about.day ? nothing : html`<span class="soft">Indices of ${formatDay(indices.about.day)}</span>`}
      ${indices.rows.slice(0, SHOWN_INDICES).map(indexCell)}
    </div>
    ${
      breadth.traded === 0
        ? html`<p class="problem">${breadth.about.problem ?? 'the folder has no candles of stocks'}</p>`
        : html`<p class="strip-line"><a href="/market">${formatDay(breadth.about.day)}</a>: ${formatNumber(breadth.advances)} rose, ${formatNumber(breadth.declines)} fell ·
          <a href="/market?is.tags=52-week+high">${formatQuantity(breadth.newHighs, 'new high')}</a>, <a href="/market?is.tags=52-week+low">${formatQuantity(breadth.newLows, 'new low')}</a> ·
          above the 200-day average ${formatPercent(breadth.above200Pct, 0)} · <a href="/market?part=sectors">sectors</a> · <a href="/market">all ${formatQuantity(breadth.listed, 'stock')}</a></p>`
    }
  `
}

const indexCell = ({ key, name, symbol, close, changePct, closes }: IndexRow): TemplateResult => html`
  <a href=${indexPath(key)} title=${symbol}><span class="soft"><bdi>${name || symbol}</bdi></span> <b>${formatNumber(close, 2)}</b> ${changeText(changePct, 2)} ${sparkLine(closes, { width: 96, height: 24 })}</a>
`

const resultsPanel = ({ about, rows, total, sum }: TodayAnswer['results']): TemplateResult =>
  panel({
    title: 'Results',
    about,
    total,
    list: '/list/results',
    content: html`${sum === '' ? nothing : html`<p class="soft">${sum} · <a href="/list/scoreboard">by sector</a></p>`}${
      rows.length === 0
        ? emptyLine('No results of the last days.', about)
        : html`<table>
            <thead><tr><th>Stock</th><th class="number" title="Sales against the same quarter of the year before">Sales yoy</th><th class="number" title="Sales against the quarter before">qoq</th><th class="number" title="Net profit against the same quarter of the year before">Profit yoy</th><th class="number" title="Net profit against the quarter before">qoq</th><th class="number optional" title="Return of the first session after the results">Price</th></tr></thead>
            <tbody>${rows.map(
              ({
                symbol,
                name,
                day,
                quarter = '',
                salesCr,
                profitCr,
                ...row
              }) => html`<tr title=${`${name}, ${quarter}, filed ${formatDay(day)}: sales ${formatCrore(salesCr)}, net profit ${formatCrore(profitCr)}`}>
                <td>${stockLink(symbol, { list: rows.map((one) => one.symbol) })}</td>
                ${[...listGrowth(row), row.dayReturnPct].map((value, place) => html`<td class=${place === 4 ? 'number optional' : 'number'}>${changeText(value, place === 4 ? 1 : 0)}</td>`)}</tr>`,
            )}</tbody>
          </table>
          ${rows.some(hasNoFigures) ? html`<p class="soft">Without figures while the provider still has the quarter before.</p>` : nothing}`
    }`,
  })

const listGrowth = (row: Partial<ResultsRow>) => [
  row.salesYoyPct,
  row.salesQoqPct,
  row.profitYoyPct,
  row.profitQoqPct,
]

const hasNoFigures = (row: ResultsRow): boolean => listGrowth(row).every((value) => value === undefined)

const actionsPanel = ({ about, rows, total }: TodayAnswer['actions']): TemplateResult =>
  panel({
    title: 'Ex-dates of the week',
    about: about.problem === undefined ? {} : { problem: about.problem },
    total,
    list: '/list/actions',
    content:
      rows.length === 0
        ? emptyLine('No ex-date within seven days.', about)
        : html`<table><tbody>${rows.map(
            ({ symbol, name = '', day, action, terms = '', amount }) => html`<tr>
              <td>${stockLink(symbol, { name, list: rows.map((row) => row.symbol) })}</td><td class="wide" title=${terms}>${action}${amount === undefined && terms !== '' ? html` <bdi class="soft">${terms}</bdi>` : nothing}</td>
              <td class="number">${amount === undefined ? '' : `₹ ${formatNumber(amount, 2)}`}</td><td class="number">${formatDay(day)}</td></tr>`,
          )}</tbody></table>`,
  })

/** The stocks of a watchlist: of the settings, or of this browser. */
const ownPanel = (data: TodayData, page: PageContext): TemplateResult => {
  const names = [...Object.keys(data.watchlists), BROWSER]
  const asked = page.place.query.get('list')
  const chosen = names.find((name) => name === asked) ?? names[0] ?? BROWSER
  const symbols = chosen === BROWSER ? readOwnList() : (data.watchlists[chosen] ?? [])
  const answer =
    symbols.length === 0
      ? { rows: [], unknown: [] }
      : own?.read(asOfPath(`/api/stocks?symbols=${encodeURIComponent(symbols.join(','))}`, page.place))
  const tools = html`${
    names.length === 1
      ? nothing
      : html`<select aria-label="Watchlist" @change=${(event: Event) => page.setQuery({ list: (event.target as HTMLSelectElement).value })}>${names.map((name) => html`<option .selected=${name === chosen}>${name}</option>`)}</select>`
  }`
  const content = whenThere<OwnStocksAnswer>(answer, (there) => ownTable(there, page, chosen === BROWSER))
  return panel({
    title: 'Your stocks',
    about: {},
    total: symbols.length,
    tools,
    content: html`${content}${chosen === BROWSER ? addForm(page) : nothing}`,
  })
}

const ownTable = (
  { rows, unknown, problem }: OwnStocksAnswer,
  page: PageContext,
  isOwn: boolean,
): TemplateResult => {
  const remove = (symbol: string): TemplateResult | typeof nothing =>
    isOwn
      ? html`<button type="button" class="plain" aria-label=${`Remove ${symbol}`} @click=${() => {
          toggleOwn(symbol)
          page.update()
        }}>✕</button>`
      : nothing
  if (problem !== undefined) return html`<p class="problem">${problem}</p>`
  if (rows.length + unknown.length === 0)
    return html`<p class="soft empty">The stocks that you follow, with what happened to each. Add one here, or with ☆ on its page.</p>`
  const list = rows.map(({ symbol }) => symbol)
  return html`
    <table><tbody>${rows.map(
      (stock) => html`<tr title=${stock.name}>
        <td>${stockLink(stock.symbol, { name: stock.name, list })}</td><td class="number">${formatNumber(stock.close, 2)}</td><td class="number">${changeText(stock.changePct)}</td>
        <td class="wide"><div class="clamp">${describeOwnStock(stock)}</div></td><td>${remove(stock.symbol)}</td></tr>`,
    )}</tbody></table>
    ${
      unknown.length === 0
        ? nothing
        : html`<p class="problem">In no list of this folder: ${unknown.map((symbol) => html`${symbol} ${remove(symbol)} `)}</p>`
    }
  `
}

/** What happened to a stock: its tags, then the newest events. */
const describeOwnStock = ({ circuit, asm, gsm, band, notes = [] }: OwnStock): TemplateResult => {
  const tags = [
    circuit === undefined ? '' : `${circuit} limit`,
    asm === undefined ? '' : 'ASM',
    gsm === undefined ? '' : 'GSM',
    band === undefined ? '' : `band ${band}`,
  ]
  return html`${tags.filter(Boolean).map((tag) => html`<span class="tag waiting">${tag}</span> `)}${notes.map(
    ({ day, kind, title }, index) =>
      html`${index === 0 ? nothing : ' · '}<span class="soft" title=${formatDay(day)}>${kind}</span> <bdi title=${title}>${title}</bdi>`,
  )}`
}

const addForm = (page: PageContext): TemplateResult => html`
  <form class="add" @submit=${(event: SubmitEvent) => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    const symbols = String(new FormData(form).get('symbol') ?? '')
      .toUpperCase()
      .split(/[\s,]+/)
    const known = readOwnList()
    for (const symbol of symbols) if (symbol !== '' && !known.includes(symbol)) toggleOwn(symbol)
    form.reset()
    page.update()
  }}><input name="symbol" placeholder="TCS, INFY" aria-label="Symbols to follow" autocomplete="off"> <button type="submit">Add</button></form>
`

const SHOWN_CHANGES = 12

/** What changed, stock by stock, the rarest changes first. */
const changesPanel = (changes: FolderChanges, path: string): TemplateResult => {
  const list = listLinked(changes.stocks)
  return panel({
    title: 'What changed',
    about: {},
    list: path,
    content: html`<p class="changed">${describeChanges(changes, path)}</p>
      <table><tbody>${changes.stocks.slice(0, SHOWN_CHANGES).map(
        ({ symbol, hasNoPage, changes: own }) => html`<tr>
          <td>${stockLink(symbol, { hasNoPage, list })}</td>
          <td class="wide"><div class="clamp">${own.map(({ section, detail }, place) => html`${place === 0 ? nothing : ' · '}<span class="soft">${section}</span> <bdi title=${formatDaysIn(detail)}>${formatDaysIn(detail)}</bdi>`)}</div></td></tr>`,
      )}</tbody></table>`,
  })
}

let shownSignals: Later<readonly SignalRow[]> | undefined

/** What rules found, once it is there; nothing without any. */
const signalsPanel = (page: PageContext, run = ''): TemplateResult | typeof nothing => {
  shownSignals ??= createLater(page.update, true)
  const rows = shownSignals.read(`${asOfPath('/api/signals', page.place)}#${run}`)
  if (rows === undefined || rows instanceof Error || rows.length === 0) return nothing
  return panel({
    title: 'Signals',
    about: { day: rows[0]?.day ?? '' },
    total: rows.length,
    content: html`<table><tbody>${rows.map(
      ({ rule, subject, text }) =>
        html`<tr><td>${stockLink(subject)}</td><td>${rule}</td><td class="wide"><bdi>${text}</bdi></td></tr>`,
    )}</tbody></table>`,
  })
}
