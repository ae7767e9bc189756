import { groupBy } from '../../model/map.js'
import { isRow, type Row, readText } from '../../model/row.js'
import type { Change } from './change.js'
import type { ListVersions } from './list-changes.js'

const MAX_TITLES = 2

/** New filings of a stock. The key is the same as in the filings stream. */
export const findNewFilings = (symbol: string, before: unknown, after: unknown): readonly Change[] =>
  findNewRecords('filings', symbol, {
    before: getRows(before, 'data'),
    after: getRows(after, 'data'),
    keyOf: (row) => readText(row.news_id) || `${readText(row.news_date)}_${getFilingTitle(row)}`,
    titleOf: getFilingTitle,
    urlOf: (row) => readText(row.file_url),
  })

const getFilingTitle = (row: Row): string => readText(row.caption) || readText(row.descriptor) || 'Unknown'

/** New news items of a stock. */
export const findNewNews = (symbol: string, before: unknown, after: unknown): readonly Change[] =>
  findNewRecords('news', symbol, {
    before: getRows(before, 'News'),
    after: getRows(after, 'News'),
    keyOf: (row) => `${readText(row.PublishDate)}_${readText(row.Title)}`,
    titleOf: (row) => readText(row.Title),
    urlOf: () => '',
  })

/** New announcements of each stock. The first ones of a stock that was not listed before (the ISINs `listed`) are not new. */
export const findNewAnnouncements = ({ before, after }: ListVersions, listed: ReadonlySet<string>): readonly Change[] => {
  const old = groupBy(before, ({ ISIN }) => readText(ISIN))
  return [...groupBy(after, ({ ISIN }) => readText(ISIN))].flatMap(([isin, rows]) => {
    const known = old.get(isin)
    if (known === undefined && !listed.has(isin)) return []
    return findNewRecords('announcements', readText(rows[0]?.Symbol), {
      before: known ?? [],
      after: rows,
      keyOf: (row) => `${readText(row.date)}_${readText(row.events)}`,
      titleOf: (row) => readText(row.events),
      urlOf: () => '',
    })
  })
}

interface DocumentVersions {
  readonly before: readonly Row[]
  readonly after: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly titleOf: (row: Row) => string
  /** The address of its document; empty without one. */
  readonly urlOf: (row: Row) => string
}

const MAX_LINKS = 5

/** One change per stock, with the titles of the newest records, which are first in the document. */
const findNewRecords = (
  section: 'filings' | 'announcements' | 'news',
  symbol: string,
  { before, after, keyOf, titleOf, urlOf }: DocumentVersions,
): readonly Change[] => {
  const old = new Set(before.map(keyOf))
  // The provider lists some documents twice, once without an id.
  const fresh = [...new Map(after.filter((row) => !old.has(keyOf(row))).map((row) => [urlOf(row) || keyOf(row), row])).values()]
  if (fresh.length === 0) return []
  const documents = fresh.map((row) => ({ title: titleOf(row), url: urlOf(row) })).filter(({ url }) => /^https?:/.test(url))
  const titles = fresh.slice(0, MAX_TITLES).map(titleOf)
  const more = fresh.length > MAX_TITLES ? '; …' : ''
  const detail = `${fresh.length} new: ${titles.join('; ')}${more}`
  const links = documents.length === 0 ? {} : { documents: documents.slice(0, MAX_LINKS) }
  return [{ section, change: 'new', symbol, count: fresh.length, ...links, detail }]
}

const getRows = (document: unknown, field: string): readonly Row[] => {
  const rows = isRow(document) ? document[field] : undefined
  return Array.isArray(rows) ? rows.filter(isRow) : []
}
