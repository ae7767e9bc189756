import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { UsageError } from '../../model/errors.js'
import { createFileNames } from '../../model/stock.js'
import { disk } from '../../storage/disk.js'
import {
  createFolder,
  ignoreMissing,
  isTemporaryName,
  writeFileAtomically,
} from '../../storage/file-system.js'
import { ONLY_LARGE } from '../lake/lake.js'
import { defineExport, type ExportedTable, loadEach } from './define-export.js'
import type { Export, ExportOptions } from './export.js'

interface BundleSession {
  readonly day: string
  /** Open, high, low and close without jumps at splits and bonuses, rupees of today. */
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

/** What a back-test program reads: the files of each stock, and those about all of them. */
interface Bundle {
  /** The files of a stock by their paths in the bundle. `days` are the sessions of all stocks. */
  readonly ofStock: (
    symbol: string,
    sessions: readonly BundleSession[],
    days: readonly string[],
  ) => Readonly<Record<string, Buffer>>
  readonly ofAll: (
    stocks: readonly (readonly [symbol: string, first: string, last: string])[],
    days: readonly string[],
  ) => Readonly<Record<string, Buffer>>
  /**
   * A folder of which every file is read, and how each begins. Those that an export does not write are
   * removed.
   */
  readonly whole?: { readonly folder: string; readonly header: string }
}

/** The rows that are exported, and what is read beside them. */
const BUNDLE_TABLES = ['candles_adjusted', 'adjustments', 'candle_days']

const isLoaded = ({ name }: ExportedTable): boolean => name === BUNDLE_TABLES[0]

/** Actions count on the first session from their day on. */
const SELECT_SESSIONS = `WITH acts AS (
  SELECT symbol, day, product(if(kind = 'dividend', 1, factor)) AS split, sum(coalesce(amount_inr, 0)) AS dividend
  FROM adjustments WHERE factor IS NOT NULL AND is_applied IS NOT NULL GROUP BY symbol, day
), placed AS (
  SELECT a.symbol, c.day, product(split) AS split, sum(dividend) AS dividend
  FROM acts AS a ASOF JOIN (SELECT symbol, day FROM candle_days WHERE symbol IN (SELECT symbol FROM acts)) AS c ON a.symbol = c.symbol AND a.day <= c.day GROUP BY a.symbol, c.day
)
SELECT c.symbol, CAST(c.day AS VARCHAR), open, high, low, close, volume, coalesce(close_first / close, c.factor, 1),
  coalesce(split, 1), coalesce(dividend * coalesce(close_first / close / factor, 1), 0)
FROM candles_adjusted AS c LEFT JOIN placed AS p ON p.symbol = c.symbol AND p.day = c.day ORDER BY c.symbol, c.day`

/**
 * An export of the candles as the files of a back-test program. A file that continues the one before is only
 * appended to.
 */
const defineBundle = (dir: string, { ofStock, ofAll, whole }: Bundle, options: ExportOptions): Export => {
  if (options.tables !== undefined)
    throw new UsageError(`${dir} has the candles of all stocks; leave the tables out`)
  // All that its statements read: of a table in the lake, what it is made of is not opened.
  const own = { tables: BUNDLE_TABLES, lake: ONLY_LARGE }
  return defineExport({ ...options, ...own, name: dir }, (exporting) =>
    loadEach({ ...exporting, tables: exporting.tables.filter(isLoaded) }, async () => {
      const { connection } = exporting
      const target = resolve(dir)
      await assertOutside(target, exporting.root)
      const old = new Set(whole && (await listOwnFiles(target, whole)))
      const read = await connection.runAndReadAll(
        'SELECT DISTINCT CAST(day AS VARCHAR) FROM candles_adjusted ORDER BY 1',
      )
      const days = read.getRows().map(([day]) => String(day))
      const all = (await connection.runAndReadAll('SELECT DISTINCT symbol FROM candles_adjusted ORDER BY 1'))
        .getRows()
        .map(([one]) => String(one))
      const fileNames = createFileNames(all.map((key) => ({ key, id: '' })))
      const stocks: [string, string, string][] = []
      let rows = 0
      let [symbol, sessions]: [string, BundleSession[]] = ['', []]
      const write = async (files: Readonly<Record<string, Buffer>>): Promise<void> => {
        for (const [path, bytes] of Object.entries(files)) {
          await writeContinued(join(target, path), bytes)
          old.delete(path)
        }
      }
      const endStock = async (): Promise<void> => {
        const [first, last] = [sessions[0], sessions.at(-1)]
        if (first === undefined || last === undefined) return
        await write(ofStock(fileNames[all.indexOf(symbol)] ?? symbol, sessions, days))
        stocks.push([symbol, first.day, last.day])
        rows += sessions.length
      }
      const result = await connection.stream(SELECT_SESSIONS)
      for await (const chunk of result)
        for (const [name, day, ...values] of chunk.getRows()) {
          if (name !== symbol) {
            await endStock()
            ;[symbol, sessions] = [String(name), []]
          }
          const [open, high, low, close, volume = 0, then = 1, split = 1, dividend = 0] = values.map(
            (value) => Number(value ?? Number.NaN),
          )
          sessions.push({
            day: String(day),
            prices: [open, high, low, close] as number[],
            volume,
            then,
            split,
            dividend,
          })
        }
      await endStock()
      await write(ofAll(stocks, days))
      for (const path of old) await disk.rm(join(target, path), { force: true })
      return rows
    }),
  )
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

/** Throws if a folder has a file that no export creates. Leftovers of a killed export are among its own. */
const listOwnFiles = async (
  target: string,
  { folder, header }: NonNullable<Bundle['whole']>,
): Promise<readonly string[]> => {
  const names = (await disk.readdir(join(target, folder)).catch(ignoreMissing)) ?? []
  for (const name of names) {
    if (isTemporaryName(name)) continue
    const isOwn =
      name.endsWith('.csv') &&
      (await disk.readFile(join(target, folder, name))).toString('latin1').startsWith(header)
    if (!isOwn)
      throw new UsageError(
        `${join(target, folder)} has a file that no export creates: ${name}; choose another folder or move it away`,
      )
  }
  return names.map((name) => `${folder}/${name}`)
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

/** Adjusted prices and volume; `factor` is the adjusted price for one rupee of that day. */
const QLIB_FIELDS: Readonly<Record<string, (session: BundleSession) => number | undefined>> = {
  open: ({ prices }) => prices[0],
  high: ({ prices }) => prices[1],
  low: ({ prices }) => prices[2],
  close: ({ prices }) => prices[3],
  volume: ({ volume }) => volume,
  factor: ({ then }) => 1 / then,
}

/**
 * Floats of 32 bits, little-endian: the place of the first session in the calendar, then a value for each
 * session, NaN without a candle.
 */
const encode = (
  field: (session: BundleSession) => number | undefined,
  sessions: readonly BundleSession[],
  days: readonly string[],
): Buffer => {
  const first = days.indexOf(sessions[0]?.day ?? '')
  const length = days.indexOf(sessions.at(-1)?.day ?? '') - first + 1
  const floats = new Float32Array(length + 1).fill(Number.NaN)
  floats[0] = first
  let place = first
  for (const session of sessions) {
    while (days[place] !== session.day) place++
    floats[place - first + 1] = field(session) ?? Number.NaN
  }
  const bytes = Buffer.alloc(floats.length * 4)
  for (const [index, value] of floats.entries()) bytes.writeFloatLE(value, index * 4)
  return bytes
}

const QLIB: Bundle = {
  ofStock: (symbol, sessions, days) =>
    Object.fromEntries(
      Object.entries(QLIB_FIELDS).map(([name, field]) => [
        `features/${symbol.toLowerCase()}/${name}.day.bin`,
        encode(field, sessions, days),
      ]),
    ),
  ofAll: (stocks, days) => ({
    'calendars/day.txt': Buffer.from(days.map((day) => `${day}\n`).join('')),
    'instruments/all.txt': Buffer.from(stocks.map((stock) => `${stock.join('\t')}\n`).join('')),
  }),
}

/**
 * Exports the candles as a data folder of qlib, with prices and volume across splits and bonuses.
 *
 * @throws UsageError for a selection of tables, and, when it runs, for a folder in the output folder
 * @example qlib('./qlib', { streams }).write('./data').subscribe()
 */
export const qlib = (dir: string, options: ExportOptions): Export => defineBundle(dir, QLIB, options)

/** Enough digits for a price that several splits have divided. */
const formatDecimal = (value: number): string => String(Number(value.toFixed(4)))

/**
 * Prices and shares of that day: zipline adjusts them itself, by the columns `dividend` and `split`. Candles
 * again, and by hand: csv-stringify takes 1.25 times the CPU of the export.
 */
const formatSession = ({ day, prices, volume, then, split, dividend }: BundleSession): string =>
  `${[day, ...prices.map((price) => formatDecimal(price * then)), Math.round(volume / then), formatDecimal(dividend), formatDecimal(split)].join(',')}\n`

const ZIPLINE_HEADER = 'date,open,high,low,close,volume,dividend,split\n'

const ZIPLINE: Bundle = {
  ofStock: (symbol, sessions) => ({
    [`daily/${symbol}.csv`]: Buffer.from(`${ZIPLINE_HEADER}${sessions.map(formatSession).join('')}`),
  }),
  ofAll: () => ({}),
  whole: { folder: 'daily', header: ZIPLINE_HEADER },
}

/**
 * Exports the candles as a folder for the csvdir bundle of zipline, with prices as they were and the splits,
 * bonuses and dividends. Files of `daily/` that it does not write, of symbols that are gone, are removed.
 *
 * @throws UsageError for a selection of tables, and, when it runs, for a folder in the output folder or with
 * files that no export creates
 * @example zipline('./zipline', { streams }).write('./data').subscribe()
 */
export const zipline = (dir: string, options: ExportOptions): Export => defineBundle(dir, ZIPLINE, options)
