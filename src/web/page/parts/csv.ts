import { escapeFormula } from '../../../model/formula.js'

interface CsvColumn {
  readonly name: string
  readonly isNumber: boolean
  /** Where its cells are in a row. */
  readonly place: number
}

/** A blank at an end, and an empty text, which is not a missing one. */
const NEEDS_QUOTES = /^\s|\s$|^$/

/** Gives rows to the reader as a file. A text that a spreadsheet would run as a formula starts with `'`. */
export const saveAsCsv = async (
  name: string,
  columns: readonly CsvColumn[],
  rows: readonly (readonly (string | null)[])[],
): Promise<void> => {
  const { stringify } = await import('csv-stringify/browser/esm/sync')
  const cells = rows.map((row) =>
    columns.map(({ place, isNumber }) => {
      const cell = row[place] ?? null
      return cell === null || isNumber ? cell : escapeFormula(cell)
    }),
  )
  const text = stringify([columns.map((column) => escapeFormula(column.name)), ...cells], {
    quoted_match: NEEDS_QUOTES,
  })
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  Object.assign(document.createElement('a'), { href: url, download: `${name}.csv` }).click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
