import { html, type TemplateResult } from 'lit-html'
import type { PageContext } from '../view.js'

/** The search field of the header. */
export const searchField = ({ go }: Pick<PageContext, 'go'>): TemplateResult => html`
  <form class="search" role="search" @submit=${(event: SubmitEvent) => {
    event.preventDefault()
    const { value = '' } = searchInput() ?? {}
    if (value.trim() !== '') go(`/stock/${encodeURIComponent(value.trim().toUpperCase())}`)
  }}>
    <input id="search" type="search" autocomplete="off" spellcheck="false" placeholder="Stock or index" aria-label="Search a stock or an index">
    <kbd>/</kbd>
  </form>
`

const searchInput = (): HTMLInputElement | null => document.querySelector<HTMLInputElement>('#search')

export const focusSearch = (): void => searchInput()?.select()
