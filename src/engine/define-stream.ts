import type { Observable } from 'rxjs'
import type { AnyEndpoint } from '../http/endpoint.js'
import type { Tools } from '../market/tools.js'
import type { Item, ItemResult } from '../model/outcome.js'
import { omitUndefined, type Row } from '../model/row.js'
import { checkOptionNames } from '../model/settings-issues.js'
import type { Stock } from '../model/stock.js'
import type { DeclaredOptions } from '../model/stream-options.js'
import { listPossible, type Table, type TableFacts, type TableFiles, toColumns } from '../model/table.js'
import { addDays, type Day, toDay } from '../model/trading-day.js'

export type { Tools } from '../market/tools.js'

/**
 * When a stream runs: `core` first and in sequence, then `enrichment` in parallel, with `candles` beside it
 * if `fetchOhlcv` is on.
 */
export type Phase = 'core' | 'enrichment' | 'candles'

/** How a stream divides its work into items, and the work for one item. `R` is the type of its rows. */
export interface Work<R = unknown> {
  /** The stream whose offered items are the items of this one, or `days`; without it, `parts` are. */
  readonly of?: string | undefined
  readonly parts: readonly Item[]
  /** Selects some of the items of `of`; without it, all. */
  readonly where?: ((item: Item) => boolean) | undefined
  /** The work of one item. Emits exactly once; `file` is the item's first output. */
  readonly each: (item: Item, tools: Tools, file: string) => Observable<ItemResult<R>>
}

/** A collection script as data: its endpoints, its items and its outputs. `R` is the type of its rows. */
export interface StreamDefinition<Name extends string = string, R = unknown> {
  /** The name in `--only`, in the report and of the file. */
  readonly name: Name
  /** What it collects, in a few words, for lists and tables. */
  readonly summary: string
  readonly phase: Phase
  /**
   * A built-in stream's place in lists and reports, and in the sequence of the core phase. Without one it
   * comes last.
   */
  readonly position?: number | undefined
  /** It runs only if the setting `with` or the selection of a run names it. A run without it is complete. */
  readonly optional?: true | undefined
  /** Items that are active at the same time, unless the settings override it. */
  readonly workers: number
  /**
   * Longest time without a byte of a reply, unless the settings override it; a whole reply may take six times
   * as long.
   */
  readonly timeoutMs: number
  /**
   * Every endpoint that it calls: their hosts need an address, and the simulator answers with their samples.
   */
  readonly endpoints: readonly AnyEndpoint[]
  /** Settings of its own: in the setting `options`, by its name. Its work reads them with `Tools.options`. */
  readonly options?: DeclaredOptions | undefined
  readonly work: Work<R>
  /**
   * Looks with one request whether the market has traded since its stored files were fetched: `skipped` if
   * not, `success` with the newest session, if it knows that, or `empty` if it cannot tell, without a
   * request. Stores nothing.
   */
  readonly look?: Work<R>['each'] | undefined
  /**
   * Streams that its work may wait for with `Tools.after`, because it reads their files. They must not run in
   * a later phase.
   */
  readonly after?: readonly string[] | undefined
  /** Converts its rows to items for the streams that depend on it. */
  readonly offers?: ((rows: readonly Row[], warn: Tools['warn']) => readonly Item[]) | undefined
  /**
   * Whether its outputs are those of the run's `asOf`: its requests name that day, or end there. Outputs of
   * any other stream are as the provider knows them when they are requested; a run as of an earlier session
   * does not record them for that session.
   */
  readonly followsAsOf?: boolean | undefined
  /**
   * When the data of a session is there: `HH:MM` in India on that day. If its items have a newest session, an
   * output without it is not up to date from then on, or from 18:00 by default. A list that is recorded
   * before answers for its day only while no later record has it.
   */
  readonly publishedAt?: string | undefined
  /** Its outputs. `Work.each` receives the file of the first one. */
  readonly outputs: readonly [Output<NoInfer<R>>, ...Output<NoInfer<R>>[]]
}

/**
 * Returns the definition, with its name and rows known to the compiler: `collector.stream(name)` emits rows
 * of that type.
 *
 * @example
 * export const chains = defineStream({
 *   name: 'chains', summary: 'option chains', phase: 'enrichment', workers: 10, timeoutMs: 10_000, endpoints: [chain],
 *   work: perStock((stock, { ask }) => ask(chain, { symbol: stock.Symbol }).pipe(map((rows) => createResult(rows)))),
 *   outputs: [{ shape: 'array-per-item', file: 'chains/{SYMBOL}.json' }],
 * })
 */
export const defineStream = <const Name extends string, R>(
  definition: StreamDefinition<Name, R>,
): StreamDefinition<Name, R> => definition

/** The stream that lists all stocks. It runs first; if it fails, the run stops. */
export const MASTER = 'master-data'

/**
 * Work for every stock of the master list, or for those that `where` selects. `each` emits once; a
 * `CollectError` fails only that stock, any other error stops the run.
 *
 * @throws UsageError for an option other than `where`
 * @example
 * const isTraded = ({ FnoFlag }: Stock) => FnoFlag === 1
 * perStock((stock, { ask }) => ask(chain, { symbol: stock.Symbol }).pipe(map((rows) => createResult(rows))), { where: isTraded })
 */
export const perStock = <R>(
  each: (stock: Stock, tools: Tools, file: string) => Observable<ItemResult<R>>,
  options: { readonly where?: ((stock: Stock) => boolean) | undefined } = {},
): Work<R> => {
  checkOptionNames(options, { where: true })
  const { where } = options
  return {
    of: MASTER,
    parts: [],
    ...(where ? { where: ({ value }: Item) => where(value as Stock) } : {}),
    each: ({ value }, tools, file) => each(value as Stock, tools, file),
  }
}

/**
 * Work for every row that another stream offers, once that stream has finished without failure.
 *
 * @example perRowOf('all-indices', (index, { ask }) => ask(chain, { symbol: readText(index.Sym) }).pipe(map((rows) => createResult(rows))))
 */
export const perRowOf = <R>(
  stream: string,
  each: (row: Row, tools: Tools, file: string) => Observable<ItemResult<R>>,
): Work<R> => ({
  of: stream,
  parts: [],
  each: ({ value }, tools, file) => each(value as Row, tools, file),
})

/** The source of a stream whose items are days. */
export const DAYS = 'days'

/** Whether each answer is a whole list: the items are not those of another list. */
export const isListWork = ({ of }: Pick<Work, 'of'>): boolean => of === undefined || of === DAYS

const DAYS_BACK = 30

/** The items of such a stream: the day of the run, and the 30 days before it, newest first. */
export const listDayItems = (asOf: number): readonly Item[] =>
  Array.from({ length: DAYS_BACK + 1 }, (_, rank) => {
    const day = addDays(toDay(asOf), -rank)
    return { key: day, rank, fileName: day, value: day }
  })

/**
 * Work for each of the last 31 days in India, whether there was a session or not. Each has its own file, such
 * as `deliveries/{DAY}.json`.
 *
 * @example perDay((day, { ask }) => ask(deliveries, { day }).pipe(map((rows) => createResult(rows))))
 */
export const perDay = <R>(
  each: (day: Day, tools: Tools, file: string) => Observable<ItemResult<R>>,
): Work<R> => ({
  of: DAYS,
  parts: [],
  each: ({ value }, tools, file) => each(value as Day, tools, file),
})

/**
 * Work for each of a few named parts, such as the two surveillance lists. Every part has its own file.
 *
 * @example perPart(['weekly', 'monthly'], (part, { ask }) => ask(expiries, { of: part }).pipe(map((rows) => createResult(rows))))
 */
export const perPart = <Part extends string, R>(
  parts: readonly Part[],
  each: (part: Part, tools: Tools, file: string) => Observable<ItemResult<R>>,
): Work<R> => ({
  parts: parts.map((part, rank): Item => ({ key: part, rank, fileName: part, value: part })),
  each: ({ value }, tools, file) => each(value as Part, tools, file),
})

/**
 * Work that runs once: its only item is called `all`.
 *
 * @example once(({ ask }) => ask(holidays, {}).pipe(map((rows) => createResult(rows))))
 */
export const once = <R>(each: (tools: Tools, file: string) => Observable<ItemResult<R>>): Work<R> =>
  perPart(['all'], (_, tools, file) => each(tools, file))

/**
 * An output of a stream, as data; a sink writes it. In `file`, `{exch}` is the exchange in lower case, and
 * any other placeholder is the file name of the item, as in the interface document.
 */
export type Output<R = unknown> =
  | RowsInOneFile<R>
  | ArrayPerItem<R>
  | DocumentPerItem<R>
  | CandlesPerItem
  | TextFile

interface Tabular {
  /**
   * The SQL tables over its files, for queries and exports. `{SYMBOL}` in `file` is a stock, `{INDEX}` an
   * index.
   */
  readonly tables?: readonly TableFacts[] | undefined
}

interface RecordOutput extends Tabular {
  /** Whether each session changes it, as it does the values of indices. */
  readonly changesDaily?: boolean | undefined
  /**
   * The key of its records with a day on which the market traded, such as the date of a deal: it shows that
   * this day had a session.
   */
  readonly tradedOn?: string | undefined
}

/**
 * The rows of all stocks in one JSON array, one record per line, in the order of the master list. Each record
 * has the `ISIN` of its stock: records of listed stocks that this run did not request, or that failed, are
 * carried over from the previous file.
 */
export interface RowsInOneFile<R = unknown> extends RecordOutput {
  readonly shape: 'rows-in-one-file'
  readonly file: string
  /** Sorts all records; without it, they are in the order of the master list. */
  readonly sortBy?: SortOrder<R> | undefined
  /** A stock that is answered without records keeps its earlier ones: results of a year do not vanish. */
  readonly keepsWhenEmpty?: boolean | undefined
}

/**
 * A sort key of records, greatest first unless `direction` says otherwise. A number is less than any text.
 */
export interface SortOrder<R = unknown> {
  key(row: R & Row): string | number
  readonly direction?: 'ascending' | 'descending' | undefined
}

/**
 * A JSON array for each item, one record per line. An empty array is written too; it replaces the stored file
 * unless `keepsWhenEmpty`.
 */
export interface ArrayPerItem<R = unknown> extends RecordOutput {
  readonly shape: 'array-per-item'
  readonly file: string
  /** Converts the rows of the item to the records of the file. */
  readonly select?: { of(rows: readonly (R & Row)[]): readonly unknown[] }['of'] | undefined
  /** Write `[]` if the item failed and no file is stored. */
  readonly emptyWhenLost?: boolean | undefined
  /**
   * An answer without records does not replace the stored file: a market cannot lose all its records in a
   * day.
   */
  readonly keepsWhenEmpty?: boolean | undefined
  /** An answer without records writes no file. */
  readonly omitsEmpty?: boolean | undefined
}

/** One JSON document for each item that has rows. */
export interface DocumentPerItem<R = unknown> extends Tabular {
  readonly shape: 'document-per-item'
  readonly file: string
  document(rows: readonly (R & Row)[], item: Item): unknown
}

/**
 * A CSV file of candles per item, ascending by timestamp. New candles replace the stored ones from the first
 * new timestamp on.
 */
export interface CandlesPerItem extends Tabular {
  readonly shape: 'candles-per-item'
  readonly file: string
}

/** Lines of text, each with `\n` at its end. */
export interface TextFile extends Tabular {
  readonly shape: 'text'
  readonly file: string
}

/** The file of an item, relative to the output folder. */
export const toFilePath = (
  output: Pick<Output, 'file'>,
  exchange: string,
  item: Pick<Item, 'fileName'>,
): string =>
  output.file.replace(/\{(\w+)\}/g, (_, name: string) =>
    name === 'exch' ? exchange.toLowerCase() : item.fileName,
  )

/** The SQL tables over the outputs of streams, in display order. */
export const listTables = (
  streams: readonly Pick<StreamDefinition, 'work' | 'outputs' | 'publishedAt'>[],
): readonly Table[] =>
  sortByPosition(
    streams.flatMap(({ work, outputs, publishedAt }) =>
      outputs.flatMap((output) =>
        (output.tables ?? []).map((facts) => ({ ...facts, ...omitUndefined({ publishedAt }), output, work })),
      ),
    ),
  ).map(({ about, position, columns, output, work, ...facts }) => ({
    ...facts,
    comment: about,
    shape: SHAPES[output.shape],
    files: listTableFiles(output, work),
    ...findItems(output),
    columns: columns.flatMap((part) => ('from' in part ? [part] : toColumns(part))),
    possible: Object.assign({}, ...columns.map((part) => ('from' in part ? {} : listPossible(part)))),
  }))

/** Streams or tables in the order of lists and reports; those without a position come last. */
export const sortByPosition = <P extends { readonly position?: number | undefined }>(
  all: readonly P[],
): readonly P[] => {
  const getPosition = ({ position = Number.MAX_SAFE_INTEGER }: P): number => position
  return [...all].sort((one, other) => getPosition(one) - getPosition(other))
}

const SHAPES: Readonly<Record<Output['shape'], Table['shape']>> = {
  'rows-in-one-file': 'array',
  'array-per-item': 'array',
  'document-per-item': 'document',
  'candles-per-item': 'candles',
  text: 'csv',
}

/** The placeholder of an item in the file of an output. */
export const ITEM = /\{(?!exch\})\w+\}/

/** The files of each part of the work, labelled with the part; or one path for all items. */
const listTableFiles = ({ file }: Output, { parts }: StreamDefinition['work']): readonly TableFiles[] =>
  parts.length === 0 || !ITEM.test(file)
    ? [{ path: file }]
    : parts.map(({ fileName }) => ({ path: file.replace(ITEM, () => fileName), label: fileName }))

/** The list that translates file names to symbols: of stocks for `{SYMBOL}`, of indices for `{INDEX}`. */
const findItems = ({ file }: Output): Pick<Table, 'items'> => {
  if (file.includes('{SYMBOL}')) return { items: 'stocks' }
  return file.includes('{INDEX}') ? { items: 'indices' } : {}
}
