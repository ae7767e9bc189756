import type { KeyAction } from '../view.js'

/** How long the second key of a pair may take. */
const PAIR_MS = 1_200

/** Calls the action of a pressed key, unless the reader is typing. `Escape` leaves the field. */
export const listenToKeys = (findActions: () => readonly KeyAction[]): void => {
  let first: { readonly key: string; readonly at: number } | undefined
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
    const field = event.target as HTMLElement
    if (isField(field)) {
      if (event.key === 'Escape') field.blur()
      return
    }
    const pair = first !== undefined && event.timeStamp - first.at < PAIR_MS ? `${first.key} ${event.key}` : ''
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
