import { escapeFormula } from '../../../model/formula.js'

interface CsvColumn {
  readonly name: string
  readonly isNumber: boolean
  /** Where its cells are in a row. */
  readonly place: number
}

/** Gives rows to the reader as a file. A text that a spreadsheet would run as a formula starts with `'`. */
export const saveAsCsv = (name: string, columns: readonly CsvColumn[], rows: readonly (readonly (string | null)[])[]): void => {
  const lines = rows.map((row) =>
    columns.map(({ place, isNumber }) => {
      const cell = row[place] ?? null
      return cell === null ? '' : quote(isNumber ? cell : escapeFormula(cell))
    }),
  )
  const text = [columns.map((column) => quote(escapeFormula(column.name))), ...lines].map((cells) => `${cells.join(',')}\n`).join('')
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  Object.assign(document.createElement('a'), { href: url, download: `${name}.csv` }).click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

const quote = (cell: string): string => (/[",\n\r]|^\s|\s$|^$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)
