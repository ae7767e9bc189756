import { html, nothing, type TemplateResult } from 'lit-html'
import { searchField } from './parts/search.js'
import { currentTheme } from './parts/theme.js'
import type { KeyAction, PageContext } from './view.js'

interface Shell {
  readonly page: PageContext
  readonly content: TemplateResult
  readonly toggle: () => void
  readonly keys: readonly KeyAction[]
}

const SECTIONS = [
  ['/', 'Run'],
  ['/runs', 'Runs'],
  ['/market', 'Market'],
  ['/query', 'Query'],
] as const

/** The frame around every view. */
export const renderShell = ({ page, content, toggle, keys }: Shell): TemplateResult => html`
  <a class="skip" href="#main">Skip to the content</a>
  <header>
    <nav aria-label="Views">
      ${SECTIONS.map(
        ([path, name]) => html`<a href=${path} aria-current=${isWithin(page.place.path, path) ? 'page' : nothing}>${name}</a>`,
      )}
    </nav>
    ${searchField(page)}
    <button class="plain" type="button" title="Keys (?)" aria-label="List of keys" @click=${showKeys}>?</button>
    <button class="plain" type="button" title="Light or dark" aria-label=${`Change to the ${currentTheme() === 'dark' ? 'light' : 'dark'} theme`} @click=${toggle}>◐</button>
  </header>
  <main id="main" tabindex="-1">${content}</main>
  ${keysDialog(keys)}
`

const isWithin = (path: string, section: string): boolean => path === section || (section !== '/' && path.startsWith(`${section}/`))

const keysDialog = (keys: readonly KeyAction[]): TemplateResult => html`
  <dialog id="keys" aria-label="Keys" @click=${closeOutside}>
    <form method="dialog"><h2>Keys</h2><button class="plain" aria-label="Close">✕</button></form>
    <dl>${keys.map(({ keys: key, about }) => html`<dt>${key.split(' ').map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${about}</dd>`)}</dl>
  </dialog>
`

export const showKeys = (): void => document.querySelector<HTMLDialogElement>('#keys')?.showModal()

const closeOutside = ({ target, currentTarget }: Event): void => {
  if (target === currentTarget) (currentTarget as HTMLDialogElement).close()
}
