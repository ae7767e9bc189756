import { BadAnswer } from '../model/errors.js'
import { type Row, textOf } from '../model/row.js'

const FIELDS = ['isin', 'Isin', 'ISIN'] as const

/**
 * Hands on records of the stock with an ISIN. One that names another stock makes the whole answer a stranger's (an answer that came too
 * late on a kept connection, say); one that names none passes.
 */
export const ownedBy = <R extends Row>(isin: string, rows: readonly R[]): readonly R[] => {
  for (const row of rows) {
    for (const field of FIELDS) {
      const value = row[field]
      if (value === undefined || value === isin) continue
      const named = textOf(value)
      if (named !== '' && named !== isin) throw new BadAnswer('identity', `the answer is about another stock (${named}, not ${isin})`)
    }
  }
  return rows
}
