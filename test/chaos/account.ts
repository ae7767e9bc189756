import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CandleColumns, SampleIndex, SampleMarket, SampleStock } from '../../src/model/market.js'
import { streams } from '../../streams/registry.js'
import { createSamples, type Row, type Samples } from '../bench/provider/samples.js'

/**
 * The stored data of an item compared with the provider's right answers and with the earlier data, independent of the report: the right
 * answers, exactly the earlier data, a mix of both that lacks nothing of the earlier data, or something worse.
 */
export type State = 'right' | 'earlier' | 'both' | 'worse'

/** States by stream and item. */
export type Account = Readonly<Record<string, ReadonlyMap<string, State>>>

export interface Folders {
  readonly before: string
  readonly after: string
  /** The outputs of a run without faults, for the lists. */
  readonly clean: string
}

/** Determines the state of every stock in every stream over stocks, of every index, and of every list file. */
export const accountOf = (folders: Folders, market: SampleMarket): Account => {
  const samples = createSamples(
    streams.flatMap(({ endpoints }) => endpoints),
    market,
  )
  const ofStocks = (stateOf: (stock: SampleStock) => State) => new Map(market.stocks.map((stock) => [stock.Symbol, stateOf(stock)]))
  return {
    'all-ohlcv': ofStocks((stock) => candlesState(folders, `ohlcv_data/${stock.Symbol}.csv`, wholeHistory(market, stock.Sid))),
    'indices-ohlcv': new Map(
      market.indices.map((index) => {
        const name = indexName(index, market)
        return [name, candlesState(folders, `ohlcv_data/indices/${name}.csv`, wholeHistory(market, String(index.Sid)))]
      }),
    ),
    'market-news': ofStocks((stock) => newsState(folders, stock, samples)),
    'company-filings': ofStocks((stock) => filingsState(folders, stock, samples)),
    'fundamental-data': ofStocks(recordsState(folders, 'fundamental_data.json', (stock) => samples.rows('fundamental', stock))),
    'new-announcements': ofStocks(recordsState(folders, 'all_company_announcements.json', (stock) => samples.rows('announcements', stock))),
    'advanced-indicators': ofStocks(recordsState(folders, 'advanced_indicator_data.json', (stock) => samples.rows('indicator', stock))),
    lists: new Map(listsIn(folders.clean).map((file) => [file, listState(folders, file)])),
  }
}

/** Two indices may have the same symbol. */
const indexName = ({ Sym, Sid }: SampleIndex, { indices }: SampleMarket): string =>
  indices.filter((index) => index.Sym === Sym).length > 1 ? `${Sym}~${Sid}` : Sym

const RECORD_FILES = ['fundamental_data.json', 'all_company_announcements.json', 'advanced_indicator_data.json']

/** Lists the files at the top of a folder that have no records of single stocks. */
const listsIn = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !RECORD_FILES.includes(entry.name))
    .map(({ name }) => name)

/** Finds the stream that writes a list. Exact names come before those with placeholders. */
export const streamOfList = (file: string): string => {
  const files = streams.flatMap(({ name, outputs }) => outputs.map((output) => ({ name, file: output.file })))
  const exact = files.find((output) => output.file === file)
  const found = exact ?? files.find((output) => new RegExp(`^${output.file.replace(/\{\w+\}/g, '\\w+')}$`).test(file))
  if (found === undefined) throw new Error(`no stream writes ${file}`)
  return found.name
}

const textIn = (folder: string, file: string): string | undefined => {
  const path = join(folder, file)
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

const stateOf = ({ before, after }: Folders, file: string, isRight: (text: string | undefined) => boolean): State => {
  const now = textIn(after, file)
  if (isRight(now)) return 'right'
  return now === textIn(before, file) ? 'earlier' : 'worse'
}

const wholeHistory = (market: SampleMarket, sid: string): CandleColumns => market.candles(sid, 1, market.asOf / 1_000)

const candlesState = (folders: Folders, file: string, { Time, o, h, l, c, v }: CandleColumns): State => {
  const wanted = Time.map((time, n) => [time, o[n], h[n], l[n], c[n], v[n]].join())
  return stateOf(folders, file, (text) => sameList((text ?? '').trim().split('\n').slice(1), wanted))
}

const newsState = (folders: Folders, stock: SampleStock, { news }: Samples): State => {
  const wanted = news(stock).map((row) => {
    const { title, text } = row.news_object as Row
    return JSON.stringify([title, text, row.publish_date])
  })
  return stateOf(folders, `market_news/${stock.Symbol}_news.json`, (text) => {
    const items = text === undefined ? [] : (JSON.parse(text) as { readonly News: readonly Row[] }).News
    return sameList(
      items.map(({ Title, Summary, PublishDate }) => JSON.stringify([Title, Summary, PublishDate])),
      wanted,
    )
  })
}

/** The key of a filing in the interface document. */
const keyOf = (row: Row): string => String(row.news_id || `${row.news_date}_${row.caption || row.descriptor || 'Unknown'}`)

const filingsState = (folders: Folders, stock: SampleStock, { rows }: Samples): State => {
  const file = `company_filings/${stock.Symbol}_filings.json`
  const rowsIn = (folder: string): readonly Row[] => {
    const text = textIn(folder, file)
    return text === undefined ? [] : (JSON.parse(text) as { readonly data: readonly Row[] }).data
  }
  const [now, earlier] = [rowsIn(folders.after), rowsIn(folders.before)]
  const right = [...rows('company_filings', stock), ...rows('lodr', stock)]
  const isOf = (list: readonly Row[], known: readonly Row[]): boolean => {
    const texts = new Set(known.map((row) => JSON.stringify(row)))
    return list.every((row) => texts.has(JSON.stringify(row)))
  }
  const keys = new Set(now.map(keyOf))
  const state = stateOf(folders, file, () => isOf(now, right) && right.every((row) => keys.has(keyOf(row))))
  const isBoth = state === 'worse' && isOf(now, [...right, ...earlier]) && earlier.every((row) => keys.has(keyOf(row)))
  return isBoth ? 'both' : state
}

/** Reads files of several megabytes once for all stocks. */
const recordsState = (folders: Folders, file: string, rightOf: (stock: SampleStock) => readonly Row[]) => {
  const recordsIn = (folder: string): ReadonlyMap<string, readonly string[]> => {
    const bySymbol = new Map<string, string[]>()
    for (const { Symbol: symbol, ISIN, ...record } of JSON.parse(textIn(folder, file) ?? '[]') as readonly Row[])
      bySymbol.set(String(symbol), [...(bySymbol.get(String(symbol)) ?? []), JSON.stringify(record)])
    return bySymbol
  }
  const [now, earlier] = [recordsIn(folders.after), recordsIn(folders.before)]
  return (stock: SampleStock): State => {
    const stored = [...(now.get(stock.Symbol) ?? [])].sort()
    const right = rightOf(stock).map((row) => JSON.stringify(row))
    if (sameList(stored, [...right].sort())) return 'right'
    return sameList(stored, [...(earlier.get(stock.Symbol) ?? [])].sort()) ? 'earlier' : 'worse'
  }
}

/** A list may mix earlier and new rows, but must not lose an earlier row that is still right. */
const listState = (folders: Folders, file: string): State => {
  const clean = textIn(folders.clean, file)
  const state = stateOf(folders, file, (text) => text === clean)
  if (state !== 'worse' || !file.endsWith('.json')) return state
  const [now, right, earlier] = [folders.after, folders.clean, folders.before].map(
    (folder) => new Set((JSON.parse(textIn(folder, file) ?? '[]') as readonly unknown[]).map((row) => JSON.stringify(row))),
  ) as [Set<string>, Set<string>, Set<string>]
  const isKnown = [...now].every((row) => right.has(row) || earlier.has(row))
  return isKnown && [...earlier].every((row) => !right.has(row) || now.has(row)) ? 'both' : 'worse'
}

const sameList = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((text, place) => text === other[place])
