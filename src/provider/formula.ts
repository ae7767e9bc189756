import { stringify } from 'csv-stringify/sync'
import { tableOf } from './answer.js'

/** A cell may begin with such a character; most lines have none, and need not be taken apart. */
const MAY_HOLD_FORMULA = /(?:^|,)[\s"]*[=+\-@\t\r]/
const STARTS_FORMULA = /^(?:[\t\r]|\s*[=+\-@])/
const IS_NO_FORMULA = /^\s*(?:-|[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*$/

/** A line of CSV in which a spreadsheet finds no formula: a cell that would be one starts with `'`. Any other line stays as it is. */
export const withoutFormulas = (line: string): string => {
  if (!MAY_HOLD_FORMULA.test(line)) return line
  const [cells = []] = tableOf(line)
  if (!cells.some(isFormula)) return line
  return stringify([cells.map(asText)], { record_delimiter: '', quoted_match: /^\s|\s$/ })
}

/** The text of a cell; with `'` before it where a spreadsheet would take it for a formula. Numbers stay as they are. */
export const asText = (cell: string): string => (isFormula(cell) ? `'${cell}` : cell)

const isFormula = (cell: string): boolean => STARTS_FORMULA.test(cell) && !IS_NO_FORMULA.test(cell)
