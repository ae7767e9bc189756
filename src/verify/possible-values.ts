import type { StreamDefinition } from '../engine/define-stream.js'
import { formatNumber } from '../model/format.js'
import { groupBy, median } from '../model/map.js'
import type { RunReport } from '../model/report.js'
import { isRow, omitUndefined, type Row, readText, toNumber } from '../model/row.js'
import type { Possible, TableColumn } from '../model/row-schema.js'
import type { Table } from '../model/table.js'
import { type Day, toDay } from '../model/trading-day.js'
import { toValue } from '../storage/table-rows.js'
import type { Finding } from './finding.js'

/** A value that cannot be. */
interface Impossible {
  readonly field: string
  readonly value: string
  readonly reason: string
  readonly symbol: string
}

/** More of a file with one reason are one finding. */
const MAX_SINGLE = 10
const NO_VALUE = /^\s*(?:-|NA|N\/A)?\s*$/i

/**
 * Finds values that cannot be: days that do not exist, and what the row schemas of some tables exclude.
 * `latest`: the day after which nothing can have happened. Values stay as they were served.
 */
export const createValueCheck = (tables: readonly Table[], latest: Day) => {
  const found: Impossible[] = []
  const sums = createSumCheck(tables)
  const readers = tables
    .filter(({ shape }) => shape !== 'candles')
    .map((table) => createRowJudge(table, latest))
  return {
    /** `item` is the symbol of a file of one stock. */
    add: (record: Row, item?: string): void => {
      sums.add(record)
      for (const read of readers) found.push(...read(record, item))
    },
    finish: (file: string): readonly Finding[] => {
      const groups = groupBy(
        [...found.splice(0), ...sums.finish()],
        ({ field, reason }) => `${field} ${reason}`,
      )
      return [...groups.values()].flatMap((own) => describeGroup(file, own))
    },
  }
}

const describeGroup = (file: string, own: readonly Impossible[]): readonly Finding[] => {
  const [first] = own
  if (first === undefined || own.length <= MAX_SINGLE)
    return own.map(({ field, value, reason, symbol }) =>
      toImpossible(file, `${field}: ${value} ${reason}`, symbol),
    )
  const count = formatNumber(own.length)
  return [toImpossible(file, `${first.field}: ${count} values like ${name(first)}, which ${first.reason}`)]
}

const name = ({ value, symbol }: Impossible): string => (symbol === '' ? value : `${value} of ${symbol}`)

export const toImpossible = (file: string, detail: string, symbol = ''): Finding =>
  omitUndefined({
    check: 'impossible-values' as const,
    severity: 'warning' as const,
    symbol: symbol === '' ? undefined : symbol,
    file,
    detail,
  })

const listRows = (value: unknown): readonly Row[] => (Array.isArray(value) ? value : [value]).filter(isRow)

const readPresent = (keys: readonly string[], fields: Row): unknown => {
  for (const key of keys) if (fields[key] !== undefined && fields[key] !== null) return fields[key]
  return undefined
}

type Judged = readonly Omit<Impossible, 'symbol'>[]

/** Reads the impossible values of a record: its own, or those of the lists in it. */
const createRowJudge = ({ columns, lists, possible = {} }: Table, latest: Day) => {
  const from = columns.find((column) => column.name === 'symbol')?.from ?? { row: [] }
  const readSymbol = (row: Row, document: Row): string =>
    readText(
      'row' in from
        ? readPresent(from.row, row)
        : 'document' in from
          ? readPresent(from.document, document)
          : '',
    )
  const judges = [
    ...columns.flatMap((column) => createColumnJudge(column)),
    ...Object.entries(possible).map(([field, bounds]) => createFieldJudge(field, bounds, latest)),
  ]
  const read = (row: Row, document: Row, item: string | undefined): readonly Impossible[] => {
    let found: Impossible[] = NO_VALUES
    for (const judge of judges)
      for (const one of judge(row)) found = [...found, { ...one, symbol: item ?? readSymbol(row, document) }]
    return found
  }
  return (document: Row, item?: string): readonly Impossible[] =>
    lists === undefined
      ? read(document, document, item)
      : lists.flatMap((key) => listRows(document[key]).flatMap((row) => read(row, document, item)))
}

const NO_VALUES: never[] = []

/** What the column of a field cannot have. Days repeat: each is read once. */
const createColumnJudge = (column: TableColumn): readonly ((row: Row) => Judged)[] => {
  const { name: field, type, from, convert } = column
  if (!('row' in from)) return []
  const { row: keys } = from
  if (type === 'BIGINT' && convert === undefined)
    return [
      (row) => {
        const value = readText(readPresent(keys, row))
        return (toNumber(value) ?? 0) % 1 === 0
          ? NO_VALUES
          : [{ field, value, reason: 'has a fraction; the column is NULL there, and extra has the number' }]
      },
    ]
  if (type !== 'DATE' && type !== 'TIMESTAMP') return []
  const known = new Set<unknown>()
  return [
    (row) => {
      const value = readPresent(keys, row)
      const day = convert === undefined && typeof value === 'string' ? value.slice(0, 10) : value
      // A number is an instant.
      if (known.has(day) || (typeof value === 'number' && value > 0)) return NO_VALUES
      const text = readText(value)
      if (!NO_VALUE.test(text) && toValue(column, value) === null)
        return [{ field, value: text, reason: 'is no day' }]
      known.add(day)
      return NO_VALUES
    },
  ]
}

const createFieldJudge =
  (field: string, bounds: Possible, latest: Day) =>
  (row: Row): Judged => {
    const value = row[field]
    if (bounds.figures !== undefined)
      return isRow(value) ? findInFigures(field, value, bounds.figures, latest) : NO_VALUES
    const text = readText(value)
    const reason = bounds.like === undefined && NO_VALUE.test(text) ? undefined : judge(text, bounds, latest)
    return reason === undefined
      ? NO_VALUES
      : [{ field, value: bounds.past?.(text) ?? JSON.stringify(value), reason }]
  }

/** Figures are texts with a value for each period, the newest first. */
const findInFigures = (
  field: string,
  table: Row,
  figures: NonNullable<Possible['figures']>,
  latest: Day,
): Judged => {
  const compared: string[] = []
  const found = Object.entries(table).flatMap(([key, values]) => {
    const bounds = figures[key.toUpperCase()] ?? (/^year$/i.test(key) ? undefined : figures['*'])
    if (bounds === undefined) return []
    const periods = readText(values).split('|')
    const [newest = '', before] = periods
    if (bounds.times !== undefined)
      compared.push(newest === before && Math.abs(Number(newest)) >= 1 ? `${key} ${newest}` : '')
    const reasons = periods.map((value) => (NO_VALUE.test(value) ? undefined : judge(value, bounds, latest)))
    reasons[0] ??= judgeNewest(periods, bounds)
    return reasons.flatMap((reason, place) =>
      reason === undefined ? [] : [{ field: `${key} of ${field}`, value: periods[place] ?? '', reason }],
    )
  })
  // One figure may stay the same, and not all that matter.
  return compared.length < 2 || compared.includes('')
    ? found
    : [...found, { field, value: compared.join(', '), reason: 'repeats the period before' }]
}

/** A figure below this, in crore, grows more than fiftyfold where a company begins. */
const LARGE_CRORE = 100

const judgeNewest = (periods: readonly string[], { times }: Possible): string | undefined => {
  const [newest = 0, ...before] = periods.slice(0, 5).map((value) => Math.abs(toNumber(value) ?? 0))
  const usual = median(before)
  return times === undefined ||
    before.length < 4 ||
    usual === 0 ||
    newest < Math.max(LARGE_CRORE, times * usual)
    ? undefined
    : `is ${formatNumber(newest / usual)} times the median of the four before`
}

/** Why a value cannot be; undefined if it can. */
const judge = (text: string, { from, to, like, past }: Possible, latest: Day): string | undefined => {
  if (like?.test(text) === false) return 'is none of those known'
  if (past !== undefined) return past(text) > latest ? `is after ${latest}` : undefined
  const number = toNumber(text)
  if (number === undefined) return undefined
  if (from !== undefined && number < from) return `is below ${from}`
  return to !== undefined && number > to ? `is above ${to}` : undefined
}

/** Percentage points by which rounding moves a sum. */
const SUM_ROUNDING = 1.5
/** The share of records that have the sum, if one without is a fault. */
const USUAL_SUMS = 0.8
const MIN_SUMS = 5

/** Finds tables of figures that do not add up, where nearly all others do. */
const createSumCheck = (tables: readonly Table[]) => {
  const fields = tables.flatMap(({ possible = {} }) =>
    Object.entries(possible).flatMap(([field, { sum }]) => (sum === undefined ? [] : [{ field, sum }])),
  )
  const found: (Impossible & { readonly isSum: boolean })[] = []
  return {
    add: (record: Row): void => {
      for (const { field, sum } of fields) {
        const table = record[field]
        const parts = Object.entries(isRow(table) ? table : {}).flatMap(([key, values]) =>
          /^year$/i.test(key) ? [] : (toNumber(readText(values).split('|', 1)[0] ?? '') ?? []),
        )
        // A part that cannot be has a finding of its own.
        if (parts.length === 0 || parts.some((part) => part < 0 || part > sum)) continue
        const value = parts.reduce((total, part) => total + part, 0)
        found.push({
          field,
          value: formatNumber(value, 2),
          reason: `is the sum of its newest figures, not ${sum}`,
          symbol: readText(record.Symbol),
          isSum: Math.abs(value - sum) <= SUM_ROUNDING,
        })
      }
    },
    finish: (): readonly Impossible[] =>
      [...groupBy(found.splice(0), ({ field }) => field).values()].flatMap((own) => {
        const wrong = own.filter(({ isSum }) => !isSum)
        return own.length < MIN_SUMS || wrong.length > (1 - USUAL_SUMS) * own.length ? [] : wrong
      }),
  }
}

/**
 * The day after which nothing can have happened: that of the run, or, for what does not follow its time, of
 * its end.
 */
export const findLatestDay = (
  report: RunReport | undefined,
  { followsAsOf }: Pick<StreamDefinition, 'followsAsOf'>,
): Day => {
  if (report === undefined) return '9999-12-31'
  const times = followsAsOf ? [report.asOf] : [report.asOf, report.finishedAt]
  return toDay(Math.max(...times.map((time) => Date.parse(time))))
}
