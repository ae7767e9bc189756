const STARTS_FORMULA = /^(?:[\t\r]|\s*[=+\-@])/
const IS_NO_FORMULA = /^\s*(?:-|[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*$/

/** Whether a spreadsheet would run a cell as a formula. */
export const isFormula = (cell: string): boolean => STARTS_FORMULA.test(cell) && !IS_NO_FORMULA.test(cell)

/** Prefixes a cell with `'` if a spreadsheet would run it as a formula. Numbers stay unchanged. */
export const escapeFormula = (cell: string): string => (isFormula(cell) ? `'${cell}` : cell)
