import type { TemplateResult } from 'lit-html'

/** Where the reader is: the URL is the state of the page. */
export interface Place {
  readonly path: string
  /** The values of the `:names` in the path of the view. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

/** What a view may do with the page. */
export interface PageContext {
  readonly place: Place
  /** Opens another place, such as `/stock/TCS?range=1Y`. */
  readonly go: (to: string) => void
  /**
   * Changes the query string of this place; undefined removes a key. A new entry of Back only if `isStep`.
   */
  readonly setQuery: (changes: Readonly<Record<string, string | undefined>>, isStep?: boolean) => void
  /** Renders again in the next frame. */
  readonly update: () => void
  /** Loads the data of the view again; what is shown stays until it is there. */
  readonly reload: () => void
}

/** A key of the keyboard, for as long as the view is shown. */
export interface KeyAction {
  /** One key (`j`), or two in turn (`g r`). */
  readonly keys: string
  readonly about: string
  readonly act: () => void
}

/** One kind of page. Its data is loaded when the reader comes, and rendered from then on. */
export interface View<Data> {
  /** Such as `/stock/:symbol`. */
  readonly path: string
  readonly title: (place: Place) => string
  /** `update` renders again, for parts of the data that come later. */
  readonly load: (place: Place, signal: AbortSignal, update: () => void) => Promise<Data>
  readonly render: (data: Data, page: PageContext) => TemplateResult
  /** Keys of the query string that `load` reads: a change of one loads again, of others only renders. */
  readonly loadsOn?: readonly string[]
  /** Whether it can show a recorded day, `as-of` in the address. */
  readonly hasDays?: boolean
  /** Whether all parts of data that comes in parts are there. */
  readonly isWhole?: (data: Data) => boolean
  /** Its data is loaded again each time the reader comes back. */
  readonly isLive?: boolean
  /** Called when the view is shown; the result is called when the reader leaves it. */
  readonly enter?: (page: PageContext) => () => void
  readonly keys?: (page: PageContext) => readonly KeyAction[]
}

/** A view whatever its data: a list of views holds several kinds. */
export interface AnyView extends Omit<View<unknown>, 'render' | 'isWhole'> {
  readonly render: (data: never, page: PageContext) => TemplateResult
  readonly isWhole?: (data: never) => boolean
}
