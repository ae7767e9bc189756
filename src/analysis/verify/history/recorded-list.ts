import { text } from 'node:stream/consumers'
import { DamagedFileError } from '../../../model/errors.js'
import type { Day } from '../../../model/trading-day.js'
import { MASTER_MAP } from '../../../pipeline/known-stocks.js'
import type { Entry } from '../../../storage/history/day-file.js'
import { createFactReader, type RecordedFacts } from '../../../storage/history/row-facts.js'
import type { OpenHistory } from '../../history/open-history.js'
import type { Finding } from '../finding.js'
import { parseLines } from '../record-checks.js'
import { checkColumns } from './columns.js'
import { createDamage, type ListCheck } from './list-check.js'
import { checkMembers } from './members.js'
import { checkFigures } from './restated.js'
import { type ContentDay, findUnchanged } from './unchanged.js'

export interface RecordedList {
  readonly file: string
  readonly stream: string
  readonly days: readonly { readonly day: Day; readonly entry: Entry }[]
  readonly isSession: (day: Day) => boolean
}

/** Compares the recorded days of a list. */
export const verifyList = async (history: OpenHistory, { file, stream, days, isSession }: RecordedList): Promise<readonly Finding[]> => {
  const checks = createChecks(file, stream)
  const read = createListReader(history, file, checks)
  const contents: ContentDay[] = []
  const damages = new Map<string, Finding>()
  for (const { day, entry } of days) {
    try {
      const { content, facts } = await read(entry)
      checks.forEach((check, index) => void check.addDay(day, facts[index] ?? new Int32Array()))
      if (isSession(day)) contents.push({ day, content })
    } catch (error) {
      if (!(error instanceof DamagedFileError)) throw error
      if (!damages.has(error.message)) damages.set(error.message, createDamage(history.root, day, error.message))
    }
  }
  return [...damages.values(), ...checks.flatMap((check) => check.finish()), ...findUnchanged(file, contents)]
}

const createChecks = (file: string, stream: string): readonly ListCheck[] => [
  checkColumns(file),
  ...(stream === 'fundamental-data' ? [checkFigures(file)] : []),
  ...(file === MASTER_MAP || stream === 'all-indices' ? [checkMembers(file, 'warning')] : []),
  // The exchange may put a stock under surveillance again.
  ...(stream === 'surveillance-lists' ? [checkMembers(file, 'info')] : []),
]

const createListReader = (
  { root, reader }: OpenHistory,
  file: string,
  checks: readonly ListCheck[],
): ((entry: Entry) => Promise<RecordedFacts>) => {
  const facts = createFactReader(root, checks)
  if (file.endsWith('.json')) return facts.read
  return async (entry) => facts.readRows(parseLines((await text(reader.read(entry))).split('\n')))
}
