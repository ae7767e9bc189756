/** The sections of changes, in the order of the summary. */
export const SECTIONS = {
  listings: 'stocks that are new in the master list, or gone from it',
  renames: 'stocks with another symbol or another ISIN',
  surveillance: 'stocks that came under surveillance, left it, or changed their stage',
  bands: 'price bands that changed',
  circuits: 'stocks that reached their circuit limit, or left it',
  deals: 'bulk and block deals that are new',
  actions: 'corporate actions that are new',
  filings: 'filings that are new',
  news: 'news that are new',
} as const

export type Section = keyof typeof SECTIONS

export const sectionNames = Object.keys(SECTIONS) as readonly Section[]

/** One difference from the state before the last run. */
export interface Change {
  readonly section: Section
  /** What happened: `new`, `gone`, `changed`; for circuits and surveillance `entered` and `left`. */
  readonly change: 'new' | 'gone' | 'changed' | 'entered' | 'left'
  readonly symbol: string
  /** The old and the new value. */
  readonly from?: string
  readonly to?: string
  /** How many filings or news are new. */
  readonly count?: number
  /** A text without the symbol. */
  readonly detail: string
}
