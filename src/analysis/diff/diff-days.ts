import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from '../../model/errors.js'
import type { Day } from '../../model/trading-day.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { createHistoryRequest } from '../../pipeline/session-request.js'
import { disk } from '../../storage/disk.js'
import { findUsedDay, listListedDays } from '../../storage/history/choose.js'
import { describeDamage, type History, openHistory } from '../../storage/history/record.js'
import { checkFolder } from '../output-folder.js'
import { addListingDays, createListingReader, markReturned, warnOfGaps, writeLists, writePresentLists } from './day-lists.js'
import { compareOutputs, type Difference, type DiffOptions } from './diff.js'
import type { FileComparison } from './file-comparison.js'
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
 * @throws UsageError if the history begins after one of the days, or both have the same record
 * @throws DamagedFileError if the record of one of the two days is damaged; a note names other damaged days
 */
export const diffDays = async (root: string, { since, until, streams, ...options }: DayDiffOptions): Promise<Difference> => {
  await checkFolder(root)
  if (until !== undefined && until <= since) throw new UsageError(`${until} is not after ${since}; the earlier day comes first`)
  const history = await openHistory(root)
  const [from, to] = [findUsedDay(history, since), until === undefined ? undefined : findUsedDay(history, until)]
  if (from === to) throw new UsageError(`${since} and ${until} have the same record, that of ${from}; choose other days`)
  const work = await disk.mkdtemp(join(tmpdir(), 'scripstream-diff-'))
  try {
    return await compareDays(history, { ...options, streams, from, to, work })
  } finally {
    await disk.rm(work, { recursive: true, force: true })
  }
}

const compareDays = async (
  history: History,
  {
    streams,
    from,
    to,
    work,
    ...options
  }: DiffOptions & { streams: readonly StreamDefinition[]; from: Day; to: Day | undefined; work: string },
): Promise<Difference> => {
  const { root } = history
  const days = listListedDays(history)
  const plan = streams.map((stream) => ({ stream, state: 'waiting' }) as const)
  const { documents, tables } = createHistoryRequest(plan, options)
  const warnings = new Set<string>()
  const warn = (text: string): void => void warnings.add(text)
  const previous = await writeLists(history, from, { tables, target: join(work, from), warn })
  const later = to === undefined ? undefined : await writeLists(history, to, { tables, target: join(work, `until ${to}`), warn })
  const [{ path: master = '' } = {}] = tables.find(({ table }) => table.name === 'master')?.table.files ?? []
  for (const [day, lists] of [
    [from, previous],
    [to, later],
  ] as const)
    if (lists && !lists.recordedOn.has(master))
      throw new UsageError(`the record of ${day} has no list of stocks, so nothing can be compared with it; choose another day`)
  const now = later?.root ?? (await writePresentLists(root, { tables, target: join(work, 'now') }))
  for (const { day = '', ...damage } of history.damages) if (day > from && (to === undefined || day < to)) warn(describeDamage(damage))
  let countLost = (): number => 0
  const extend = async (lists: FileComparison, notes: string[]): Promise<FileComparison> => {
    const compared = warnOfGaps(lists, { since: from, until: to, before: previous, after: later, now }, warn)
    const seen = await addSeenDocuments(history, compared, { files: documents, after: from, until: to, notes, warn })
    countLost = seen.countLost
    return seen
  }
  const { notes, counts, changes } = await compareOutputs(root, { previous, now, extend }, options)
  const read = createListingReader(history, warn)
  const earlier = days.filter((day) => day < from)
  const range = days.filter((day) => day > from && (to === undefined || day <= to))
  const listed = await addListingDays(read, range, await markReturned(read, earlier, changes))
  const lost = countLost()
  const between = range.filter((day) => day !== to).length
  return {
    folder: root,
    since: { day: from },
    ...(to === undefined ? {} : { day: to }),
    counts,
    notes: [
      ...notes,
      ...(lost === 0 ? [] : [`filings and news that are no longer in their files: ${lost}`]),
      ...(between === 0
        ? []
        : [
            `only the two ends are compared: what came and went in between is not listed (${between} recorded ${between === 1 ? 'day' : 'days'})`,
          ]),
      ...warnings,
    ],
    changes: listed,
  }
}
