import { createHash } from 'node:crypto'
import type { Row } from '../../model/row.js'

/** Digits of a key. It only needs to differ from those of the other records of its file. */
export const RECORD_KEY_LENGTH = 10

/** The texts that identify a record in its file. */
export const toIdentity = (row: Row, identity: readonly string[]): string => identity.map((key) => toText(row[key])).join('\n')

/** The key of a record, of what identifies it. `known-records.ts` computes the same in SQL. */
export const toRecordKey = (identity: string): string => createHash('md5').update(identity).digest('hex').slice(0, RECORD_KEY_LENGTH)

const toText = (value: unknown): string => (value === undefined || value === null || typeof value === 'object' ? '' : String(value))
