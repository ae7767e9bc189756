import type { Change, ChangeRule, Section } from '../../model/change.js'
import { type Row, readText } from '../../model/row.js'
import type { Table } from '../../model/table.js'
import { compareRows, type RowChange, toRowKey } from './compare-rows.js'
import { findSymbolField } from './listings.js'

export type ComparedTable = Table & { readonly changes: ChangeRule }

/** The tables with changes of a section. Of two tables of a section, the first one comes first. */
export const listCompared = (tables: readonly Table[], section: Section): readonly ComparedTable[] =>
  tables.filter((table): table is ComparedTable => table.changes?.section === section)

export interface ListVersions {
  readonly before: readonly Row[]
  readonly after: readonly Row[]
}

/** A record that is there twice counts once. */
const compareRecords = (
  { key, columns = [] }: ChangeRule,
  { before, after }: ListVersions,
): readonly RowChange[] => {
  const toKey = typeof key === 'function' ? key : (row: Row) => toRowKey(row, key)
  const index = (rows: readonly Row[]) => new Map(rows.map((row) => [toKey(row), row]))
  return compareRows(index(before), index(after), columns)
}

/**
 * The changes in the lists of a table, which are in the order of its files. `reported`: what other tables of
 * the section have changes about; that of this one is added.
 */
export const compareLists = (
  { changes: rule, files }: ComparedTable,
  versions: readonly ListVersions[],
  reported: Set<string>,
): readonly Change[] => {
  const compare = (list: ListVersions, label = ''): readonly Change[] =>
    compareRecords(rule, list).flatMap(({ change, row, from: earlier }) => {
      const texts = rule[change]?.(row, { earlier, label }) ?? []
      const about = rule.about && toRowKey(row, rule.about)
      if (texts.length === 0 || (about !== undefined && reported.has(about))) return []
      if (about !== undefined) reported.add(about)
      const [section, symbol] = [rule.section, readText(row[findSymbolField(row)])]
      return texts.map(({ change, ...text }): Change => ({ section, change, symbol, ...text }))
    })
  return rule.isOneList
    ? compare({
        before: versions.flatMap(({ before }) => before),
        after: versions.flatMap(({ after }) => after),
      })
    : versions.flatMap((one, place) => compare(one, files[place]?.label))
}

const MAX_TITLES = 2
const MAX_LINKS = 5

/** One change for the new documents of a stock, with the titles of the newest, which are first. */
export const compareDocuments = (
  rule: ChangeRule,
  symbol: string,
  versions: ListVersions,
): readonly Change[] => {
  const entered = compareRecords(rule, versions).flatMap(
    ({ change, row }) => (change === 'entered' && rule.document?.(row)) || [],
  )
  const named = entered.map(({ title, url }) => ({ title, url: readText(url) }))
  // The provider lists some documents twice, once without an id.
  const documents = [...new Map(named.map((one, place) => [one.url || place, one])).values()]
  if (documents.length === 0) return []
  const titles = documents.slice(0, MAX_TITLES).map(({ title }) => title)
  const detail = `${documents.length} new: ${titles.join('; ')}${documents.length > MAX_TITLES ? '; …' : ''}`
  const links = documents.filter(({ url }) => /^https?:/.test(url)).slice(0, MAX_LINKS)
  return [
    {
      section: rule.section,
      change: 'new',
      symbol,
      count: documents.length,
      ...(links.length > 0 && { documents: links }),
      detail,
    },
  ]
}
