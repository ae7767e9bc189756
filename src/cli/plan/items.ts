import { concatMap, count, from, map, mergeMap, type Observable, of, switchMap, toArray } from 'rxjs'
import type { RunOptions } from '../../collector.js'
import { listWrongSymbols } from '../../market/symbols.js'
import { hasAllCandles } from '../../market/update-candles.js'
import type { Item } from '../../model/outcome.js'
import { isRow, type Row } from '../../model/row.js'
import type { Settings } from '../../model/settings.js'
import { catchItemFailure } from '../../operators/catch-item-failure.js'
import { MASTER, type StreamDefinition, type Tools, toFilePath } from '../../pipeline/define-stream.js'
import { hasSelectedItems } from '../../pipeline/failed-items.js'
import { type KnownStocks, selectSymbols } from '../../pipeline/select-items.js'
import type { Stored } from '../../pipeline/storage.js'
import type { ItemNumbers, LatencyEstimate } from './estimate.js'

/** A list of items. */
interface Worklist extends Pick<ItemNumbers, 'known'> {
  readonly number: number
  /** Absent if only their number is known. */
  readonly items?: readonly Item[]
}

/** What to plan. */
export interface PlanInput {
  readonly streams: readonly StreamDefinition[]
  readonly settings: Settings
  readonly stored: Stored
  readonly run: Pick<RunOptions, 'only' | 'skip' | 'symbols' | 'wrongSymbols' | 'pairs' | 'asOf' | 'fresh' | 'variant'>
  /** Number of stocks, if the folder has no master list. */
  readonly stocks: number | undefined
  /** The time of a request, if given or simulated. */
  readonly latency: LatencyEstimate | undefined
  /** The current instant, epoch milliseconds. */
  readonly now: number
}

export interface CountContext extends PlanInput, Pick<Tools, 'shared' | 'asOf'> {
  /** The items that the resumed run has already fetched, as `stream/file name`. */
  readonly fetched: ReadonlySet<string>
  readonly warn: (text: string) => void
  /** What the folder knows about the symbols of the run. */
  readonly known: KnownStocks
}

/** Assumed number of items if no earlier run stored the list. */
const DEFAULT_NUMBERS: Readonly<Record<string, number>> = { [MASTER]: 2_775, 'all-indices': 194 }

/** The items of each stream: of the list that it follows, or its own parts. `stocks` is null if no stream follows the master list. */
export const countItems = (streams: readonly StreamDefinition[], context: CountContext) =>
  from(streams.filter(({ name }) => streams.some(({ work }) => work.of === name))).pipe(
    concatMap((source) => readStoredRows(source, context).pipe(map((rows) => [source.name, toWorklist(source, rows, context)] as const))),
    toArray(),
    switchMap((entries) => {
      const lists = new Map(entries)
      const stocks = lists.get(MASTER)
      return from(streams).pipe(
        concatMap((stream) => countStreamItems(stream, lists.get(stream.work.of ?? ''), context)),
        toArray(),
        map((counted) => ({ counted, stocks: stocks ? { number: stocks.number, known: stocks.known } : null })),
      )
    }),
  )

/** The stored rows of a stream, from which it makes the items that it offers. An unreadable file counts as empty. */
const readStoredRows = ({ outputs, work }: StreamDefinition, { stored, settings, warn }: CountContext): Observable<readonly Row[]> =>
  stored.document(toFilePath(outputs[0], settings.exchange, { fileName: work.parts[0]?.fileName ?? '' })).pipe(
    map((rows) => (Array.isArray(rows) ? rows.filter(isRow) : [])),
    catchItemFailure((reason) => {
      warn(reason)
      return of([])
    }),
  )

const toWorklist = ({ name, offers }: StreamDefinition, rows: readonly Row[], { run, stocks, known, warn }: CountContext): Worklist => {
  const [symbols, given] = name === MASTER ? [run.symbols, run.symbols?.length ?? stocks] : []
  const offered = offers?.(rows, () => undefined) ?? []
  if (offered.length > 0) {
    const request = { symbols, wrongSymbols: run.wrongSymbols, known }
    const items = selectSymbols(offered, request, (event) => {
      if (event.type === 'warning') warn(event.text)
      if (event.type === 'wrong-symbols') warn(`not listed, or renamed: ${listWrongSymbols(event.symbols).join(', ')}`)
    })
    return { number: items.length, known: 'stored', items }
  }
  if (given !== undefined) return { number: given, known: 'given' }
  const assumed = DEFAULT_NUMBERS[name]
  if (name !== MASTER) warn(`${name}: ${assumed === undefined ? 'not counted' : `${assumed} items assumed`}, the folder has no such list.`)
  return { number: assumed ?? 0, known: assumed === undefined ? 'unknown' : 'assumed' }
}

const countStreamItems = (stream: StreamDefinition, list: Worklist | undefined, context: CountContext): Observable<ItemNumbers> => {
  const { parts, where = () => true } = stream.work
  const { number, known, items: listed }: Worklist = list ?? { number: parts.length, known: 'given', items: parts }
  const { pairs = {} } = context.run
  const wanted = hasSelectedItems(stream, { pairs }) ? pairs[stream.name]?.map((key) => key.toUpperCase()) : undefined
  if (listed === undefined) return of({ stream, items: wanted?.length ?? number, inPlace: 0, known })
  const items = wanted ? listed.filter(({ key }) => wanted.includes(key.toUpperCase())) : listed.filter(where)
  return from(items).pipe(
    // Reads a few files in parallel.
    mergeMap((item) => isInPlace(stream, item, context), 16),
    count(Boolean),
    map((inPlace) => ({ stream, items: items.length, inPlace, known })),
  )
}

/** Whether an item needs no request: already fetched, candles up to date, or stored filings that `forceUpdate` does not replace. */
const isInPlace = ({ name, outputs: [output] }: StreamDefinition, item: Item, context: CountContext): Observable<boolean> => {
  const { settings, stored, fetched } = context
  const file = toFilePath(output, settings.exchange, item)
  if (fetched.has(`${name}/${item.fileName}`)) return of(true)
  if (output.shape === 'candles-per-item') return hasAllCandles(file, context)
  return name === 'company-filings' && !settings.forceUpdate ? stored.exists(file) : of(false)
}
