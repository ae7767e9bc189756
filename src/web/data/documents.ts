import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as yieldTurn } from 'node:timers/promises'
import { isRow, type Row, readText } from '../../model/row.js'
import { formatSecond, readDay } from '../../model/trading-day.js'
import type { Panel } from '../api/about.js'
import type { Announcement, DocumentsAnswer, NewsRow } from '../api/market.js'
import { getRunDay, readRunFacts } from './freshness.js'
import type { MarketFolder } from './market-folder.js'
import { toPanel } from './market-lists.js'
import { readStockNames, type StockNames } from './stocks.js'

/** The first records of files, by path, with the size and time of the file. */
type HeadCache = Map<string, { readonly stamp: string; readonly rows: readonly Row[] }>

const FILES_PER_TURN = 50
/** A file has the newest records first; a filing takes about 700 bytes. */
const HEAD_BYTES = 4_000
const MAX_PER_STOCK = 5
const MAX_SHOWN = 120

/** Filings and news of the newest day: the heads of some thousand files, of which only changed ones are read again. */
export const createDocumentsReader = (folder: MarketFolder): (() => Promise<DocumentsAnswer>) => {
  const caches: Record<'filings' | 'news', HeadCache> = { filings: new Map(), news: new Map() }
  let busy: Promise<DocumentsAnswer> | undefined
  const read = async (): Promise<DocumentsAnswer> => {
    const [facts, names] = await Promise.all([readRunFacts(folder), readStockNames(folder)])
    const runDay = getRunDay(facts)
    const filings = await readHeads(folder, names, { cache: caches.filings, fileOf: toFilingsFile, convert: toFiling })
    const news = await readHeads(folder, names, { cache: caches.news, fileOf: toNewsFile, convert: toNews })
    const panel = <R extends Announcement>(stream: string, all: readonly R[]): Panel<R> => {
      const { day, rows } = takeNewestDay(all, runDay)
      const { about, ...list } = toPanel({ facts }, stream, { rows, isMissing: all.length === 0 }, MAX_SHOWN)
      return { ...list, about: day === undefined ? about : { ...about, day } }
    }
    const ofDay = takeNewestDay(news, runDay).rows
    return { filings: panel('company-filings', filings), news: panel('market-news', ofDay), sentiments: countSentiments(ofDay) }
  }
  return () => {
    busy ??= read().finally(() => {
      busy = undefined
    })
    return busy
  }
}

export const toFilingsFile = (fileName: string): string => `company_filings/${fileName}_filings.json`
export const toNewsFile = (fileName: string): string => `market_news/${fileName}_news.json`

/** What the market page shows of a stock's filings or news. */
interface HeadSource<R> {
  readonly cache: HeadCache
  readonly fileOf: (fileName: string) => string
  readonly convert: (row: Row) => Omit<R, 'symbol' | 'name'> | undefined
}

const readHeads = async <R extends Announcement>(
  { root }: MarketFolder,
  { items }: StockNames,
  { cache, fileOf, convert }: HeadSource<R>,
): Promise<readonly R[]> => {
  const all: R[] = []
  for (const [place, { value, fileName }] of items.entries()) {
    for (const row of readHead(join(root, fileOf(fileName)), cache)) {
      const found = convert(row)
      if (found !== undefined) all.push({ symbol: value.Symbol, name: value.Name, ...found } as R)
    }
    if (place % FILES_PER_TURN === 0) await yieldTurn()
  }
  return all
}

/** The first complete records of a file; none if it does not exist or is damaged. */
const readHead = (path: string, cache: HeadCache): readonly Row[] => {
  try {
    const { size, mtimeMs } = statSync(path)
    const stamp = `${size} ${mtimeMs}`
    const known = cache.get(path)
    if (known?.stamp === stamp) return known.rows
    const rows = parseFirstRecords(readBytes(path)).slice(0, MAX_PER_STOCK).map(cutTexts)
    cache.set(path, { stamp, rows })
    return rows
  } catch {
    cache.delete(path)
    return []
  }
}

const readBytes = (path: string): string => {
  const file = openSync(path, 'r')
  try {
    const buffer = Buffer.allocUnsafe(HEAD_BYTES)
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, HEAD_BYTES, 0))
  } finally {
    closeSync(file)
  }
}

/** The records at the start of the first list in a JSON text that may be cut. */
export const parseFirstRecords = (text: string): readonly Row[] => {
  const rows: Row[] = []
  let [depth, start, isText] = [0, -1, false]
  for (let at = text.indexOf('[') + 1; at > 0 && at < text.length; at += 1) {
    const character = text[at]
    if (isText) {
      if (character === '\\') at += 1
      else if (character === '"') isText = false
    } else if (character === '"') isText = true
    else if (character === '{' || character === '[') {
      if (depth === 0) start = at
      depth += 1
    } else if (character === '}' || character === ']') {
      depth -= 1
      if (depth < 0) break
      if (depth > 0) continue
      const row: unknown = JSON.parse(text.slice(start, at + 1))
      if (isRow(row)) rows.push(row)
    }
  }
  return rows
}

/** Only what is shown stays in memory. */
const cutTexts = ({ news_date, caption, descriptor, file_url, Title, Sentiment, PublishDate }: Row): Row => ({
  ...{ news_date, caption, descriptor, file_url },
  ...{ Title, Sentiment, PublishDate },
})

const toFiling = (row: Row): Omit<Announcement, 'symbol' | 'name'> | undefined => {
  const at = readText(row.news_date).slice(0, 16)
  const [title, kind] = [readText(row.caption) || readText(row.descriptor), readText(row.descriptor)]
  if (readDay(at) === undefined || title === '') return undefined
  return { at, title, ...(kind === title ? {} : { kind }), ...toLink(row.file_url) }
}

/** Only addresses of the web; a text of the provider must not become a script. */
export const toLink = (url: unknown): { readonly url?: string } => (/^https?:\/\//i.test(readText(url)) ? { url: readText(url) } : {})

const toNews = (row: Row): Omit<NewsRow, 'symbol' | 'name'> | undefined => {
  const at = toMinute(row.PublishDate)
  const title = readText(row.Title)
  return at === undefined || title === '' ? undefined : { at, title, sentiment: readText(row.Sentiment).toLowerCase() || 'unknown' }
}

/** `YYYY-MM-DD HH:MM` in India of epoch milliseconds. */
export const toMinute = (instant: unknown): string | undefined =>
  typeof instant === 'number' && Math.abs(instant) < 8e15 ? formatSecond(instant).slice(0, 16) : undefined

/** The records of the newest day up to that of the run, newest first. News that the provider dates ahead would hide the others. */
const takeNewestDay = <R extends Announcement>(all: readonly R[], runDay = '9999') => {
  const day = all
    .map(({ at }) => at.slice(0, 10))
    .filter((one) => one <= runDay)
    .reduce<string | undefined>((newest, one) => (newest === undefined || one > newest ? one : newest), undefined)
  const rows = all.filter(({ at }) => at.startsWith(day ?? '-')).toSorted((one, other) => (one.at < other.at ? 1 : -1))
  return { day, rows }
}

const ORDER = ['negative', 'mixed', 'positive', 'neutral', 'unknown']

const countSentiments = (rows: readonly NewsRow[]): Readonly<Record<string, number>> => {
  const counts = new Map<string, number>()
  for (const { sentiment } of rows) counts.set(sentiment, (counts.get(sentiment) ?? 0) + 1)
  return Object.fromEntries([...counts].sort(([one], [other]) => ORDER.indexOf(one) - ORDER.indexOf(other)))
}
