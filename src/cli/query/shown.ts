import { formatCount, formatQuantity } from '../format.js'
import { tableOf } from '../table.js'
import type { Line } from '../terminal.js'
import { clean, cut, width } from '../text.js'
import { type Bunch, type Cells, type ColumnFacts, cellText, type Value } from './cells.js'

export interface Room {
  readonly columns: number
  /** Rows shown: of a longer result, the first and the last half. */
  readonly rows: number
}

/** A query plan is a multi-line drawing. */
const planLines = async (chunks: Cells): Promise<readonly Line[]> => {
  const lines: Line[] = []
  for await (const chunk of chunks)
    for (const row of chunk.rows())
      lines.push(
        ...String(row[1])
          .split('\n')
          .map((line): Line => [[line]]),
      )
  return lines
}

type Row = readonly (string | undefined)[]

const NULL = 'NULL'
const GAP = 2
/** A cell takes at most a third of the line, but may always take this much. */
const LEAST_WIDTH = 20

/** A table of rows for people: the rows and columns that fit, and what is left out. */
export const shown = async (columns: readonly ColumnFacts[], rows: Cells, room: Room): Promise<readonly Line[]> => {
  if (columns[0]?.name === 'explain_key') return planLines(rows)
  const { first, last, total } = await ends(rows, room.rows, (row) => rowOf(row, columns, room))
  const left = total - first.length - last.length
  const gap: Row = columns.map(() => '⋮')
  const all = left > 0 ? [...first, gap, ...last] : [...first, ...last]
  const fitting = fittingColumns(columns, all, room.columns)
  const table = tableOf(
    columns.slice(0, fitting).map(({ name, isNumber }, index) => ({
      title: titleOf(name, room),
      align: isNumber ? ('right' as const) : ('left' as const),
      cell: (row: Row) => row[index] ?? NULL,
      style: (row: Row) => (row === gap || row[index] === undefined ? ('dim' as const) : undefined),
    })),
    all,
  )
  return [...table, ...footer(columns, { total, left, fitting })]
}

/** The first and the last rows, and their total; the others are dropped as they arrive. */
const ends = async (chunks: Cells, max: number, keep: (row: readonly Value[]) => Row) => {
  const half = Math.ceil(max / 2)
  const first: Row[] = []
  const later: Bunch[] = []
  let [total, waiting] = [0, 0]
  for await (const chunk of chunks) {
    total += chunk.count
    const taken = Math.min(chunk.count, half - first.length)
    if (taken > 0) first.push(...chunk.rows().slice(0, taken).map(keep))
    if (taken === chunk.count) continue
    later.push({ count: chunk.count - taken, rows: () => chunk.rows().slice(taken) })
    waiting += chunk.count - taken
    while (waiting - (later[0]?.count ?? 0) >= max - half) waiting -= later.shift()?.count ?? waiting
  }
  const last = later.flatMap(({ rows }) => rows()).slice(Math.max(0, waiting - (max - half)))
  return { first, last: last.map(keep), total }
}

const widest = ({ columns }: Room): number => Math.max(LEAST_WIDTH, Math.floor(columns / 3))

const titleOf = (name: string, room: Room): string => cut(clean(name), widest(room))

const rowOf = (row: readonly Value[], columns: readonly ColumnFacts[], room: Room): Row =>
  row.map((value, index) => {
    const text = cellText(value, columns[index]?.isJson)
    if (text === undefined || columns.length === 1) return text === undefined ? undefined : clean(text)
    // Cut first: a cell may be a whole document.
    return cut(clean(text.slice(0, 4 * room.columns)), widest(room))
  })

const fittingColumns = (columns: readonly ColumnFacts[], rows: readonly Row[], room: number): number => {
  let used = -GAP
  const fitting = columns.findIndex(({ name }, index) => {
    used += GAP + Math.max(width(clean(name)), ...rows.map((row) => width(row[index] ?? NULL)))
    return used > room
  })
  return fitting === -1 ? columns.length : Math.max(1, fitting)
}

const footer = (
  columns: readonly ColumnFacts[],
  { total, left, fitting }: { readonly total: number; readonly left: number; readonly fitting: number },
): readonly Line[] => {
  const hidden = columns.slice(fitting).map(({ name }) => clean(name))
  const rows = `${formatQuantity(total, 'row')}${left > 0 ? ` (${formatCount(total - left)} shown)` : ''}`
  const columnsText =
    hidden.length > 0 ? `, ${formatQuantity(columns.length, 'column')} (${formatCount(fitting)} shown; not ${hidden.join(', ')})` : ''
  return [[], [[`${rows}${columnsText}`, 'dim']]]
}
