import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Day, toInstant } from '../../model/trading-day.js'
import { readRecordedDay } from '../../storage/history/history-folder.js'
import type { PreviousOutputs } from '../../storage/previous-outputs.js'
import type { OpenHistory } from '../history/open-history.js'

/** Writes each list as of a day into a folder. */
export const writeLists = async (
  { root, reader }: OpenHistory,
  { days, day, target }: { readonly days: readonly Day[]; readonly day: Day; readonly target: string },
): Promise<PreviousOutputs> => {
  const written = new Set<string>()
  await mkdir(target)
  for (const one of days.filter((other) => other <= day).toReversed())
    for (const [file, entry] of Object.entries((await readRecordedDay(root, one))?.entries ?? {})) {
      if (entry.stream === undefined || written.has(file)) continue
      await writeFile(join(target, file), reader.read(entry))
      written.add(file)
    }
  return { root: target, outputs: [...written], asOf: new Date(toInstant(day)).toISOString() }
}
