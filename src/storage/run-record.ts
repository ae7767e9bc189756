import { isRow } from '../model/row.js'
import type { RunRecord } from '../pipeline/session.js'
import { readStateDocument } from './state-document.js'

/** Reads the record of an unfinished run; `undefined` if there is none. */
export const readRunRecord = async (path: string): Promise<RunRecord | undefined> => {
  const record = await readStateDocument(path)
  return isRunRecord(record) ? record : undefined
}

export const isRunRecord = (value: unknown): value is RunRecord & Record<string, unknown> =>
  isRow(value) && typeof value.run === 'string' && Number.isInteger(value.asOf) && typeof value.configuration === 'string'
