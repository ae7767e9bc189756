import type { ChangeText } from '../model/change.js'
import { formatCrore, groupDigits, nameFirst } from '../model/format.js'
import { isRow, type Row, readText } from '../model/row.js'

/** The quarterly results of a stock, consolidated ones first. */
export const RESULT_TABLES = ['incomeStat_cq', 'incomeStat_sq'] as const

const MAX_RESTATED = 2

/** The newest quarter, if the stock had results, and none of it or of a later one. */
export const describeNewQuarter = (row: Row, earlier: Row): readonly ChangeText[] => {
  for (const name of RESULT_TABLES) {
    const [now, then] = [readQuarters(row[name]), readQuarters(earlier[name])]
    const [[quarter, figures] = []] = now
    if (
      quarter === undefined ||
      figures === undefined ||
      then.size === 0 ||
      [...then.keys()].some((known) => known >= quarter)
    )
      continue
    const told = ['SALES', 'NET_PROFIT'].flatMap((key) => {
      const value = figures.get(key)
      return value === undefined
        ? []
        : [
            `${nameFigure(key)} ${formatCrore(Number(value))}${compareWithYear(value, now.get(String(Number(quarter) - 100))?.get(key))}`,
          ]
    })
    const detail = [`quarter to ${toMonth(quarter)}`, told.join(', ')]
      .filter((part) => part !== '')
      .join(': ')
    return [{ change: 'new', to: quarter, detail }]
  }
  return []
}

/** The figures of earlier quarters that were restated. */
export const describeRestated = (row: Row, earlier: Row): readonly ChangeText[] => {
  const restated =
    RESULT_TABLES.map((name) => compareFigures(row[name], earlier[name])).find(({ length }) => length > 0) ??
    []
  const [first] = restated
  if (first === undefined) return []
  const texts = restated.map(
    ({ from, to, name: figure }) => `${figure} from ${groupDigits(from)} to ${groupDigits(to)}`,
  )
  return [
    {
      change: 'changed',
      from: first.from,
      to: first.to,
      detail: `restated: ${nameFirst(texts, MAX_RESTATED)}`,
    },
  ]
}

/** A figure of a quarter that both tables have, such as `sales of 2025-09`, with another value. */
export type RestatedFigure = Readonly<Record<'name' | 'from' | 'to', string>>

export const compareFigures = (table: unknown, earlier: unknown): readonly RestatedFigure[] => {
  const then = readQuarters(earlier)
  return [...readQuarters(table)].flatMap(([quarter, figures]) =>
    [...figures].flatMap(([key, to]) => {
      const from = then.get(quarter)?.get(key)
      return from === undefined || Number(from) === Number(to)
        ? []
        : [{ from, to, name: `${nameFigure(key)} of ${toMonth(quarter)}` }]
    }),
  )
}

/**
 * The figures of each quarter (`202512`), newest first, by column in capitals. Texts that are no numbers are
 * left out.
 */
const readQuarters = (table: unknown): ReadonlyMap<string, ReadonlyMap<string, string>> => {
  if (!isRow(table)) return new Map()
  const columns = Object.entries(table).map(
    ([name, values]) => [name.toUpperCase(), readText(values).split('|')] as const,
  )
  const quarters = columns.find(([name]) => name === 'YEAR')?.[1] ?? []
  const figuresAt = (index: number) =>
    columns.flatMap(([name, values]) =>
      isFigure(name, values[index]) ? [[name, values[index]] as const] : [],
    )
  return new Map(
    quarters.flatMap((quarter, index) =>
      /^\d{6}$/.test(quarter) ? [[quarter, new Map(figuresAt(index) as [string, string][])] as const] : [],
    ),
  )
}

const isFigure = (name: string, value: string | undefined): boolean =>
  name !== 'YEAR' && value !== undefined && value.trim() !== '' && Number.isFinite(Number(value))

const nameFigure = (name: string): string => name.toLowerCase().replaceAll('_', ' ')
const toMonth = (quarter: string): string => `${quarter.slice(0, 4)}-${quarter.slice(4)}`

/**
 * ` (+12 %)`: the change from the same quarter a year before; empty after a loss, with which it says nothing.
 */
const compareWithYear = (value: string, before: string | undefined): string => {
  if (before === undefined || Number(before) <= 0) return ''
  const percent = Math.round((Number(value) / Number(before) - 1) * 100)
  return ` (${percent < 0 ? '' : '+'}${percent} % on the year)`
}
