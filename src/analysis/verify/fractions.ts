import { getOrAdd } from '../../model/map.js'
import { type Row, readText, toNumber } from '../../model/row.js'
import type { Table } from '../../model/table.js'
import type { Finding } from './finding.js'

/** Finds numbers with a fraction in fields whose column has whole numbers: the column is NULL there, so that a sum lacks them. */
export const createFractionCheck = (tables: readonly Table[]) => {
  const columns = tables.flatMap(({ shape, columns: own }) => (shape === 'candles' ? [] : own)).filter(({ type }) => type === 'BIGINT')
  const keys = new Set(columns.flatMap(({ from, convert }) => ('row' in from && convert === undefined ? from.row : [])))
  const found = new Map<string, string[]>()
  return {
    add: (row: Row): void => {
      for (const key of keys) {
        const text = readText(row[key])
        if ((toNumber(text) ?? 0) % 1 !== 0) getOrAdd(found, key, (): string[] => []).push(text)
      }
    },
    finish: (file: string): readonly Finding[] =>
      [...found].map(([key, texts]) => ({
        ...{ check: 'files', severity: 'warning', file },
        detail: `${key}: ${texts.length === 1 ? 'a number has' : `${texts.length} numbers have`} a fraction, such as ${texts[0]}; the column is NULL there, and extra has the number`,
      })),
  }
}
