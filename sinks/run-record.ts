import { isRow } from '../src/model/row.js'
import type { RunRecord } from '../src/pipeline/session.js'
import { stateDocument } from './state-document.js'

/** Reads the record of an unfinished run; `undefined` if there is none. */
export const recordIn = async (path: string): Promise<RunRecord | undefined> => {
  const record = await stateDocument(path)
  return isRecord(record) ? record : undefined
}

export const isRecord = (value: unknown): value is RunRecord & Record<string, unknown> =>
  isRow(value) && typeof value.run === 'string' && Number.isInteger(value.asOf) && typeof value.configuration === 'string'
