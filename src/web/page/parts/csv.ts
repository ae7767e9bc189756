import { escapeFormula } from '../../../model/formula.js'

/** Rows as CSV. A text that a spreadsheet would run as a formula starts with `'`. */
export const toCsv = (
  columns: readonly { readonly name: string; readonly isNumber: boolean }[],
  rows: readonly (readonly (string | null)[])[],
): string => {
  const head = columns.map(({ name }) => quote(escapeFormula(name)))
  const lines = rows.map((row) =>
    row.map((cell, place) => (cell === null ? '' : quote(columns[place]?.isNumber ? cell : escapeFormula(cell)))),
  )
  return `${[head, ...lines].map((cells) => cells.join(',')).join('\n')}\n`
}

const quote = (cell: string): string => (/[",\n\r]|^\s|\s$|^$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** Gives a text to the reader as a file. */
export const saveFile = (name: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
