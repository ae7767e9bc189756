import { formatDay, formatNumber } from '../../../model/format.js'
import type { QueryAnswer } from '../../api/query.js'

export type TableData = Pick<QueryAnswer, 'columns' | 'rows'>

/** A column as it is shown: all its numbers with the same decimals and separators, so that they line up. */
export interface ColumnFormat {
  readonly decimals: number
  /** A percentage: small ones are 0.00. */
  readonly isPercent?: boolean
  readonly isGrouped: boolean
  /** In characters. */
  readonly width: number
}
const MAX_DECIMALS = 2
/** A column of smaller whole numbers, such as years, has no separators. */
const MIN_GROUPED = 10_000
export const WIDTH = { least: 6, most: 44, mostNarrow: 18 } as const
/** Columns of a place between two ends, 0 to 100. */
export const RANGE_COLUMN = 'place_52w_pct'

export const placeOf = (columns: TableData['columns'], wanted: string | null): number =>
  columns.findIndex(({ name }) => name === wanted)

export const formatColumn = (
  { rows }: TableData,
  { name, isNumber, title, unit }: TableData['columns'][number],
  place: number,
): ColumnFormat => {
  if (name === RANGE_COLUMN || name === 'url')
    return { decimals: 0, isGrouped: false, width: name === RANGE_COLUMN ? 16 : 10 }
  const decimals = isNumber && rows.some((row) => row[place]?.includes('.')) ? MAX_DECIMALS : 0
  const isGrouped = isNumber && rows.some((row) => Math.abs(Number(row[place])) >= MIN_GROUPED)
  const format = { decimals, isGrouped, isPercent: unit === '%' }
  let width = title.length + 2
  for (const row of rows)
    width = Math.max(width, formatCell(row[place] ?? null, isNumber ? format : undefined).length + 1)
  return { ...format, width: Math.min(WIDTH.most, Math.max(WIDTH.least, width)) }
}

export const DAY_CELL = /^\d{4}-\d\d-\d\d(?: (\d\d:\d\d)(?::\d\d(?:\.\d+)?)?)?$/

/** A cell for reading; its exact text is its title. */
export const formatCell = (text: string | null, format?: Omit<ColumnFormat, 'width'>): string => {
  if (text === null) return '–'
  if (format === undefined) return formatIfDay(text)
  const value = Number(text)
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return text
  if (Number.isInteger(value) && format.decimals > 0) return formatNumber(value, format.decimals)
  if (Number.isInteger(value)) return format.isGrouped ? formatNumber(value) : text
  return Math.abs(value) >= 0.01 || format.isPercent
    ? formatNumber(value, MAX_DECIMALS)
    : value.toPrecision(2)
}

export const formatIfDay = (text: string): string => {
  const [isDay, time] = DAY_CELL.exec(text) ?? []
  return isDay === undefined ? text : `${formatDay(text)}${time === undefined ? '' : `, ${time}`}`
}
