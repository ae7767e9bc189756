import {
  type MonoTypeOperatorFunction,
  map,
  type Observable,
  type OperatorFunction,
  of,
  switchMap,
  tap,
} from 'rxjs'
import { DamagedFileError } from '../model/errors.js'
import { formatNumber, formatPart, formatQuantity } from '../model/format.js'
import { median } from '../model/map.js'
import { createResult, type ItemResult } from '../model/outcome.js'
import { isRow, type Row, readText } from '../model/row.js'
import { haveSameIssuer } from '../model/stock.js'
import type { Stored } from '../model/stored.js'
import { catchDamagedFile } from '../operators/catch-item-failure.js'
import { MASTER_FIGURES, readStoredRows } from './listings.js'
import { MERGED, RefusedError, refuse, thresholds } from './refusal-policy.js'
import type { Tools } from './tools.js'

export { assertSameIsin } from './listings.js'

type Records = readonly unknown[]

/**
 * Drops exact copies of records, with a warning. No list has two equal records by nature (0 among the
 * captured 489 deals, 947 stocks with actions, 3,110 bands, 154 stocks under surveillance, 194 indices), so a
 * copy says nothing. To be used before the rules that count records: half of a list, each record twice, must
 * not pass for the whole one.
 */
export const withoutCopies = <R>(
  rows: readonly R[],
  { warn }: Pick<Tools, 'warn'>,
  list = 'the list',
): readonly R[] => {
  const distinct = new Map<string, R>()
  for (const row of rows) {
    const text = JSON.stringify(row)
    if (!distinct.has(text)) distinct.set(text, row)
  }
  const copies = rows.length - distinct.size
  if (copies > 0)
    warn(`${list}: left out ${formatPart(copies, rows.length, 'record')}, exact copies of others`)
  return [...distinct.values()]
}

/**
 * How to read and count the stored records of a list, if the file is not a JSON array or not every record
 * counts.
 */
export interface ShrinkOptions {
  readonly readStored?: (stored: Stored, file: string) => Observable<Records | undefined>
  /** Counts the records of either list; also gets the stored records. */
  readonly countRecords?: (records: Records, readStored: Records) => number
}

/**
 * Refuses a list with less than 70 % of the records of the stored file, with a `RefusedError` (`shrink`),
 * unless the run accepts that: half a list looks like a complete one and must not replace it. A stored file
 * that is unreadable does not count.
 */
export const rejectShrunk =
  <R>(
    file: string,
    { stored, accepts, warn }: Pick<Tools, 'stored' | 'accepts' | 'warn'>,
    { readStored = readStoredArray, countRecords = ({ length }) => length }: ShrinkOptions = {},
  ): MonoTypeOperatorFunction<ItemResult<R>> =>
  (found$) => {
    const check = (found: ItemResult<R>, before: Records = []) => {
      const [now, then] = [countRecords([...found.rows], before), countRecords(before, before)]
      if (now >= then * thresholds.minShare) return found
      const records = `${formatQuantity(now, 'record')}, the stored file has ${formatNumber(then)}`
      if (!accepts('shrink')) throw new RefusedError('shrink', records)
      warn(`accepted although shrunk: ${records}`)
      return found
    }
    return found$.pipe(
      switchMap((found) =>
        readStored(stored, file).pipe(
          catchDamagedFile(() => {
            warn(`${file} is damaged, so the new list was not compared with it`)
            return undefined
          }),
          map((before) => check(found, before)),
        ),
      ),
    )
  }

/** How the records of an item and the stored ones make one list. */
interface StoredRecords<R> {
  /** The list of the stored document. */
  readonly list: string
  /** The ISIN of the stock. */
  readonly isin: string
  /** An answer needs no more records than this, however many are stored: then the file is not read. */
  readonly most?: number
  /** The stored records that an answer with these rows must have, too; all of them if absent. */
  readonly expect?: (stored: readonly R[], rows: readonly R[]) => readonly R[]
  /** Merges both by key. */
  readonly merge: (rows: readonly R[], stored: readonly R[]) => readonly R[]
}

/**
 * The records of a stock's stored document. Those that name another company are none of its own: a storage
 * that cannot move files has them under a symbol that was given away.
 */
export const readOwnRecords = <R extends Row>(
  file: string,
  { stored, earlierIsins = [] }: Pick<Tools, 'stored' | 'earlierIsins'>,
  { list, isin }: { readonly list: string; readonly isin: string },
): Observable<readonly R[]> => {
  const isOwn = (named: unknown) => {
    const text = readText(named)
    return text === '' || haveSameIssuer(text, isin) || earlierIsins.includes(text)
  }
  return stored.document(file).pipe(
    map((document) => {
      const records = isRow(document) && isOwn(document.ISIN) ? document[list] : undefined
      return (Array.isArray(records) ? records : []).filter((row): row is R => isRow(row) && isOwn(row.isin))
    }),
  )
}

/**
 * Merges the records of an item with the stored ones if the answer has less than 70 % of those that it must
 * have, unless the run accepts that (`shrink`): one filing must not replace 162. An answer without records
 * changes nothing anyway. A damaged file is replaced.
 */
export const mergeShrunk = <R extends Row>(
  file: string,
  tools: Pick<Tools, 'stored' | 'accepts' | 'warn' | 'earlierIsins'>,
  { most = Number.POSITIVE_INFINITY, expect = (all) => all, merge, ...own }: StoredRecords<R>,
): MonoTypeOperatorFunction<ItemResult<R>> =>
  switchMap((found) => {
    const rows = [...found.rows]
    if (rows.length === 0 || rows.length >= most * thresholds.minShare) return of(found)
    return readOwnRecords<R>(file, tools, own).pipe(
      catchDamagedFile((): readonly R[] => {
        tools.warn(`${file} is damaged, so the new records were not compared with it`)
        return []
      }),
      map((before) => {
        if (rows.length >= expect(before, rows).length * thresholds.minShare) return found
        const counts = `(${formatNumber(rows.length)} instead of ${formatNumber(before.length)})`
        return tools.accepts('shrink')
          ? { ...found, remark: `accepted although much shorter ${counts}` }
          : { ...found, rows: merge(rows, before), remark: `${MERGED} ${counts}` }
      }),
    )
  })

export const readStoredLines: NonNullable<ShrinkOptions['readStored']> = (stored, file) =>
  stored.text(file).pipe(map((text) => text?.split('\n').slice(0, -1)))

const readStoredArray: NonNullable<ShrinkOptions['readStored']> = (stored, file) =>
  stored.document(file).pipe(
    map((records) => {
      if (records === undefined || Array.isArray(records)) return records
      throw new DamagedFileError(`${file} is not a JSON array`)
    }),
  )

/**
 * Refuses rows if a figure seems to have another unit than in the stored master list (`units`), unless the
 * run accepts that.
 */
export const rejectOtherUnits = <R extends Row>(tools: Tools): MonoTypeOperatorFunction<readonly R[]> =>
  compareUnits(tools, (rows) => rows)

/**
 * The same for the master list itself: the run goes on with the stored one, as partial. Its symbols, ISINs
 * and Sids are good, so a wrong figure must not end the whole run; stocks listed since are fetched once the
 * figures are right again, or accepted.
 */
export const keepUnits = <R extends Row>(tools: Tools): MonoTypeOperatorFunction<ItemResult<R>> =>
  compareUnits(
    tools,
    ({ rows }) => [...rows],
    (stored, change) => ({
      ...createResult(stored as readonly R[], `units: ${change}; the stored list is used`),
      code: 'units',
    }),
  )

/** What takes the place of an answer with another unit that the run does not accept: by default an error. */
const compareUnits = <T>(
  tools: Tools,
  rowsOf: (found: T) => readonly Row[],
  instead?: (stored: readonly Row[], change: string) => T,
): MonoTypeOperatorFunction<T> =>
  switchMap((found) =>
    readStoredRows(tools.stored, MASTER_FIGURES).pipe(
      map((stored) => {
        const change = findUnitChange(stored, rowsOf(found))
        if (change === undefined) return found
        if (instead && !tools.accepts('units')) return instead(stored, change)
        refuse(tools, 'units', change)
        return found
      }),
    ),
  )

/**
 * Compares a list, without copies of records, with its reported total. Errors with a `RefusedError` (`count`)
 * if rows are missing, unless the run accepts that. A list of as many rows as requested may be cut off,
 * because one request returns no more: that is a warning, or, if its total is higher, the reason why the list
 * counts as incomplete.
 */
export const rejectTruncated = <R>(
  limit: number,
  { accepts, warn }: Pick<Tools, 'accepts' | 'warn'>,
): OperatorFunction<{ readonly rows: readonly R[]; readonly total?: number | undefined }, ItemResult<R>> =>
  map(({ rows: answered, total = 0 }) => {
    const isFull = answered.length >= limit
    const rows = withoutCopies(answered, { warn })
    const records = `the list has ${formatQuantity(rows.length, 'row')}`
    if (rows.length >= total) {
      if (isFull) warn(`${records}${MORE_MAY_EXIST}`)
      return createResult(rows)
    }
    const lacking = `${records} but reports a total of ${formatNumber(total)}`
    if (accepts('count')) warn(`accepted although rows are missing: ${lacking}`)
    else if (isFull) return createResult(rows, `count: ${lacking}; one request returns no more`)
    else throw new RefusedError('count', lacking)
    return createResult(rows)
  })

/** Warns about a list of as many rows as requested, if its total is unknown. */
export const warnIfFull = <R>(
  limit: number,
  { warn }: Pick<Tools, 'warn'>,
  list: string,
): MonoTypeOperatorFunction<readonly R[]> =>
  tap((rows) => {
    if (rows.length >= limit)
      warn(`${list}: the list has ${formatQuantity(rows.length, 'row')}${MORE_MAY_EXIST}`)
  })

const MORE_MAY_EXIST = ', the maximum of one request; more may exist'

/**
 * Which figure of a list seems to have another unit than in the stored master list: its median ratio over the
 * stocks in both is too far from 1. `undefined` if none does. A figure that few stocks have in both lists
 * decides nothing.
 */
export const findUnitChange = (stored: readonly Row[], rows: readonly Row[]): string | undefined => {
  const before = new Map(stored.map((row) => [readText(row.Sym), row]))
  for (const [field, { name, most }] of Object.entries(thresholds.units.figures)) {
    const ratios: number[] = []
    for (const row of rows) {
      const [then, now] = [before.get(readText(row.Sym ?? row.sym))?.[field], row[field]]
      if (typeof then === 'number' && typeof now === 'number' && then > 0 && now > 0) ratios.push(now / then)
    }
    const factor = median(ratios)
    if (ratios.length >= thresholds.units.minStocks && (factor > most || factor < 1 / most))
      return `the ${name} of ${formatQuantity(ratios.length, 'stock')} is ${Number(factor.toPrecision(3))} times the stored one (median)`
  }
  return undefined
}
