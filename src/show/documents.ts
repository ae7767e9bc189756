import { join } from 'node:path'
import { isRow, omitUndefined, type Row, readText } from '../model/row.js'
import { formatSecond, readDay } from '../model/trading-day.js'
import { disk } from '../storage/disk.js'
import { yieldTurn } from '../storage/file-system.js'
import type { AnnouncementRow, DocumentsAnswer, NewsRow, Panel } from './answers.js'
import type { MarketFolder } from './folder.js'
import { getRunDay, readRunFacts } from './freshness.js'
import { ofDay, takeNewestDay, toPanel } from './lists.js'
import { toLink } from './stock-tables.js'
import { readStockNames, type StockNames } from './stocks.js'

/** A document without its stock. */
type Found<R> = Omit<R, 'symbol' | 'name'>

/** The first documents of files, by path, with the size and time of the file; only what is shown of them. */
type HeadCache<R> = Map<string, { readonly stamp: string; readonly documents: readonly Found<R>[] }>

const FILES_PER_TURN = 50
/** A file has the newest records first; a filing takes about 700 bytes. */
const HEAD_BYTES = 4_000
const MAX_PER_STOCK = 5
const MAX_SHOWN = 120

/** Filings and news of the newest day: the heads of some thousand files, of which only changed ones are read again. */
export const createDocumentsReader = (folder: MarketFolder): (() => Promise<DocumentsAnswer>) => {
  const filingSource: HeadSource<AnnouncementRow> = { cache: new Map(), fileOf: toFilingsFile, convert: toFiling }
  const newsSource: HeadSource<NewsRow> = { cache: new Map(), fileOf: toNewsFile, convert: toNews }
  let busy: Promise<DocumentsAnswer> | undefined
  const read = async (): Promise<DocumentsAnswer> => {
    const [facts, names] = await Promise.all([readRunFacts(folder), readStockNames(folder)])
    const runDay = getRunDay(facts)
    const filings = await readHeads(folder, names, filingSource)
    const news = await readHeads(folder, names, newsSource)
    const panel = <R extends AnnouncementRow>(stream: string, all: readonly R[]): Panel<R> => {
      const { day, rows } = takeNewestDay(all, runDay)
      return ofDay(toPanel({ facts }, stream, { rows, isMissing: all.length === 0 }, MAX_SHOWN), day)
    }
    const newest = takeNewestDay(news, runDay).rows
    return { filings: panel('company-filings', filings), news: panel('market-news', newest), sentiments: countSentiments(newest) }
  }
  return () => {
    busy ??= read().finally(() => {
      busy = undefined
    })
    return busy
  }
}

const toFilingsFile = (fileName: string): string => `company_filings/${fileName}_filings.json`
const toNewsFile = (fileName: string): string => `market_news/${fileName}_news.json`

/** What the market page shows of a stock's filings or news. */
interface HeadSource<R> {
  readonly cache: HeadCache<R>
  readonly fileOf: (fileName: string) => string
  readonly convert: (row: Row) => Found<R> | undefined
}

const readHeads = async <R extends AnnouncementRow>(
  { root }: MarketFolder,
  { items }: StockNames,
  source: HeadSource<R>,
): Promise<readonly R[]> => {
  const all: R[] = []
  // Used for each file in turn: to collect the memory of thousands of files takes longer than to read them.
  const memory = Buffer.allocUnsafe(HEAD_BYTES)
  for (const [place, { value, fileName }] of items.entries()) {
    for (const found of readHead(join(root, source.fileOf(fileName)), source, memory))
      all.push({ symbol: value.Symbol, name: value.Name, ...found } as R)
    if (place % FILES_PER_TURN === 0) await yieldTurn()
  }
  return all
}

/** The first complete documents of a file; none if it does not exist or is damaged. */
const readHead = <R>(path: string, { cache, convert }: HeadSource<R>, memory: Buffer): readonly Found<R>[] => {
  try {
    const { size, mtimeMs } = disk.statSync(path)
    const stamp = `${size} ${mtimeMs}`
    const known = cache.get(path)
    if (known?.stamp === stamp) return known.documents
    const documents = parseFirstRecords(readBytes(path, memory), MAX_PER_STOCK).flatMap((row) => convert(row) ?? [])
    cache.set(path, { stamp, documents })
    return documents
  } catch {
    cache.delete(path)
    return []
  }
}

const readBytes = (path: string, memory: Buffer): string => {
  const file = disk.openSync(path, 'r')
  try {
    return memory.toString('utf8', 0, disk.readSync(file, memory, 0, HEAD_BYTES, 0))
  } finally {
    disk.closeSync(file)
  }
}

/** The records at the start of the first list in a JSON text that may be cut. */
export const parseFirstRecords = (text: string, most = Number.POSITIVE_INFINITY): readonly Row[] => {
  const rows: Row[] = []
  let [depth, start] = [0, -1]
  for (let at = text.indexOf('[') + 1; at > 0 && at < text.length && rows.length < most; at += 1) {
    const character = text[at]
    if (character === '"') {
      at = findTextEnd(text, at)
    } else if (character === '{' || character === '[') {
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

/** Where the text that starts at a quote ends: at the next quote behind an even number of backslashes. */
const findTextEnd = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text[before - 1] === '\\') before -= 1
    if ((end - before) % 2 === 0) return end
  }
  return text.length
}

const toFiling = (row: Row): Found<AnnouncementRow> | undefined => {
  const at = readText(row.news_date).slice(0, 16)
  const [title, kind] = [readText(row.caption) || readText(row.descriptor), readText(row.descriptor)]
  if (readDay(at) === undefined || title === '') return undefined
  return { at, title, ...(kind === title ? {} : { kind }), ...omitUndefined({ url: toLink(row.file_url) }) }
}

const toNews = (row: Row): Found<NewsRow> | undefined => {
  const at = toMinute(row.PublishDate)
  const title = readText(row.Title)
  return at === undefined || title === '' ? undefined : { at, title, sentiment: readText(row.Sentiment).toLowerCase() || 'unknown' }
}

/** `YYYY-MM-DD HH:MM` in India of epoch milliseconds. */
const toMinute = (instant: unknown): string | undefined =>
  typeof instant === 'number' && Math.abs(instant) < 8e15 ? formatSecond(instant).slice(0, 16) : undefined

const ORDER = ['negative', 'mixed', 'positive', 'neutral', 'unknown']

const countSentiments = (rows: readonly NewsRow[]): Readonly<Record<string, number>> => {
  const counts = new Map<string, number>()
  for (const { sentiment } of rows) counts.set(sentiment, (counts.get(sentiment) ?? 0) + 1)
  return Object.fromEntries([...counts].sort(([one], [other]) => ORDER.indexOf(one) - ORDER.indexOf(other)))
}
