import type { Row } from './row.js'
import type { Day } from './trading-day.js'

/** The sections of changes, in the order of the summary. */
export const SECTIONS = {
  listings: 'stocks that are new in the master list, back in it, or have left it',
  renames: 'stocks with another symbol or another ISIN',
  surveillance: 'stocks that came under surveillance, left it, or changed their stage',
  bands: 'price bands that changed',
  results: 'new quarterly results, and earlier ones that were restated',
  circuits: 'stocks that reached their circuit limit, or left it',
  deals: 'new bulk and block deals',
  actions: 'new corporate actions',
  filings: 'new filings',
  announcements: 'new announcements',
  news: 'new news items',
} as const

export type Section = keyof typeof SECTIONS

export const sectionNames = Object.keys(SECTIONS) as readonly Section[]

/** One difference from the state before the last run, or from a recorded day. */
export interface Change {
  readonly section: Section
  /**
   * What happened: `new`, `changed`; for listings also `back` (it was listed earlier) and `left`, `renamed`
   * for another symbol of the same ISIN, for circuits and surveillance `entered` and `left`.
   */
  readonly change: 'new' | 'back' | 'left' | 'renamed' | 'changed' | 'entered'
  readonly symbol: string
  /** The old and the new value. */
  readonly from?: string
  readonly to?: string
  /**
   * The first recorded day from which on a stock is listed, has left or has its name; only of a comparison of
   * days.
   */
  readonly day?: Day
  /** How many filings, announcements or news are new. */
  readonly count?: number
  /** The documents of the newest filings, as far as the provider gives an address. */
  readonly documents?: readonly { readonly title: string; readonly url: string }[]
  /** A text without the symbol. */
  readonly detail: string
}

export type ChangeText = Omit<Change, 'section' | 'symbol'>

/** What is known of a record that differs in two states. */
export interface ChangeContext {
  /** The earlier record of one that has changed. */
  readonly earlier: Row
  /** The part of the work that the file is of, such as `asm`. */
  readonly label: string
}

type ChangeWords = (record: Row, context: ChangeContext) => readonly ChangeText[]

/** Which differences between the records of a table in two states are changes, and their words. */
export interface ChangeRule {
  readonly section: Section
  /** What identifies a record: the values of fields, or a text. */
  readonly key: readonly string[] | ((record: Row) => string)
  /** The fields whose difference counts. */
  readonly columns?: readonly string[]
  /** The fields that name what a change is about, where another table of the section may have it, too. */
  readonly about?: readonly string[]
  /** Whether a record may move from one file of the table to another. */
  readonly isOneList?: true
  /** What a record that entered, changed or left is called; without words it is no change. */
  readonly entered?: ChangeWords
  readonly changed?: ChangeWords
  readonly left?: ChangeWords
  /** The title and the address of a document: the new ones of a stock are one change. */
  readonly document?: (record: Row) => { readonly title: string; readonly url?: unknown }
}
