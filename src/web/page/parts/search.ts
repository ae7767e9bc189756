import { html, nothing, type TemplateResult } from 'lit-html'
import type { NamedInstrument, SearchAnswer } from '../../../show/answers.js'
import type { PageContext } from '../view.js'
import { fetchJson, PageError } from './fetch-json.js'
import { indexPath, stockPath } from './stock-link.js'

type SearchPage = Pick<PageContext, 'go' | 'update'>

/** What the field shows below itself; the page has one such field. */
let found: readonly NamedInstrument[] = []
let chosen = 0
let asked = ''
let problem = ''
let isOpen = false
let asking: AbortController | undefined

/** The search field of the header: answers as one types; arrows choose, Enter opens, Escape closes. */
export const searchField = (page: SearchPage): TemplateResult => html`
  <form class="search" role="search" @submit=${(event: SubmitEvent) => {
    event.preventDefault()
    openChosen(page)
  }}>
    <input id="search" type="search" autocomplete="off" spellcheck="false" placeholder="Stock or index" aria-label="Search a stock or an index"
      role="combobox" aria-autocomplete="list" aria-expanded=${String(isOpen)} aria-controls="search-found" aria-activedescendant=${isOpen && found.length > 0 ? `found-${chosen}` : nothing}
      @input=${() => void ask(page)} @focus=${() => void ask(page)} @keydown=${(event: KeyboardEvent) => pressKey(event, page)} @blur=${() => close(page)}>
    <kbd>/</kbd>
    <ul id="search-found" role="listbox" aria-label="Found stocks and indices" ?hidden=${!isOpen}>
      ${found.map((one, index) => option(one, index, page))}
      ${isOpen && found.length === 0 ? html`<li role="option" aria-selected="false" aria-disabled="true" class="soft">${problem || html`Nothing found for <bdi>${asked}</bdi>`}</li>` : nothing}
    </ul>
  </form>
`

const option = (
  { kind, symbol, name, isin, oldSymbol }: NamedInstrument,
  index: number,
  page: SearchPage,
): TemplateResult => html`
  <li id=${`found-${index}`} role="option" aria-selected=${String(index === chosen)}
    @mousedown=${(event: Event) => {
      event.preventDefault()
      chosen = index
      openChosen(page)
    }}>
    <bdi class="symbol">${symbol}</bdi> <bdi class="name">${name}</bdi>
    <span class="soft">${oldSymbol === undefined ? (kind === 'index' ? 'index' : isin) : html`was <bdi>${oldSymbol}</bdi>`}</span>
  </li>
`

const searchInput = (): HTMLInputElement | null => document.querySelector<HTMLInputElement>('#search')

export const focusSearch = (): void => {
  searchInput()?.focus()
  searchInput()?.select()
}

/** Asks the server; the answer to an older text is dropped. */
const ask = async (page: SearchPage): Promise<void> => {
  asking?.abort()
  asked = searchInput()?.value.trim() ?? ''
  if (asked === '') {
    close(page)
    return
  }
  const own = new AbortController()
  asking = own
  const answer = fetchJson<SearchAnswer>(`/api/search?q=${encodeURIComponent(asked)}`, { signal: own.signal })
  const result = await answer.catch((error: unknown) => {
    if (error instanceof PageError) return { found: [], problem: error.message }
    if (!own.signal.aborted) throw error
  })
  if (own.signal.aborted || result === undefined) return
  found = result.found
  problem = 'problem' in result ? result.problem : ''
  chosen = 0
  isOpen = true
  page.update()
}

const close = (page: SearchPage): void => {
  asking?.abort()
  if (!isOpen) return
  isOpen = false
  page.update()
}

const pressKey = (event: KeyboardEvent, page: SearchPage): void => {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (event.key === 'Escape') close(page)
  if (step === 0 || found.length === 0) return
  event.preventDefault()
  chosen = isOpen ? (chosen + step + found.length) % found.length : chosen
  isOpen = true
  page.update()
  requestAnimationFrame(() =>
    document.querySelector(`#found-${chosen}`)?.scrollIntoView({ block: 'nearest' }),
  )
}

/** Opens what is chosen; before the answer has come, the stock of that symbol. */
const openChosen = (page: SearchPage): void => {
  const input = searchInput()
  const text = input?.value.trim() ?? ''
  const one = isOpen && asked === text ? found[chosen] : undefined
  if (input === null || text === '') return
  close(page)
  input.value = ''
  input.blur()
  if (one?.kind === 'index') page.go(indexPath(one.key))
  else page.go(stockPath(one?.key ?? text.toUpperCase()))
}
