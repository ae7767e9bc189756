import { isRow, type Row, readText } from '../../model/row.js'
import type { Change } from './change.js'

const MAX_TITLES = 2

/** New filings of a stock. The key is the same as in the filings stream. */
export const findNewFilings = (symbol: string, before: unknown, after: unknown): readonly Change[] =>
  findNewRecords('filings', symbol, {
    before: getRows(before, 'data'),
    after: getRows(after, 'data'),
    keyOf: (row) => readText(row.news_id) || `${readText(row.news_date)}_${getFilingTitle(row)}`,
    titleOf: getFilingTitle,
  })

const getFilingTitle = (row: Row): string => readText(row.caption) || readText(row.descriptor) || 'Unknown'

/** New news items of a stock. */
export const findNewNews = (symbol: string, before: unknown, after: unknown): readonly Change[] =>
  findNewRecords('news', symbol, {
    before: getRows(before, 'News'),
    after: getRows(after, 'News'),
    keyOf: (row) => `${readText(row.PublishDate)}_${readText(row.Title)}`,
    titleOf: (row) => readText(row.Title),
  })

interface DocumentVersions {
  readonly before: readonly Row[]
  readonly after: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly titleOf: (row: Row) => string
}

/** One change per stock, with the titles of the newest records, which are first in the document. */
const findNewRecords = (
  section: 'filings' | 'news',
  symbol: string,
  { before, after, keyOf, titleOf }: DocumentVersions,
): readonly Change[] => {
  const old = new Set(before.map(keyOf))
  const fresh = after.filter((row) => !old.has(keyOf(row)))
  if (fresh.length === 0) return []
  const titles = fresh.slice(0, MAX_TITLES).map(titleOf)
  const more = fresh.length > MAX_TITLES ? '; …' : ''
  return [{ section, change: 'new', symbol, count: fresh.length, detail: `${fresh.length} new: ${titles.join('; ')}${more}` }]
}

const getRows = (document: unknown, field: string): readonly Row[] => {
  const rows = isRow(document) ? document[field] : undefined
  return Array.isArray(rows) ? rows.filter(isRow) : []
}
