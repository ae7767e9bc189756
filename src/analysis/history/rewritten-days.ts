import type { RewrittenFile } from '../../model/report.js'
import type { Day } from '../../model/trading-day.js'
import { REWRITTEN, unpack } from '../../storage/history/day-file.js'
import { listDays, readRecordedDay } from '../../storage/history/history-folder.js'

/** A file of candles that a recorded run replaced. */
export interface RewrittenOn extends RewrittenFile {
  readonly day: Day
  /** ISO 8601. */
  readonly knownAt: string
  readonly stream: string
}

/** The files of candles that the runs of all recorded days until a day replaced, oldest first. @throws DamagedFileError */
export const readRewritten = async (root: string, until: Day = '9999'): Promise<readonly RewrittenOn[]> => {
  const all: RewrittenOn[] = []
  for (const day of (await listDays(root)).filter((one) => one <= until)) {
    const entry = (await readRecordedDay(root, day))?.entries[REWRITTEN]
    if (entry === undefined) continue
    for (const [stream, files] of Object.entries((await unpack(entry)) as Readonly<Record<string, readonly RewrittenFile[]>>))
      all.push(...files.map(({ item, reason }) => ({ day, knownAt: entry.knownAt, stream, item, reason })))
  }
  return all
}
