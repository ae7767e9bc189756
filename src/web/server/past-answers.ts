import { join } from 'node:path'
import { MASTER_MAP } from '../../market/listings.js'
import type { Day } from '../../model/trading-day.js'
import { REPORT, type ShowAnswers, type ShowRequest, type ShowRunner } from '../../show/index.js'
import { listNames, statFile } from '../../storage/file-system.js'
import { FACTS_FILE, listRecordedDays, toHistoryPath } from '../../storage/history/record.js'

/** Characters of all kept answers, as JSON: one day of the whole market has two million. */
const MAX_KEPT_CHARACTERS = 10_000_000

interface PastAnswer {
  readonly version: string
  readonly characters: number
  readonly answer: unknown
}

/**
 * Keeps answers about recorded days: what was known on a day does not change until its record, or a file that
 * has documents and candles of that day, is written again. The oldest ones go first. An answer is kept once
 * it is complete, so that no reader depends on another one.
 */
export const rememberPast = (root: string, show: ShowRunner): ShowRunner => {
  const known = new Map<string, PastAnswer>()
  const keep = (key: string, kept: PastAnswer): void => {
    known.delete(key)
    known.set(key, kept)
    let characters = [...known.values()].reduce((sum, one) => sum + one.characters, 0)
    for (const [oldest, one] of known) {
      if (characters <= MAX_KEPT_CHARACTERS) return
      known.delete(oldest)
      characters -= one.characters
    }
  }
  return async <Kind extends keyof ShowAnswers>(
    request: ShowRequest<Kind>,
    signal?: AbortSignal,
  ): Promise<ShowAnswers[Kind]> => {
    if (request.day === undefined) return show(request, signal)
    const [key, version] = [JSON.stringify(request), await readVersion(root, request.day)]
    const found = known.get(key)
    if (found?.version === version) return found.answer as ShowAnswers[Kind]
    const answer = await show(request, signal)
    if (answer !== undefined) keep(key, { version, answer, characters: JSON.stringify(answer).length })
    return answer
  }
}

/** Differs once another record answers for the day, or a run has written the files of now. */
const readVersion = async (root: string, day: Day): Promise<string> => {
  const days = (await listRecordedDays(root)).filter((one) => one <= day)
  const records = await Promise.all(
    days.map(async (one) =>
      (await listNames(toHistoryPath(root, one))).map((name) => toHistoryPath(root, one, name, FACTS_FILE)),
    ),
  )
  return [join(root, REPORT), join(root, MASTER_MAP), ...records.flat()].map(stampFile).join('\n')
}

const stampFile = (path: string): string => {
  const { mtimeMs, ctimeMs, size } = statFile(path) ?? {}
  return `${path} ${mtimeMs} ${ctimeMs} ${size}`
}
