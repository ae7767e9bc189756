import { join } from 'node:path'
import { UsageError } from '../../model/errors.js'
import type { Day } from '../../model/trading-day.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { createHistoryRequest } from '../../pipeline/history-request.js'
import { listDays } from '../../storage/history/history-folder.js'
import { findUsedDay } from '../history/as-of.js'
import { withTemporaryHistory } from '../history/open-history.js'
import { checkFolder } from '../output-folder.js'
import { warnOfGaps, writeLists } from './day-lists.js'
import { compareOutputs, type Difference, type DiffOptions } from './diff.js'
import type { FileComparison } from './file-comparison.js'
import { addListingDays, markReturned } from './listing-days.js'
import { addSeenDocuments } from './seen-documents.js'

export interface DayDiffOptions extends DiffOptions {
  readonly streams: readonly StreamDefinition[]
  readonly since: Day
  /** The present if absent. */
  readonly until?: Day | undefined
}

/**
 * Lists what changed in a folder since a recorded day, until another one or now. If a day has no record, the newest one before it counts. New
 * filings and news are those that appeared on the days in between; their text is that of the present files.
 *
 * @throws UsageError if the history begins after one of the days
 * @throws DamagedFileError if the record of one of the two days is damaged; a note names other damaged days
 */
export const diffDays = async (root: string, { since, until, streams, ...options }: DayDiffOptions): Promise<Difference> => {
  await checkFolder(root)
  if (until !== undefined && until <= since) throw new UsageError(`${until} is not after ${since}; the earlier day comes first`)
  const days = await listDays(root)
  const [from, to] = [findUsedDay(root, days, since), until === undefined ? undefined : findUsedDay(root, days, until)]
  const laterDays = days.filter((day) => day > from)
  const { documents } = createHistoryRequest(
    streams.map((stream) => ({ stream, state: 'waiting' })),
    options,
  )
  const warnings = new Set<string>()
  const warn = (text: string): void => void warnings.add(text)
  return withTemporaryHistory(root, async (open, work) => {
    const history = { ...open, warn }
    const previous = await writeLists(history, { days, day: from, target: join(work, from), warn })
    const later = to === undefined ? undefined : await writeLists(history, { days, day: to, target: join(work, `until ${to}`), warn })
    const now = later?.root ?? root
    let countLost = (): number => 0
    const extend = async (lists: FileComparison, notes: string[]): Promise<FileComparison> => {
      const seen = await addSeenDocuments(root, warnOfGaps(lists, { since: from, until: to, before: previous, after: later, now }, warn), {
        files: documents,
        days: laterDays,
        until: to,
        notes,
        warn,
      })
      countLost = seen.countLost
      return seen
    }
    const { notes, counts, changes } = await compareOutputs(root, { previous, now, extend }, options)
    const earlier = days.filter((day) => day < from)
    const range = laterDays.filter((day) => to === undefined || day <= to)
    const listed = await addListingDays(history, range, await markReturned(history, earlier, changes))
    const lost = countLost()
    return {
      folder: root,
      since: { day: from },
      ...(to === undefined ? {} : { day: to }),
      counts,
      notes: [...notes, ...(lost === 0 ? [] : [`filings and news that are no longer in their files: ${lost}`]), ...warnings],
      changes: listed,
    }
  })
}
