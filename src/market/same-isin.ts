import { BadAnswerError } from '../model/errors.js'
import { type Row, readText } from '../model/row.js'

const ISIN_FIELDS = ['isin', 'Isin', 'ISIN'] as const

/**
 * Returns the records if none names another ISIN; records without an ISIN pass. A wrong ISIN means that the whole answer belongs to another
 * stock, such as a late answer on a reused connection.
 *
 * @throws BadAnswerError with the reason `other-stock`
 */
export const assertSameIsin = <R extends Row>(isin: string, rows: readonly R[]): readonly R[] => {
  for (const row of rows) {
    for (const field of ISIN_FIELDS) {
      const value = row[field]
      if (value === undefined || value === isin) continue
      const named = readText(value)
      if (named !== '' && named !== isin)
        throw new BadAnswerError('other-stock', `the answer is about another stock (${named}, not ${isin})`)
    }
  }
  return rows
}
