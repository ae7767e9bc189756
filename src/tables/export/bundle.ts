import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { UsageError } from '../../model/errors.js'
import { groupBy } from '../../model/map.js'
import { createFileNames } from '../../model/stock.js'
import { disk } from '../../storage/disk.js'
import {
  createFolder,
  ignoreMissing,
  isTemporaryName,
  writeFileAtomically,
} from '../../storage/file-system.js'
import { ONLY_LARGE } from '../lake/lake.js'
import { defineExport, type ExportContext, type ExportedTable, loadEach } from './define-export.js'
import type { Export, ExportOptions } from './export.js'
import { ZIPLINE_EXTENSION } from './zipline-extension.js'

interface BundleSession {
  readonly day: string
  /** Open, high, low and close without jumps at splits and bonuses, rupees of today; of an index points. */
  readonly prices: readonly number[]
  /** Shares of today. */
  readonly volume: number
  /** Rupees of that day for one of today. */
  readonly then: number
  /** How many shares one share became by splits and bonuses of this day; 1 without any. */
  readonly split: number
  /** Rupees of that day for a share, ex this day; 0 without any. */
  readonly dividend: number
}

/** A stock or an index. It has sessions with a candle only, at least one. */
interface BundleSeries {
  readonly symbol: string
  readonly sessions: readonly BundleSession[]
  readonly first: string
  readonly last: string
}

/** The sessions of the market, in order. */
interface BundleCalendar {
  readonly days: readonly string[]
  readonly places: ReadonlyMap<string, number>
}

type BundleFiles = Readonly<Record<string, Buffer>>

/** Rows of symbol, first and last day. */
type Spells = readonly (readonly string[])[]

/** What a back-test program reads: the files of each stock, and those about all of them. */
interface Bundle {
  /** The files of a stock by their paths in the bundle. */
  readonly ofSeries: (name: string, series: BundleSeries, calendar: BundleCalendar) => BundleFiles
  /** Whether indices are series, too. */
  readonly hasIndices: boolean
  /** `members`: with the index first. */
  readonly ofAll: (stocks: Spells, members: Spells, days: readonly string[]) => BundleFiles
  /** What the program cannot store of a session, and what it does then. */
  readonly lost?: { readonly isLost: (session: BundleSession) => boolean; readonly text: string }
  /**
   * A folder of which every file is read, and how each begins: those that an export does not write are
   * removed. `own`: the same of a single file beside it.
   */
  readonly whole?: {
    readonly folder: string
    readonly header: string
    readonly own: readonly [path: string, header: string]
  }
}

/** The rows that are exported, and what is read beside them. */
const BUNDLE_TABLES = [
  'candles_adjusted',
  'adjustments',
  'candle_days',
  'sessions',
  'symbol_isins',
  'index_candles',
  'index_spells',
]

const isLoaded = ({ name }: ExportedTable): boolean => name === BUNDLE_TABLES[0]

/** A day on which few stocks traded, such as one bad row on a Sunday, is no session. */
const CREATE_DAYS = `CREATE TEMP TABLE bundle_days AS
  SELECT day FROM sessions WHERE kind IN ('open', 'special')`

/** Actions count on the first session of their stock from their day on. */
const SELECT_SESSIONS = `WITH acts AS (
  SELECT symbol, day, product(if(kind = 'dividend', 1, factor)) AS split, sum(coalesce(amount_inr, 0)) AS dividend
  FROM adjustments WHERE factor IS NOT NULL AND is_applied IS NOT NULL GROUP BY symbol, day
), placed AS (
  SELECT a.symbol, c.day, product(split) AS split, sum(dividend) AS dividend
  FROM acts AS a ASOF JOIN (SELECT symbol, day FROM candle_days SEMI JOIN (FROM bundle_days) USING (day) WHERE symbol IN (SELECT symbol FROM acts)) AS c ON a.symbol = c.symbol AND a.day <= c.day GROUP BY a.symbol, c.day
)
SELECT c.symbol, CAST(c.day AS VARCHAR), open, high, low, close, volume, coalesce(close_first / close, c.factor, 1),
  coalesce(split, 1), coalesce(dividend * coalesce(close_first / close / factor, 1), 0)
FROM (FROM candles_adjusted SEMI JOIN (FROM bundle_days) USING (day)) AS c LEFT JOIN placed AS p ON p.symbol = c.symbol AND p.day = c.day ORDER BY c.symbol, c.day`

/** Of indices that share a symbol one; none with that of a stock. */
const selectIndices = (candles: string): string =>
  `SELECT symbol, CAST(date AS VARCHAR), open, high, low, close, volume, 1, 1, 0
  FROM (FROM (${candles}) QUALIFY sid = min(sid) OVER (PARTITION BY symbol)) WHERE date IN (FROM bundle_days) AND symbol NOT IN (SELECT symbol FROM candles_adjusted) ORDER BY symbol, date`

/** A stock is in an index from the first fetched list with it until the first one without. */
const SELECT_SPELLS = `SELECT index, symbol, CAST(min(day) AS VARCHAR), CAST(max(day) AS VARCHAR) FROM (
  SELECT index, coalesce(symbol_now, symbol) AS symbol, since, until FROM index_spells LEFT JOIN symbol_isins USING (symbol)
) JOIN bundle_days ON day >= since AND day < coalesce(until, DATE '9999-12-31') GROUP BY index, symbol, since ORDER BY ALL`

/** Reads rows of sessions that are sorted by symbol. */
async function* readSeries(connection: DuckDBConnection, sql: string): AsyncGenerator<BundleSeries> {
  let [symbol, sessions]: [string, BundleSession[]] = ['', []]
  const end = (): readonly BundleSeries[] => {
    const [first, last] = [sessions[0]?.day, sessions.at(-1)?.day]
    return first === undefined || last === undefined ? [] : [{ symbol, sessions, first, last }]
  }
  for await (const chunk of await connection.stream(sql))
    for (const [name, day, ...values] of chunk.getRows()) {
      if (name !== symbol) {
        yield* end()
        ;[symbol, sessions] = [String(name), []]
      }
      const [open, high, low, close, volume = 0, then = 1, split = 1, dividend = 0] = values.map((value) =>
        Number(value ?? Number.NaN),
      )
      const prices = [open, high, low, close] as number[]
      sessions.push({ day: String(day), prices, volume, then, split, dividend })
    }
  yield* end()
}

const readColumn = async (connection: DuckDBConnection, sql: string): Promise<readonly string[][]> =>
  (await connection.runAndReadAll(sql)).getRows().map((row) => row.map(String))

/**
 * An export of the candles as the files of a back-test program. A file that continues the one before is only
 * appended to.
 */
const defineBundle = (dir: string, bundle: Bundle, options: ExportOptions): Export => {
  if (options.tables !== undefined)
    throw new UsageError(`${dir} has the candles of all stocks; leave the tables out`)
  // All that its statements read: of a table in the lake, what it is made of is not opened.
  const own = { tables: BUNDLE_TABLES, lake: ONLY_LARGE }
  return defineExport({ ...options, ...own, name: dir }, (exporting) =>
    loadEach({ ...exporting, tables: exporting.tables.filter(isLoaded) }, async () => {
      const target = resolve(dir)
      await assertOutside(target, exporting.root)
      return writeBundle(target, bundle, { ...exporting, warn: options.warn })
    }),
  )
}

const writeBundle = async (
  target: string,
  { ofSeries, hasIndices, ofAll, lost, whole }: Bundle,
  { connection, tables, warn }: ExportContext & Pick<ExportOptions, 'warn'>,
): Promise<number> => {
  const old = new Set(whole && (await listOwnFiles(target, whole)))
  const write = async (files: BundleFiles): Promise<void> => {
    for (const [path, bytes] of Object.entries(files)) {
      await writeContinued(join(target, path), bytes)
      old.delete(path)
    }
  }
  const calendar = await createCalendar(connection, warn)
  const fileNames = await nameFiles(connection)
  const [stocks, cut]: [(readonly string[])[], string[]] = [[], []]
  let rows = 0
  for await (const series of readSeries(connection, SELECT_SESSIONS)) {
    const { symbol, sessions, first, last } = series
    await write(ofSeries(fileNames.get(symbol) ?? symbol, series, calendar))
    stocks.push([symbol, first, last])
    rows += sessions.length
    if (lost && sessions.some(lost.isLost)) cut.push(symbol)
  }
  if (lost && cut.length > 0) warn?.(`${lost.text}: ${cut.join(', ')}`)
  const indices = tables.find(({ name }) => name === 'index_candles')?.select
  if (hasIndices && indices)
    for await (const series of readSeries(connection, selectIndices(indices)))
      await write(ofSeries(fileNames.get(series.symbol) ?? series.symbol, series, calendar))
  await write(ofAll(stocks, await readColumn(connection, SELECT_SPELLS), calendar.days))
  for (const path of old) await disk.rm(join(target, path), { force: true })
  return rows
}

const createCalendar = async (
  connection: DuckDBConnection,
  warn: ExportOptions['warn'],
): Promise<BundleCalendar> => {
  await connection.run(CREATE_DAYS)
  const days = (await readColumn(connection, 'FROM bundle_days ORDER BY 1')).flat()
  const beside = 'SELECT count(*) FROM candles_adjusted ANTI JOIN bundle_days USING (day) HAVING count(*) > 0'
  for (const [count] of await readColumn(connection, beside))
    warn?.(`candles that are left out, of days that are no session: ${count}`)
  return { days, places: new Map(days.map((day, place) => [day, place])) }
}

/** The name of the files of each symbol. */
const nameFiles = async (connection: DuckDBConnection): Promise<ReadonlyMap<string, string>> => {
  const symbols = 'SELECT symbol FROM candles_adjusted UNION SELECT symbol FROM index_candles ORDER BY 1'
  const keys = (await readColumn(connection, symbols)).flat()
  const names = createFileNames(keys.map((key) => ({ key, id: '' })))
  return new Map(keys.map((key, place) => [key, names[place] ?? key]))
}

/** A path without links, also of what does not exist yet. */
const resolveLinks = (path: string): Promise<string> =>
  disk
    .realpath(path)
    .catch(async () =>
      dirname(path) === path ? path : join(await resolveLinks(dirname(path)), basename(path)),
    )

const assertOutside = async (target: string, root: string): Promise<void> => {
  const path = relative(root, await resolveLinks(target))
  if (path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path)) return
  throw new UsageError(`${target} is in the output folder, which is not for exports; choose another folder`)
}

/** Throws if there is a file that no export creates. Leftovers of a killed export are among its own. */
const listOwnFiles = async (
  target: string,
  { folder, header, own }: NonNullable<Bundle['whole']>,
): Promise<readonly string[]> => {
  const names = (await disk.readdir(join(target, folder)).catch(ignoreMissing)) ?? []
  const paths = names.map((name) => `${folder}/${name}`)
  for (const [path, begin] of [...paths.map((path) => [path, header] as const), own]) {
    if (isTemporaryName(basename(path))) continue
    const bytes = await disk.readFile(join(target, path)).catch(ignoreMissing)
    if (bytes && !(bytes.toString('latin1').startsWith(begin) && /\.(csv|py)$/.test(path)))
      throw new UsageError(
        `${dirname(join(target, path))} has a file that no export creates: ${basename(path)}; choose another folder or move it away`,
      )
  }
  return paths
}

/** Writes a file: nothing if it has these bytes, only the rest if they begin with it, as after a kill. */
const writeContinued = async (path: string, bytes: Buffer): Promise<void> => {
  const known = await disk.readFile(path).catch(ignoreMissing)
  if (known?.equals(bytes)) return
  if (known !== undefined && known.length > 0 && known.equals(bytes.subarray(0, known.length)))
    return disk.writeFile(path, bytes.subarray(known.length), { flag: 'a' })
  await createFolder(join(path, '..'))
  await writeFileAtomically(path, [bytes])
}

/**
 * Adjusted prices and volume. `factor` is the adjusted price for one rupee of that day, `change` the return
 * since the session before with a candle, and `vwap` the typical price: nobody provides the average of a day.
 */
const QLIB_FIELDS: Readonly<
  Record<string, (session: BundleSession, before?: BundleSession) => number | undefined>
> = {
  open: ({ prices }) => prices[0],
  high: ({ prices }) => prices[1],
  low: ({ prices }) => prices[2],
  close: ({ prices }) => prices[3],
  volume: ({ volume }) => volume,
  factor: ({ then }) => 1 / then,
  change: ({ prices }, before) => Number(prices[3]) / Number(before?.prices[3]) - 1,
  vwap: ({ prices: [, high = 0, low = 0, close = 0] }) => (high + low + close) / 3,
}

/**
 * Floats of 32 bits, little-endian: the place of the first session in the calendar, then a value for each
 * session, NaN without a candle.
 */
const encode = (
  field: NonNullable<(typeof QLIB_FIELDS)[string]>,
  { sessions, first: firstDay, last }: BundleSeries,
  { places }: BundleCalendar,
): Buffer => {
  const placeOf = (day: string): number => places.get(day) ?? Number.NaN
  const first = placeOf(firstDay)
  const bytes = Buffer.alloc((placeOf(last) - first + 2) * 4)
  for (let at = 0; at < bytes.length; at += 4) bytes.writeFloatLE(at === 0 ? first : Number.NaN, at)
  for (const [index, session] of sessions.entries())
    bytes.writeFloatLE(
      field(session, sessions[index - 1]) ?? Number.NaN,
      (placeOf(session.day) - first + 1) * 4,
    )
  return bytes
}

const formatSpells = (spells: Spells): Buffer =>
  Buffer.from(spells.map((spell) => `${spell.join('\t')}\n`).join(''))

const QLIB: Bundle = {
  ofSeries: (name, series, calendar) =>
    Object.fromEntries(
      Object.entries(QLIB_FIELDS).map(([field, read]) => [
        `features/${name.toLowerCase()}/${field}.day.bin`,
        encode(read, series, calendar),
      ]),
    ),
  hasIndices: true,
  ofAll: (stocks, members, days) => ({
    'calendars/day.txt': Buffer.from(days.map((day) => `${day}\n`).join('')),
    'instruments/all.txt': formatSpells(stocks),
    ...Object.fromEntries(
      [...groupBy(members, ([index = '']) => index)].map(([index, rows]) => [
        `instruments/${index.toLowerCase().replaceAll(' ', '')}.txt`,
        formatSpells(rows.map(([, ...spell]) => spell)),
      ]),
    ),
  }),
}

/**
 * Exports the candles of stocks and indices as a data folder of qlib, with prices and volume across splits
 * and bonuses, and the members of indices as universes.
 *
 * @throws UsageError for a selection of tables, and, when it runs, for a folder in the output folder
 * @example qlib('./qlib', { streams }).write('./data').subscribe()
 */
export const qlib = (dir: string, options: ExportOptions): Export => defineBundle(dir, QLIB, options)

/** Enough digits for a price that several splits have divided. */
const formatDecimal = (value: number): string => String(Number(value.toFixed(4)))

/**
 * Prices and shares of that day: zipline adjusts them itself, by the columns `dividend` and `split`. It takes
 * whole shares of the exact ratio. Candles again, and by hand: csv-stringify takes 1.25 times the CPU of the
 * export.
 */
const formatSession = ({ day, prices, volume, then, split, dividend }: BundleSession): string =>
  `${[day, ...prices.map((price) => formatDecimal(price * then)), Math.round(volume / then), formatDecimal(dividend), split].join(',')}\n`

const ZIPLINE_HEADER = 'date,open,high,low,close,volume,dividend,split\n'
const MAX_VOLUME = 2 ** 32 - 1

const ZIPLINE: Bundle = {
  // Its writer wants each session of a stock: one without a price is stored as such.
  ofSeries: (name, { sessions, first, last }, { days, places }) => {
    const lines = new Map(sessions.map((session) => [session.day, formatSession(session)]))
    const own = days.slice(places.get(first), Number(places.get(last)) + 1)
    const text = own.map((day) => lines.get(day) ?? `${day},,,,,0,0,1\n`).join('')
    return { [`daily/${name}.csv`]: Buffer.from(`${ZIPLINE_HEADER}${text}`) }
  },
  hasIndices: false,
  ofAll: (_stocks, _members, days) => ({
    'sessions.txt': Buffer.from(days.map((day) => `${day}\n`).join('')),
    [ZIPLINE_EXTENSION.path]: Buffer.from(ZIPLINE_EXTENSION.text),
  }),
  lost: {
    isLost: ({ volume, then }) => volume / then > MAX_VOLUME,
    text: 'zipline reads 0 for a volume above 4,294,967,295, which have',
  },
  whole: {
    folder: 'daily',
    header: ZIPLINE_HEADER,
    own: [ZIPLINE_EXTENSION.path, ZIPLINE_EXTENSION.header],
  },
}

/**
 * Exports the candles as a folder for the csvdir bundle of zipline, with prices as they were and the splits,
 * bonuses and dividends, and an `extension.py` that registers it with its sessions. Files of `daily/` that it
 * does not write, of symbols that are gone, are removed.
 *
 * @throws UsageError for a selection of tables, and, when it runs, for a folder in the output folder or with
 * files that no export creates
 * @example zipline('./zipline', { streams }).write('./data').subscribe()
 */
export const zipline = (dir: string, options: ExportOptions): Export => defineBundle(dir, ZIPLINE, options)
