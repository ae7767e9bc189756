import { count, firstValueFrom, from, mergeMap, type Observable, of } from 'rxjs'
import type { RunOptions } from '../../collector.js'
import { listWrongSymbols } from '../../market/symbols.js'
import { hasAllCandles } from '../../market/update-candles.js'
import type { Item } from '../../model/outcome.js'
import { isRow } from '../../model/row.js'
import type { Settings } from '../../model/settings.js'
import { catchItemFailure } from '../../operators/catch-item-failure.js'
import { MASTER, type StreamDefinition, type Tools, toFilePath } from '../../pipeline/define-stream.js'
import { hasSelectedItems } from '../../pipeline/failed-items.js'
import { type KnownStocks, selectSymbols } from '../../pipeline/select-items.js'

/** What is known of the run and of the folder. */
export interface CountContext extends Pick<Tools, 'stored' | 'shared' | 'asOf'> {
  readonly settings: Settings
  readonly run: Pick<RunOptions, 'only' | 'skip' | 'symbols' | 'wrongSymbols' | 'pairs' | 'asOf' | 'fresh' | 'variant'>
  /** Number of stocks, if the folder has no master list. */
  readonly stocks: number | undefined
  readonly known: KnownStocks
  /** The items that the resumed run has already fetched, as `stream/file name`. */
  readonly fetched: ReadonlySet<string>
  readonly warn: (text: string) => void
}

/** The numbers of stocks and indices if no earlier run stored the lists. */
const ASSUMED: Readonly<Record<string, number>> = { [MASTER]: 2_775, 'all-indices': 194 }

/** The items that a stream offers to others by its stored rows; their number alone where no earlier run stored them. */
export const readOffered = async (source: StreamDefinition, context: CountContext): Promise<readonly Item[] | number> => {
  const { name, outputs, work, offers } = source
  const { run, settings, stored, stocks, known, warn } = context
  const file = toFilePath(outputs[0], settings.exchange, { fileName: work.parts[0]?.fileName ?? '' })
  const ignore = (reason: string): Observable<unknown> => {
    warn(reason)
    return of([])
  }
  const rows = await firstValueFrom(stored.document(file).pipe(catchItemFailure(ignore)))
  const offered = offers?.(Array.isArray(rows) ? rows.filter(isRow) : [], () => undefined) ?? []
  if (offered.length === 0) {
    const given = name === MASTER ? (run.symbols?.length ?? stocks) : undefined
    if (given === undefined) warn(`${name}: ${ASSUMED[name] ?? 'no'} items assumed, the folder has no such list.`)
    return given ?? ASSUMED[name] ?? 0
  }
  const { symbols, wrongSymbols } = name === MASTER ? run : {}
  return selectSymbols(offered, { symbols, wrongSymbols, known }, (event) => {
    if (event.type === 'warning') warn(event.text)
    if (event.type === 'wrong-symbols') warn(`not listed, or renamed: ${listWrongSymbols(event.symbols).join(', ')}`)
  })
}

/** How many items a stream has in a run, and how many of them need no request. */
export const countItems = async (stream: StreamDefinition, offered: readonly Item[] | number, context: CountContext) => {
  const { pairs = {} } = context.run
  const wanted = hasSelectedItems(stream, { pairs }) ? pairs[stream.name]?.map((key) => key.toUpperCase()) : undefined
  if (typeof offered === 'number') return { items: wanted?.length ?? offered, inPlace: 0 }
  const items = offered.filter((item) => (wanted ? wanted.includes(item.key.toUpperCase()) : (stream.work.where?.(item) ?? true)))
  // Reads a few files in parallel.
  const isInPlace$ = from(items).pipe(mergeMap((item) => isInPlace(stream, item, context), 16))
  return { items: items.length, inPlace: await firstValueFrom(isInPlace$.pipe(count(Boolean))) }
}

/** Whether an item needs no request: already fetched, candles up to date, or stored filings that `forceUpdate` does not replace. */
const isInPlace = ({ name, outputs: [output] }: StreamDefinition, item: Item, context: CountContext): Observable<boolean> => {
  const { settings, stored, fetched } = context
  const file = toFilePath(output, settings.exchange, item)
  if (fetched.has(`${name}/${item.fileName}`)) return of(true)
  if (output.shape === 'candles-per-item') return hasAllCandles(file, context)
  return name === 'company-filings' && !settings.forceUpdate ? stored.exists(file) : of(false)
}
