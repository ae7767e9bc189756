import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Day, toInstant } from '../../model/trading-day.js'
import { statFile } from '../../storage/file-system.js'
import { readRecordedDay, readUndamaged, type Warn } from '../../storage/history/history-folder.js'
import type { PreviousOutputs } from '../../storage/previous-outputs.js'
import type { OpenHistory } from '../history/open-history.js'
import type { FileComparison } from './file-comparison.js'

interface ListsOfDay {
  readonly days: readonly Day[]
  readonly day: Day
  readonly target: string
  /** Gets the damaged earlier days, which are left out. */
  readonly warn: Warn
}

/** The lists as of a recorded day, and the day whose record has each of them: the newest one up to that day. */
interface WrittenLists extends PreviousOutputs {
  readonly recordedOn: ReadonlyMap<string, Day>
}

/** Writes each list as of a recorded day into a folder. @throws DamagedFileError if that day is damaged */
export const writeLists = async ({ root, reader }: OpenHistory, { days, day, target, warn }: ListsOfDay): Promise<WrittenLists> => {
  const written = new Map<string, Day>()
  await mkdir(target)
  for (const one of days.filter((other) => other <= day).toReversed()) {
    const record = await (one === day ? readRecordedDay(root, one) : readUndamaged(root, one, warn))
    for (const [file, entry] of Object.entries(record?.entries ?? {})) {
      if (entry.stream === undefined || written.has(file)) continue
      await writeFile(join(target, file), reader.read(entry))
      written.set(file, one)
    }
  }
  return { root: target, outputs: [...written.keys()], recordedOn: written, asOf: new Date(toInstant(day)).toISOString() }
}

/** Two recorded days, and the days whose records have their lists; without `until`, the present. */
interface ComparedDays {
  readonly since: Day
  readonly until: Day | undefined
  readonly before: WrittenLists
  readonly after: WrittenLists | undefined
  /** The folder with the later lists. */
  readonly now: string
}

/** Warns of lists that are compared without a record of their day: without a warning, unknown would read as "no change". */
export const warnOfGaps = (lists: FileComparison, days: ComparedDays, warn: Warn): FileComparison => ({
  ...lists,
  readVersions: (file, earlier) => {
    const gap = describeGap(file, days)
    if (gap !== undefined) warn(gap)
    return lists.readVersions(file, earlier)
  },
})

const describeGap = (file: string, { since, until, before, after, now }: ComparedDays): string | undefined => {
  const [from, to] = [before.recordedOn.get(file), after?.recordedOn.get(file)]
  if (from === undefined)
    return statFile(join(now, file)) === undefined
      ? undefined
      : `${file} was not compared: neither ${since} nor an earlier day has a record of it`
  if (to !== undefined && to <= since) return `${file} was not compared: no day after ${since} and up to ${until} has a record of it`
  if (from < since) return `${file} was compared with its record of ${from}: ${since} has none`
  return to === until ? undefined : `${file} was compared up to its record of ${to}: ${until} has none`
}
