import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Day, toInstant } from '../../model/trading-day.js'
import { readRecordedDay, readUndamaged, type Warn } from '../../storage/history/history-folder.js'
import type { PreviousOutputs } from '../../storage/previous-outputs.js'
import type { OpenHistory } from '../history/open-history.js'

interface ListsOfDay {
  readonly days: readonly Day[]
  readonly day: Day
  readonly target: string
  /** Gets the damaged earlier days, which are left out. */
  readonly warn: Warn
}

/** Writes each list as of a recorded day into a folder. @throws DamagedFileError if that day is damaged */
export const writeLists = async ({ root, reader }: OpenHistory, { days, day, target, warn }: ListsOfDay): Promise<PreviousOutputs> => {
  const written = new Set<string>()
  await mkdir(target)
  for (const one of days.filter((other) => other <= day).toReversed()) {
    const record = await (one === day ? readRecordedDay(root, one) : readUndamaged(root, one, warn))
    for (const [file, entry] of Object.entries(record?.entries ?? {})) {
      if (entry.stream === undefined || written.has(file)) continue
      await writeFile(join(target, file), reader.read(entry))
      written.add(file)
    }
  }
  return { root: target, outputs: [...written], asOf: new Date(toInstant(day)).toISOString() }
}
