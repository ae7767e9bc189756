import { listTables, type StreamDefinition } from '../../engine/define-stream.js'
import { UsageError } from '../../model/errors.js'
import { formatNumber, formatQuantity } from '../../model/format.js'
import type { Day } from '../../model/trading-day.js'
import { chooseEachDay, describeEarlier, findUsedDay, listListedDays } from '../../storage/history/choose.js'
import { createListReader } from '../../storage/history/lists.js'
import { describeDamage, type History, leaveOutDamaged, openHistory } from '../../storage/history/record.js'
import { checkFolder } from '../output-folder.js'
import type { Change } from './change.js'
import { compareStates, type Difference, type DiffOptions } from './diff.js'
import { type ComparedDays, openDays } from './recorded-days.js'

export interface DayDiffOptions extends DiffOptions {
  readonly streams: readonly StreamDefinition[]
  readonly since: Day
  /** The present if absent. */
  readonly until?: Day | undefined
}

/**
 * Lists what changed in a folder since a recorded day, until another one or now. If a day has no record, the
 * newest one before it counts. New filings and news are those that appeared on the days in between; their
 * text is that of the present files.
 *
 * @throws UsageError if the history begins after one of the days, or both have the same record
 * @throws DamagedFileError if the record of one of the two days is damaged; a note names other damaged days
 */
export const diffDays = async (
  root: string,
  { since, until, streams, ...options }: DayDiffOptions,
): Promise<Difference> => {
  await checkFolder(root)
  if (until !== undefined && until <= since)
    throw new UsageError(`${until} is not after ${since}; the earlier day comes first`)
  const history = await openHistory(root, listTables(streams))
  const [from, to] = [
    findUsedDay(history, since),
    until === undefined ? undefined : findUsedDay(history, until),
  ]
  if (from === to)
    throw new UsageError(`${since} and ${until} have the same record, that of ${from}; choose other days`)
  const warnings = new Set<string>()
  const warn = (text: string): void => void warnings.add(text)
  const { countLost, ...states } = await openDays(history, { ...options, from, to, streams, warn })
  for (const { day = '', ...damage } of history.damages)
    if (day > from && (to === undefined || day < to)) warn(describeDamage(damage))
  describeEarlier(history.earlier, from, until).forEach(warn)
  const { notes, counts, changes } = await compareStates(root, states, options)
  const dated = await dateListings(history, changes, { from, to, warn })
  const lost = countLost()
  const between = listListedDays(history).filter((day) => day > from && (to === undefined || day < to)).length
  const ends = 'only the two ends are compared: what came and went in between is not listed'
  return {
    folder: root,
    since: { day: from },
    ...(to === undefined ? {} : { day: to }),
    counts,
    notes: [
      ...notes,
      ...(lost === 0 ? [] : [`filings and news that are no longer in their files: ${formatNumber(lost)}`]),
      ...(between === 0 ? [] : [`${ends} (${formatQuantity(between, 'recorded day')})`]),
      ...warnings,
    ],
    changes: dated,
  }
}

/**
 * Adds the day to changes of the master list: the first recorded one from which on the stock is as it is at
 * the end. A new stock that was listed on an earlier day is back. Reads recorded lists only if there is such
 * a change, and those before `from` only for a new stock.
 */
const dateListings = async (
  history: History,
  changes: readonly Change[],
  { from, to = '9999', warn }: Pick<ComparedDays, 'from' | 'to' | 'warn'>,
): Promise<readonly Change[]> => {
  const isDated = ({ section }: Change): boolean => section === 'listings' || section === 'renames'
  if (!changes.some(isDated)) return changes
  const read = createListReader(history, warn)
  const lists: { readonly day: Day; readonly names: ReadonlySet<string> }[] = []
  const first = changes.some((one) => isDated(one) && one.change === 'new') ? '' : from
  for (const { record, list } of chooseEachDay(history, 'master', to).filter(
    (chosen) => chosen.record.day > first,
  )) {
    const rows = await leaveOutDamaged(warn, () => read(list))
    if (rows)
      lists.push({
        day: record.day,
        names: new Set(rows.flatMap(({ symbol, isin }) => [String(symbol), String(isin)])),
      })
  }
  const between = lists.filter(({ day }) => day > from)
  return changes.map((change) => {
    if (!isDated(change)) return change
    const { symbol, to: now = symbol, from: was = symbol } = change
    const isOtherwise =
      change.change === 'left'
        ? between.map(({ names }) => names.has(was))
        : between.map(({ names }) => !names.has(now))
    const since = between[isOtherwise.lastIndexOf(true) + 1]?.day
    const last =
      change.change === 'new'
        ? lists.findLast(({ day, names }) => day < from && names.has(now))?.day
        : undefined
    const detail =
      last === undefined
        ? change.detail
        : change.detail.replace(/ is new$/, `, last listed on ${last}, is back`)
    return {
      ...change,
      ...(last === undefined ? {} : { change: 'back' as const }),
      ...(since === undefined ? { detail } : { day: since, detail: `${detail} since ${since}` }),
    }
  })
}
