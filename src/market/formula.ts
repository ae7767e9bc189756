import { stringify } from 'csv-stringify/sync'
import { parseTable } from '../http/answer.js'
import { escapeFormula, isFormula } from '../model/formula.js'

/** A fast pre-check: most lines have no such cell and need no parsing. */
const MAY_CONTAIN_FORMULA = /(?:^|,)[\s"]*[=+\-@\t\r]/

/** Prefixes each cell of a CSV line that a spreadsheet would run as a formula with `'`. Other lines stay unchanged. */
export const escapeFormulasInLine = (line: string): string => {
  if (!MAY_CONTAIN_FORMULA.test(line)) return line
  const [cells = []] = parseTable(line)
  if (!cells.some(isFormula)) return line
  return stringify([cells.map(escapeFormula)], { record_delimiter: '', quoted_match: /^\s|\s$/ })
}
