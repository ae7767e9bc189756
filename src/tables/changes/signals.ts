import { concatMap, filter, type ObservableInput, type OperatorFunction } from 'rxjs'
import { keepContext } from '../../model/context.js'
import { UsageError } from '../../model/errors.js'
import { formatQuantity, nameFirst } from '../../model/format.js'
import { groupBy } from '../../model/map.js'
import type { RunReport } from '../../model/report.js'
import { omitUndefined, type Row, readText } from '../../model/row.js'
import { findClosest, suggest } from '../../model/text.js'
import type { Day } from '../../model/trading-day.js'
import { compareRows, listChangedColumns, type RowChange, toRowKey } from './compare-rows.js'
import type { ResolvedRule } from './watch-rules.js'

/** How the rows of a query differ from those of the session before. */
export interface RowChanges {
  readonly entered: readonly Row[]
  readonly left: readonly Row[]
  /** The earlier row and the present one. */
  readonly changed: readonly (readonly [from: Row, to: Row])[]
}

/** How the rows of a query of the newest recorded session differ from those of the session before. */
export interface WatchChanges extends RowChanges {
  readonly day: Day
  /** The session before; absent if none is recorded, so that all rows have entered. */
  readonly since?: Day
}

/** Something that a rule found. */
export interface Signal {
  readonly rule: string
  /** The session whose rows differ from those of the session before. */
  readonly day: Day
  /** When it was found, ISO 8601; absent in a replay. */
  readonly knownAt?: string
  readonly change: RowChange['change']
  /** The symbol of the row, or else the values of its key. */
  readonly subject: string
  /** The row, or the last one that it had. */
  readonly row: Row
  /** The earlier row of one that has changed. */
  readonly from?: Row
  /** Whether it makes a notification due. */
  readonly notify?: true
}

export type RuleFacts = Pick<ResolvedRule, 'name' | 'key' | 'only' | 'notify' | 'cooldown'>

const listKey = (row: Row, key: RuleFacts['key']): readonly string[] =>
  key ?? ('symbol' in row ? ['symbol'] : Object.keys(row))

/**
 * Rows by their keys. The same row twice counts once. @throws UsageError for a key that is no column, or that
 * different rows share
 */
export const indexRows = (
  rows: readonly Row[],
  { key }: Pick<RuleFacts, 'key'>,
): ReadonlyMap<string, Row> => {
  const [first] = rows
  if (first === undefined) return new Map()
  const columns = Object.keys(first)
  checkKey(key, columns)
  const toKey = (row: Row) => toRowKey(row, listKey(row, key))
  const found = new Map(rows.map((row) => [toKey(row), row]))
  const isShared = (row: Row) => listChangedColumns(found.get(toKey(row)) ?? row, row).length > 0
  if (found.size === rows.length || !rows.some(isShared)) return found
  const used = listKey(first, key)
  const others = columns.filter((column) => !used.includes(column))
  throw new UsageError(
    `${formatQuantity(rows.length, 'row')}, but ${formatQuantity(found.size, 'key')} (${used.join(', ')}); add columns to the key: ${nameFirst(others)}`,
  )
}

/** @throws UsageError for a key that is no column of the query */
export const checkKey = (key: RuleFacts['key'], columns: readonly string[]): void => {
  const wrong = key?.find((column) => !columns.includes(column))
  if (wrong !== undefined)
    throw new UsageError(`the key ${wrong} is no column of its query${suggest(findClosest(wrong, columns))}`)
}

export const compareSessions = (
  before: ReadonlyMap<string, Row>,
  after: ReadonlyMap<string, Row>,
): RowChanges => {
  const {
    entered = [],
    left = [],
    changed = [],
  } = Object.fromEntries(groupBy(compareRows(before, after), ({ change }) => change))
  return {
    entered: entered.map(({ row }) => row),
    left: left.map(({ row }) => row),
    changed: changed.map(({ row, from }) => [from, row]),
  }
}

/** The signals of a comparison: those changes that the rule selects. */
export const toSignals = (
  { name: rule, key, only = ['entered', 'left', 'changed'], notify }: RuleFacts,
  { entered, left, changed }: RowChanges,
  { day, knownAt }: Pick<Signal, 'day' | 'knownAt'>,
): readonly Signal[] => {
  const create = (change: Signal['change'], row: Row, from?: Row): Signal =>
    omitUndefined({
      rule,
      day,
      knownAt,
      change,
      subject: nameRow(row, key),
      row,
      from,
      notify: notify === true ? notify : undefined,
    })
  const all = [
    ...entered.map((row) => create('entered', row)),
    ...left.map((row) => create('left', row)),
    ...changed.map(([from, row]) => create('changed', row, from)),
  ]
  return all.filter(({ change }) => only.includes(change))
}

const nameRow = (row: Row, key: RuleFacts['key']): string =>
  readText(row.symbol) ||
  listKey(row, key)
    .map((column) => readText(toShown(row[column])))
    .join(' ')

/**
 * Leaves out the signals of a subject in the sessions after one of its signals, and in its session those of
 * the same row. `days` are the sessions, oldest first.
 */
export const applyCooldown = (
  signals: readonly Signal[],
  { cooldown = '0', key }: Pick<RuleFacts, 'cooldown' | 'key'>,
  days: readonly Day[],
): readonly Signal[] => {
  const quiet = Number.parseInt(cooldown, 10)
  const last = new Map<string, { readonly session: number; readonly rows: Set<string> }>()
  return signals.filter(({ subject, day, row }) => {
    const session = days.indexOf(day)
    const [told, rowKey] = [last.get(subject), toRowKey(row, listKey(row, key))]
    const isNew =
      told?.session === session
        ? !told.rows.has(rowKey)
        : session > (told?.session ?? Number.NEGATIVE_INFINITY) + quiet
    if (told?.session === session) told.rows.add(rowKey)
    else if (isNew) last.set(subject, { session, rows: new Set([rowKey]) })
    return isNew || quiet === 0
  })
}

/** A sum such as 0.1 + 0.2 without the digits that nobody compares. */
const toShown = (value: unknown): unknown =>
  typeof value !== 'number' || Number.isInteger(value)
    ? value
    : Number(Math.abs(value) < 1e7 ? value.toPrecision(9) : value.toFixed(2))

/** What happened, without the subject: the columns of the row, or those that have changed. */
export const describeSignal = ({ change, row, from, subject }: Signal): string => {
  const toText = (value: unknown) =>
    value === null || value === undefined ? 'none' : readText(toShown(value)) || JSON.stringify(value)
  if (from)
    return listChangedColumns(from, row)
      .flatMap((name) => `${name} ${toText(from[name])} → ${toText(row[name])}`)
      .join(', ')
  const facts = Object.entries(row).filter(
    ([name, value]) => name !== 'isin' && name !== 'symbol' && value !== null && value !== subject,
  )
  return [change, ...facts.map(([name, value]) => `${name} ${toText(value)}`)].join(', ')
}

/** Whether rules are asked after a run: it is complete, and had something to do. */
export const isWatched = ({ outcome, finishedBefore }: RunReport): boolean =>
  outcome === 'complete' && finishedBefore === undefined

/** Asks after each complete run, one after the other. */
export const watchRuns =
  <T>(ask: () => ObservableInput<T>): OperatorFunction<RunReport, T> =>
  (report$) =>
    report$.pipe(filter(isWatched), concatMap(ask), keepContext())
