import type { RewrittenFile } from '../../model/report.js'
import type { Day } from '../../model/trading-day.js'
import { REWRITTEN, type Rewritten, unpack } from '../../storage/history/day-file.js'
import { listDays, readRecordedDay } from '../../storage/history/history-folder.js'

/** A file of candles that a recorded run replaced. */
export interface RewrittenOn extends RewrittenFile {
  readonly day: Day
  /** ISO 8601. */
  readonly knownAt: string
  readonly stream: string
}

/** The files of candles that the runs of all recorded days replaced, oldest first. @throws DamagedFileError */
export const readRewritten = async (root: string): Promise<readonly RewrittenOn[]> => {
  const all: RewrittenOn[] = []
  for (const day of await listDays(root)) {
    const entry = (await readRecordedDay(root, day))?.entries[REWRITTEN]
    if (entry === undefined) continue
    // A file without a time was recorded by an older version: that of the record counts.
    for (const [stream, files] of Object.entries((await unpack(entry)) as Rewritten))
      all.push(...files.map((file) => ({ day, stream, knownAt: entry.knownAt, ...file })))
  }
  return all
}
