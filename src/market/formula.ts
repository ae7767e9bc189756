import { stringify } from 'csv-stringify/sync'
import { parseTable } from '../http/answer.js'

/** A fast pre-check: most lines have no such cell and need no parsing. */
const MAY_CONTAIN_FORMULA = /(?:^|,)[\s"]*[=+\-@\t\r]/
const STARTS_FORMULA = /^(?:[\t\r]|\s*[=+\-@])/
const IS_NO_FORMULA = /^\s*(?:-|[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*$/

/** Prefixes each cell of a CSV line that a spreadsheet would run as a formula with `'`. Other lines stay unchanged. */
export const escapeFormulasInLine = (line: string): string => {
  if (!MAY_CONTAIN_FORMULA.test(line)) return line
  const [cells = []] = parseTable(line)
  if (!cells.some(isFormula)) return line
  return stringify([cells.map(escapeFormula)], { record_delimiter: '', quoted_match: /^\s|\s$/ })
}

/** Prefixes a cell with `'` if a spreadsheet would run it as a formula. Numbers stay unchanged. */
export const escapeFormula = (cell: string): string => (isFormula(cell) ? `'${cell}` : cell)

const isFormula = (cell: string): boolean => STARTS_FORMULA.test(cell) && !IS_NO_FORMULA.test(cell)
