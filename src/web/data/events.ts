import { join } from 'node:path'
import { isRow, omitUndefined, type Row, readText } from '../../model/row.js'
import { disk } from '../../storage/disk.js'
import type { About } from '../api/about.js'
import type { StockEvent } from '../api/stock.js'
import { readActions, type StoredAction } from './adjustments.js'
import { toFiling, toFilingsFile, toMinute, toNewsFile } from './documents.js'
import { describeAbout, type RunFacts } from './freshness.js'
import { catchUnreadable, type MarketFolder, type StoredList } from './market-folder.js'
import { readAnnouncements, readDeals, type StoredDeal } from './market-lists.js'
import type { StockNames } from './stocks.js'

/** A stock with what is known about symbols and runs. */
export interface StockContext {
  readonly folder: MarketFolder
  readonly facts: RunFacts
  readonly names: StockNames
  readonly item: StockNames['items'][number]
}

/** Everything dated about a stock, newest first; corporate actions may lie ahead. */
export const readEvents = async (
  context: StockContext,
): Promise<{ readonly about: readonly About[]; readonly rows: readonly StockEvent[] }> => {
  const sources = await Promise.all(SOURCES.map(async ([stream, read]) => ({ stream, list: await read(context) })))
  const about = sources
    .map(({ stream, list }) => describeSource(context.facts, stream, list))
    .filter(({ problem }) => problem !== undefined)
  const rows = sources.flatMap(({ list }) => list.rows)
  return { about, rows: rows.toSorted((one, other) => (toKey(one) < toKey(other) ? 1 : -1)) }
}

/** A stock without filings or news has no file: that is no problem unless the stream has one. */
const describeSource = (facts: RunFacts, stream: string, list: StoredList<StockEvent>): About => {
  const hasRun = facts.report?.scripts[stream] !== undefined
  return describeAbout(facts, stream, { ...list, isMissing: list.isMissing && !hasRun })
}

const toKey = ({ day, time = '' }: StockEvent): string => `${day} ${time}`

/** The records of a document of one stock, in the field `name`. */
const readDocument = (folder: MarketFolder, file: string, name: string): Promise<StoredList> =>
  catchUnreadable(file, async () => {
    const document: unknown = JSON.parse(await disk.readFile(join(folder.root, file), 'utf8'))
    const rows = isRow(document) ? document[name] : undefined
    return { rows: Array.isArray(rows) ? rows.filter(isRow) : [], isMissing: false }
  })

const convert = <R>({ rows, ...list }: StoredList<R>, toEvent: (row: R) => StockEvent | undefined): StoredList<StockEvent> => ({
  ...list,
  rows: rows.flatMap((row) => toEvent(row) ?? []),
})

type ReadEvents = (context: StockContext) => Promise<StoredList<StockEvent>>

const readFilings: ReadEvents = async ({ folder, item }) => {
  const list = convert(await readDocument(folder, toFilingsFile(item.fileName), 'data'), toFilingEvent)
  // The provider lists some documents twice, once without an id.
  const unique = new Map(list.rows.map((event) => [JSON.stringify([event.day, event.time, event.title, event.url]), event]))
  return { ...list, rows: [...unique.values()] }
}

const toFilingEvent = (row: Row): StockEvent | undefined => {
  const filing = toFiling(row)
  if (filing === undefined) return undefined
  const { at, title, kind, url } = filing
  const day = at.slice(0, 10)
  return omitUndefined({ ...({ day, kind: 'filing', mark: 'F', title } as const), time: toTime(at), detail: kind || undefined, url })
}

const toTime = (at: string): string | undefined => /^\d{4}-\d{2}-\d{2}[ T](\d{2}:\d{2})/.exec(at)?.[1]

const readNews: ReadEvents = async ({ folder, item }) =>
  convert(await readDocument(folder, toNewsFile(item.fileName), 'News'), (row) => {
    const [at, title] = [toMinute(row.PublishDate), readText(row.Title)]
    if (at === undefined || title === '') return undefined
    return omitUndefined({
      ...({ day: at.slice(0, 10), time: at.slice(11), kind: 'news', mark: 'N', title } as const),
      detail: readText(row.Summary) || undefined,
      sentiment: readText(row.Sentiment).toLowerCase() || undefined,
    })
  })

const readStockActions: ReadEvents = async ({ folder, names, item }) =>
  convert(await readActions(folder), (action) => (isOf(action, names, item) ? toActionEvent(action) : undefined))

const isOf = ({ symbol }: Pick<StoredAction, 'symbol'>, { toPresent }: StockNames, item: StockContext['item']): boolean =>
  toPresent(symbol) === item.key

const toActionEvent = ({ day, action, note }: StoredAction): StockEvent => {
  const terms = note === 'NA' ? '' : note
  const mark = /dividend/i.test(action) ? 'D' : /split|bonus|right/i.test(action) ? 'S' : 'A'
  // The provider writes a ratio, or rupees a share.
  const detail = terms === '' ? undefined : /^[\d.]+$/.test(terms) ? `₹ ${terms} a share` : terms
  return omitUndefined({ day, kind: 'action', mark, title: toSentence(action), detail } as const)
}

/** `QUARTERLY RESULT ANNOUNCEMENT` becomes `Quarterly result announcement`. */
const toSentence = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase()

const readStockDeals: ReadEvents = async ({ folder, names, item }) =>
  convert(await readDeals(folder), (deal) => (deal.isin === item.value.ISIN || isOf(deal, names, item) ? toDealEvent(deal) : undefined))

const toDealEvent = ({ day, client, side, kind, valueCr, quantity, price }: StoredDeal): StockEvent => ({
  ...({ day, kind: 'deal', mark: 'B' } as const),
  title: `${client} ${side} ${quantity.toLocaleString('en-IN')} at ₹ ${price.toLocaleString('en-IN', { minimumFractionDigits: 2 })}`,
  detail: `${kind} deal`,
  valueCr: side === 'sold' ? -valueCr : valueCr,
})

const readStockAnnouncements: ReadEvents = async ({ folder, names, item }) =>
  convert(await readAnnouncements(folder), ({ symbol, at, title, kind }) =>
    names.toPresent(symbol) === item.key
      ? omitUndefined({ ...({ day: at.slice(0, 10), kind: 'announcement', mark: 'A', title } as const), time: toTime(at), detail: kind })
      : undefined,
  )

const SOURCES: readonly (readonly [stream: string, read: ReadEvents])[] = [
  ['company-filings', readFilings],
  ['market-news', readNews],
  ['corporate-actions', readStockActions],
  ['bulk-block-deals', readStockDeals],
  ['new-announcements', readStockAnnouncements],
]
