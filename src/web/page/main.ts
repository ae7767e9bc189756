import { html, nothing, render, type TemplateResult } from 'lit-html'
import { AS_OF, asOfLine, dayPicker } from './parts/as-of.js'
import { PageError } from './parts/fetch-json.js'
import { focusSearch, searchField } from './parts/search.js'
import { emptyState, errorState, loadingState } from './parts/states.js'
import { currentTheme, toggleTheme } from './parts/theme.js'
import { changeQuery, findView, needsSameData } from './router.js'
import type { AnyView, KeyAction, PageContext, Place } from './view.js'
import { listView } from './views/list.js'
import { marketView } from './views/market.js'
import { queryView } from './views/query.js'
import { runView } from './views/run.js'
import { oneRunView, runsView } from './views/runs.js'
import { indexView, stockView } from './views/stock.js'
import { todayView } from './views/today.js'

/** All views; a new one is one more line here. */
const views: readonly AnyView[] = [
  todayView,
  runView,
  runsView,
  oneRunView,
  marketView,
  listView,
  stockView,
  indexView,
  queryView,
]

/** A view with what has been loaded for it. */
interface Shown {
  readonly view: AnyView | undefined
  place: Place
  state: 'loading' | 'loaded' | 'failed'
  data?: unknown
  error?: unknown
  loading?: AbortController
  leave?: () => void
  /** When the data was loaded, milliseconds after the page, */
  loadedAt?: number
  /** and for which place. */
  loadedFor?: Place
  /** How far the reader had scrolled. */
  scrolled?: number
}

let shown: Shown | undefined
/**
 * What was shown at the newest entries of the history: Back and Forward show it again at once, at the same
 * place.
 */
const left = new Map<number, Shown>()
const MOST_LEFT = 20
/** Older data is loaded again. */
const FRESH_MS = 600_000
/** The next try while the server cannot be reached. */
const LOAD_AGAIN_MS = 3_000

const entryOf = (state: unknown): number => (typeof state === 'number' ? state : 0)
let entry = entryOf(history.state)
history.scrollRestoration = 'manual'
let isFramePlanned = false

/** Renders once in the next frame, however often it is called until then. */
const update = (): void => {
  if (isFramePlanned) return
  isFramePlanned = true
  requestAnimationFrame(() => {
    isFramePlanned = false
    draw()
  })
}

const draw = (): void => {
  const root = document.querySelector<HTMLElement>('#page')
  if (root === null || shown === undefined) return
  document.title =
    shown.view === undefined ? 'Not found · scripstream' : `${shown.view.title(shown.place)} · scripstream`
  render(renderShell(renderContent(shown)), root)
  if (shown.scrolled === undefined || shown.state === 'loading') return
  scrollTo(0, shown.scrolled)
  delete shown.scrolled
}

const changeTheme = (): void => {
  toggleTheme()
  update()
}

const renderContent = ({ view, state, data, error }: Shown) => {
  if (view === undefined)
    return emptyState('Not found', 'There is no such page. The links above lead to those that there are.')
  if (state === 'failed') return errorState(error, page.reload)
  if (state === 'loading') return loadingState()
  return html`${error && html`<p class="problem" role="alert">${(error as Error).message} Until then it shows what it had.</p>`}${view.render(data as never, page)}`
}

const load = (): void => {
  const current = shown
  if (current?.view === undefined) return
  current.loading?.abort()
  const loading = new AbortController()
  const loadedFor = current.place
  current.loading = loading
  current.view
    .load(current.place, loading.signal, update)
    .then(
      (data) =>
        Object.assign(current, {
          state: 'loaded',
          data,
          error: undefined,
          loadedAt: performance.now(),
          loadedFor,
        }),
      (error: unknown) => {
        if (loading.signal.aborted) return
        const hasEnded = error instanceof PageError && error.status === undefined
        Object.assign(current, {
          state: hasEnded && hasDataOf(current, loadedFor) ? 'loaded' : 'failed',
          error,
        })
        // The server may be started again.
        if (hasEnded) setTimeout(() => current === shown && load(), LOAD_AGAIN_MS)
      },
    )
    .finally(update)
}

const hasDataOf = ({ view, state, loadedFor }: Shown, place: Place): boolean =>
  view !== undefined && state === 'loaded' && loadedFor !== undefined && needsSameData(view, loadedFor, place)

/** Keeps what is shown for Back. */
const keepShown = (): void => {
  if (shown === undefined) return
  left.delete(entry)
  left.set(entry, { ...shown, scrolled: scrollY })
  const [oldest] = left.keys()
  if (left.size > MOST_LEFT && oldest !== undefined) left.delete(oldest)
}

const pushEntry = (to: string): void => {
  keepShown()
  entry += 1
  // Forward leads nowhere from here.
  for (const later of left.keys()) if (later >= entry) left.delete(later)
  history.pushState(entry, '', to)
}

/** Shows an entry of the history again. */
const goTo = ({ state }: PopStateEvent): void => {
  keepShown()
  entry = entryOf(state)
  show(left.get(entry))
}

/** Shows the place of the address bar. `before`: what was shown there. */
const show = (before?: Shown): void => {
  const found = findView(views, new URL(location.href))
  const place = found?.place ?? { path: location.pathname, params: {}, query: new URLSearchParams() }
  if (shown?.view === undefined || shown.view !== found?.view || shown.place.path !== place.path) {
    enter(found?.view, place, before)
    return
  }
  const isSame = needsSameData(shown.view, shown.place, place)
  shown.place = place
  if (!isSame) load()
  update()
}

/** Whether what was left has all that the view shows of a place. */
const isWhole = (before: Shown, wanted: AnyView | undefined, place: Place): boolean =>
  before.view === wanted && hasDataOf(before, place) && (wanted?.isWhole?.(before.data as never) ?? true)

const enter = (view: AnyView | undefined, place: Place, before?: Shown): void => {
  shown?.loading?.abort()
  shown?.leave?.()
  const isKept = before !== undefined && isWhole(before, view, place)
  shown = isKept ? { ...before, place } : { view, place, state: 'loading', scrolled: before?.scrolled ?? 0 }
  delete shown.leave
  const leave = view?.enter?.(page)
  if (leave) shown.leave = leave
  if (
    !isKept ||
    view?.isLive ||
    before.error !== undefined ||
    performance.now() - (before.loadedAt ?? 0) > FRESH_MS
  )
    load()
  update()
}

const page: PageContext = {
  get place() {
    return shown?.place ?? { path: '/', params: {}, query: new URLSearchParams() }
  },
  go: (to) => {
    // The day stays from view to view.
    const day = page.place.query.get(AS_OF)
    const url = new URL(to, location.href)
    if (day !== null && !url.searchParams.has(AS_OF)) url.searchParams.set(AS_OF, day)
    pushEntry(url.pathname + url.search)
    scrollTo(0, 0)
    show()
  },
  setQuery: (changes, isStep = false) => {
    const to = `${location.pathname}${changeQuery(page.place.query, changes)}`
    if (isStep) pushEntry(to)
    else history.replaceState(entry, '', to)
    show()
  },
  update,
  reload: load,
}

const listAllKeys = (): readonly KeyAction[] => [
  { keys: '/', about: 'search a stock or an index', act: focusSearch },
  ...HEAD_LINKS.map(([path, , key, about]) => ({ keys: `g ${key}`, about, act: () => page.go(path) })),
  ...(shown?.view?.keys?.(page) ?? []),
  { keys: '?', about: 'this list; Escape closes it', act: showKeys },
]

/** A click on a link of our own changes the place without loading the page again. */
const followLinks = (event: MouseEvent): void => {
  if (
    event.defaultPrevented ||
    event.button !== 0 ||
    event.ctrlKey ||
    event.metaKey ||
    event.shiftKey ||
    event.altKey
  )
    return
  const link = event.composedPath().find((element) => element instanceof HTMLAnchorElement)
  if (link === undefined || link.target !== '' || link.hasAttribute('download')) return
  const url = new URL(link.href, location.href)
  if (url.origin !== location.origin || url.hash !== '' || url.pathname.startsWith('/api/')) return
  event.preventDefault()
  page.go(url.pathname + url.search)
}

const HEAD_LINKS = [
  ['/', 'Today', 't', 'today'],
  ['/run', 'Run', 'r', 'the run'],
  ['/runs', 'Runs', 'l', 'the list of runs'],
  ['/market', 'Market', 'm', 'the market'],
  ['/query', 'Query', 'q', 'queries'],
] as const

/** The frame around every view. */
const renderShell = (content: TemplateResult): TemplateResult => html`
  <a class="skip" href="#main">Skip to the content</a>
  <header>
    <nav aria-label="Views">
      ${HEAD_LINKS.map(
        ([path, name]) =>
          html`<a href=${path} aria-current=${isWithin(page.place.path, path) ? 'page' : nothing}>${name}</a>`,
      )}
    </nav>
    ${document.documentElement.hasAttribute('data-simulated') ? html`<strong class="badge" title="Made up by scripstream run --simulate: no price is real">Simulated<span> data</span></strong>` : nothing}
    ${shown?.view?.hasDays ? dayPicker(page) : nothing} ${searchField(page)}
    <button class="plain keys-button" type="button" title="Keys (?)" aria-label="List of keys" @click=${showKeys}>?</button>
    <button class="plain" type="button" title="Light or dark" aria-label=${`Change to the ${currentTheme() === 'dark' ? 'light' : 'dark'} theme`} @click=${changeTheme}>◐</button>
  </header>
  <main id="main" tabindex="-1">${shown?.view?.hasDays ? asOfLine(page.place) : nothing}${content}</main>
  ${keysDialog(listAllKeys())}
`

const isWithin = (path: string, section: string): boolean =>
  path === section || (section !== '/' && path.startsWith(`${section}/`))

const keysDialog = (keys: readonly KeyAction[]): TemplateResult => html`
  <dialog id="keys" aria-label="Keys" @click=${closeOutside}>
    <form method="dialog"><h2>Keys</h2><button class="plain" aria-label="Close">✕</button></form>
    <dl>${keys.map(({ keys: key, about }) => html`<dt>${key.split(' ').map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${about}</dd>`)}</dl>
  </dialog>
`

const showKeys = (): void => document.querySelector<HTMLDialogElement>('#keys')?.showModal()

const closeOutside = ({ target, currentTarget }: Event): void => {
  if (target === currentTarget) (currentTarget as HTMLDialogElement).close()
}

/** How long the second key of a pair may take. */
const PAIR_MS = 1_200

/** Calls the action of a pressed key, unless the reader is typing. `Escape` leaves the field. */
const listenToKeys = (findActions: () => readonly KeyAction[]): void => {
  let first: { readonly key: string; readonly at: number } | undefined
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
    const field = event.target as HTMLElement
    if (isField(field)) {
      if (event.key === 'Escape') field.blur()
      return
    }
    const pair =
      first !== undefined && event.timeStamp - first.at < PAIR_MS ? `${first.key} ${event.key}` : ''
    const actions = findActions()
    const found = actions.find(({ keys }) => keys === pair) ?? actions.find(({ keys }) => keys === event.key)
    first = found === undefined ? { key: event.key, at: event.timeStamp } : undefined
    if (found === undefined) return
    event.preventDefault()
    // An open list of keys would cover what the key leads to, and keep the focus.
    document.querySelector<HTMLDialogElement>('dialog[open]')?.close()
    found.act()
  })
}

const isField = ({ tagName, isContentEditable }: HTMLElement): boolean =>
  tagName === 'INPUT' || tagName === 'TEXTAREA' || tagName === 'SELECT' || isContentEditable

document.addEventListener('click', followLinks)
addEventListener('popstate', goTo)
addEventListener('resize', update)
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  dispatchEvent(new Event('themechange'))
  update()
})
listenToKeys(listAllKeys)
show()
