import { createHash } from 'node:crypto'
import type { Row } from '../../model/row.js'

/** Digits of a key. It only needs to differ from those of the other records of its file. */
export const RECORD_KEY_LENGTH = 10

/** The key of a record in its file, of the texts that identify it. `table-views.ts` computes the same in SQL. */
export const toRecordKey = (row: Row, identity: readonly string[]): string =>
  createHash('md5')
    .update(identity.map((key) => toText(row[key])).join('\n'))
    .digest('hex')
    .slice(0, RECORD_KEY_LENGTH)

const toText = (value: unknown): string => (value === undefined || value === null || typeof value === 'object' ? '' : String(value))
