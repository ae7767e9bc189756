import { type ColumnFacts, cellText, type RowChunk, type RowChunks, type Value } from '../../analysis/result-values.js'
import { formatCount, formatQuantity } from '../terminal/format.js'
import { fitColumns, renderTable, type TextColumn, type TextLine, wrapLines } from '../terminal/terminal.js'
import { clean, cut } from '../terminal/text.js'

export interface TableLimits {
  readonly columns: number
  /** Rows shown: of a longer result, the first and the last half. */
  readonly rows: number
}

/** A query plan is a multi-line drawing. */
const formatQueryPlan = async (chunks: RowChunks): Promise<readonly TextLine[]> => {
  const lines: TextLine[] = []
  for await (const chunk of chunks) for (const row of chunk.rows()) for (const line of String(row[1]).split('\n')) lines.push([[line]])
  return lines
}

type TextRow = readonly (string | undefined)[]

const NULL = 'NULL'
/** A cell takes at most a third of the line, but may always take this much. */
const MIN_CELL_WIDTH = 20

/** A table of rows for people: the rows and columns that fit, and what is left out. */
export const renderRows = async (columns: readonly ColumnFacts[], rows: RowChunks, room: TableLimits): Promise<readonly TextLine[]> => {
  if (columns[0]?.name === 'explain_key') return formatQueryPlan(rows)
  const { first, last, total } = await takeFirstAndLast(rows, room.rows, (row) => toTextRow(row, columns, room))
  const left = total - first.length - last.length
  const gap: TextRow = columns.map(() => '⋮')
  const all = left > 0 ? [...first, gap, ...last] : [...first, ...last]
  // The last columns are left out first.
  const own = columns.map(
    ({ name, isNumber }, index): TextColumn<TextRow> => ({
      title: formatTitle(name, room),
      align: isNumber ? 'right' : 'left',
      cell: (row) => row[index] ?? NULL,
      style: (row) => (row === gap || row[index] === undefined ? 'dim' : undefined),
      ...(index === 0 ? {} : { drop: columns.length - index }),
    }),
  )
  const fitting = fitColumns(own, all, room.columns)
  return [...renderTable(fitting, all), ...footer(columns, { total, left, fitting: fitting.length, room: room.columns })]
}

/** The first and the last rows, and their total; the others are dropped as they arrive. */
const takeFirstAndLast = async (chunks: RowChunks, max: number, keep: (row: readonly Value[]) => TextRow) => {
  const half = Math.ceil(max / 2)
  const first: TextRow[] = []
  const later: RowChunk[] = []
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

/** Two decimals, and below 10 four digits: 16 digits would hide other columns. */
const roundForPeople = (value: number): number => Number(Math.abs(value) < 10 ? value.toPrecision(4) : value.toFixed(2))

const computeMaxWidth = ({ columns }: TableLimits): number => Math.max(MIN_CELL_WIDTH, Math.floor(columns / 3))

const formatTitle = (name: string, room: TableLimits): string => cut(clean(name), computeMaxWidth(room))

const toTextRow = (row: readonly Value[], columns: readonly ColumnFacts[], room: TableLimits): TextRow =>
  row.map((value, index) => {
    const text = cellText(columns.length > 1 && typeof value === 'number' ? roundForPeople(value) : value, columns[index]?.isJson)
    if (text === undefined || columns.length === 1) return text === undefined ? undefined : clean(text)
    // Cut first: a cell may be a whole document.
    return cut(clean(text.slice(0, 4 * room.columns)), computeMaxWidth(room))
  })

const footer = (
  columns: readonly ColumnFacts[],
  { total, left, fitting, room }: Readonly<Record<'total' | 'left' | 'fitting' | 'room', number>>,
): readonly TextLine[] => {
  const hidden = columns.slice(fitting).map(({ name }) => clean(name))
  const rows = left > 0 ? ` (${formatCount(total - left)} shown)` : ''
  const others = `, ${formatQuantity(columns.length, 'column')} (${formatCount(fitting)} shown; not ${hidden.join(', ')})`
  return [[], ...wrapLines(`${formatQuantity(total, 'row')}${rows}${hidden.length > 0 ? others : ''}`, room, 'dim')]
}
