import { CollectError, UsageError } from '../../model/errors.js'
import { formatNumber, formatQuantity } from '../../model/format.js'
import { omitUndefined } from '../../model/row.js'
import type { RunLogEntry } from '../../model/run-log.js'
import { toDay } from '../../model/trading-day.js'
import { readStocks } from '../../tables/output-folder.js'
import { CHECKS, checkNames, groupByCause, isOfConcern, type TrackedFinding } from '../../verify/finding.js'
import { type RecordedChecks, readAcceptedStamp, readRecordedChecks } from '../../verify/recorded-checks.js'
import type { ChecksSummary, RunChecks } from '../api/runs.js'
import { findLastWriter, findRun, toRunRow } from './runs.js'

/** Makes the checks of the files that are present; undefined if a run replaces them meanwhile. */
type CheckRunner = () => Promise<RecordedChecks | undefined>

/** What the checks of `verify` found in the files of runs. */
export interface ChecksReader {
  /**
   * Of the run that wrote the present files: made now if they are not known yet. Of an earlier run: what was
   * kept.
   */
  readonly read: (runs: readonly RunLogEntry[], id: string) => Promise<RunChecks>
  /** What is known of the present files, without making any check. */
  readonly summarize: (runs: readonly RunLogEntry[]) => Promise<ChecksSummary | undefined>
}

interface ChecksFolder {
  /** The output folder. */
  readonly out: string
  readonly live: { readonly isActive: () => boolean }
  /** The stocks that concern the reader; all if there are none. */
  readonly watched?: ReadonlySet<string>
}

const refuseChecks: CheckRunner = () => Promise.reject(new UsageError('run "scripstream verify"'))

export const createChecks = (folder: ChecksFolder, check: CheckRunner = refuseChecks): ChecksReader => {
  const { out, live } = folder
  let known: RecordedChecks | undefined
  let active: Promise<RecordedChecks | undefined> | undefined
  const readPresent = async (writer: RunLogEntry): Promise<RecordedChecks | undefined> => {
    if (isCurrent(known, writer, out)) return known
    const recorded = await readRecordedChecks(out, writer.run)
    if (!isCurrent(recorded, writer, out)) return undefined
    known = recorded
    return recorded
  }
  /** One check at a time, for however many readers. */
  const make = async (): Promise<RecordedChecks | undefined> => {
    active ??= check().finally(() => {
      active = undefined
    })
    const made = await active
    known = made ?? known
    return made
  }
  const readOfWriter = async (writer: RunLogEntry): Promise<RunChecks> => {
    const { run } = writer
    const present = await readPresent(writer)
    if (present) return describeMade(present, folder)
    if (live.isActive()) return notMade(run, 'A run is active. Its files are checked after it.')
    try {
      const made = await make()
      return made?.run === run
        ? describeMade(made, folder)
        : notMade(run, 'A run began during the checks. Its files are checked after it.')
    } catch (error) {
      if (error instanceof CollectError)
        return { ...notMade(run, `The data could not be checked: ${error.message}.`), tone: 'failed' }
      throw error
    }
  }
  return {
    read: async (runs, id) => {
      const { entry } = findRun(runs, id)
      const writer = findLastWriter(runs)
      if (writer?.run === id) return readOfWriter(writer)
      const kept = await readRecordedChecks(out, id)
      const checks = kept ? await describeMade(kept, folder) : describeUnchecked(entry)
      const replaced =
        writer && entry.outcome !== 'failed'
          ? [`the run of ${toDay(Date.parse(writer.asOf))} has replaced files since`]
          : []
      return omitUndefined({ ...checks, notes: [...replaced, ...checks.notes], present: writer?.run })
    },
    summarize: async (runs) => {
      const writer = findLastWriter(runs)
      if (writer === undefined) return undefined
      const present = await readPresent(writer)
      if (present) return summarizeChecks(present, folder.watched)
      return notMade(writer.run, 'not made yet; open them to start')
    },
  }
}

/**
 * Each accepted finding changes the result, and a run that is resumed has written more files under the same
 * name.
 */
const isCurrent = (
  checks: RecordedChecks | undefined,
  { run, finishedAt }: RunLogEntry,
  out: string,
): checks is RecordedChecks =>
  checks?.run === run && checks.checkedAt >= finishedAt && checks.acceptedStamp === readAcceptedStamp(out)

const describeMade = async (checks: RecordedChecks, { out, watched }: ChecksFolder): Promise<RunChecks> => {
  const listed = new Set((await readStocks(out)).map(({ Symbol: symbol }) => symbol))
  return { ...summarizeChecks(checks, watched), ...describeChecks(checks, listed) }
}

const notMade = (run: string, text: string): RunChecks => ({ run, tone: 'soft', text, kinds: [], notes: [] })

const describeUnchecked = (entry: RunLogEntry): RunChecks => {
  const { run, outcome, scripts } = entry
  if (outcome === 'failed') return notMade(run, 'This run failed and has written no files.')
  const { lost, drift } = toRunRow(entry)
  const warnings = Object.values(scripts).flatMap(({ problems = [] }) =>
    problems.filter(({ status }) => status === undefined),
  ).length
  const recorded = `recorded of this run: ${formatQuantity(lost, 'failed item')}, ${formatQuantity(warnings, 'warning')}, ${formatQuantity(drift, 'change')} in the form of answers`
  return { ...notMade(run, 'Its data was not checked.'), notes: [recorded] }
}

const MAX_FINDINGS_OF_KIND = 4

/** The findings in one sentence: what is new and of concern to the reader, and how many there are. */
export const summarizeChecks = (
  { run, checkedAt, findings, accepted, stocks, files }: RecordedChecks,
  watched?: ReadonlySet<string>,
): ChecksSummary => {
  const fresh = groupByCause(findings.filter((one) => isNew(one) && isOfConcern(one, watched)))
  const errors = fresh.filter(({ severity }) => severity === 'error').length
  const found =
    findings.length === 0
      ? `No findings in ${formatQuantity(files, 'file')} of ${formatQuantity(stocks, 'stock')}`
      : `${fresh.length === 0 ? 'Nothing new' : `${formatQuantity(fresh.length, 'new finding')}${errors === 0 ? '' : `, ${formatQuantity(errors, 'error')}`}`}; ${formatNumber(findings.length)} in all`
  const isOpen = fresh.length > 0 || findings.some(({ severity }) => severity === 'error')
  const tone = errors > 0 ? 'failed' : isOpen ? 'waiting' : 'ok'
  return { run, tone, text: `${found}${accepted === 0 ? '' : ` (${accepted} accepted earlier)`}`, checkedAt }
}

const isNew = ({ state }: TrackedFinding): boolean => state === 'new'

/** The findings by check, the first few of each; `listed` are the stocks that have a page. */
export const describeChecks = (
  checks: RecordedChecks,
  listed: ReadonlySet<string>,
): Pick<RunChecks, 'kinds' | 'notes'> => {
  return {
    kinds: checkNames.flatMap((check) => {
      const own = checks.findings.filter((finding) => finding.check === check)
      const ordered = [true, false].flatMap((isFresh) =>
        groupByCause(own.filter((one) => isNew(one) === isFresh)),
      )
      const findings = ordered.slice(0, MAX_FINDINGS_OF_KIND).map((finding) => {
        const { symbol, file, day, detail } = finding
        const hasPage = symbol !== undefined && listed.has(symbol)
        const where = check === 'files' && symbol !== undefined && file !== undefined ? `${file}: ` : ''
        const text = `${where}${day === undefined || detail.includes(day) ? '' : `${day}: `}${detail}`
        return omitUndefined({ subject: symbol ?? file, hasPage, isNew: isNew(finding), detail: text })
      })
      return own.length === 0 ? [] : [{ check, about: CHECKS[check], count: ordered.length, findings }]
    }),
    notes: checks.notes.map((note) => `not checked: ${note}`),
  }
}
