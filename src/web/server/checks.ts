import { readStocks } from '../../analysis/output-folder.js'
import { type RecordedChecks, readAcceptedStamp, readRecordedChecks } from '../../analysis/verify/recorded-checks.js'
import { CollectError, UsageError } from '../../model/errors.js'
import { omitUndefined } from '../../model/row.js'
import type { RunLogEntry } from '../../model/run-log.js'
import { toDay } from '../../model/trading-day.js'
import type { ChecksSummary, RunChecks } from '../api/runs.js'
import { describeChecks, summarizeChecks } from './check-summary.js'
import { findLastWriter, findRun, toRunRow } from './runs.js'

/** Makes the checks of the files that are present; undefined if a run replaces them meanwhile. */
export type CheckRunner = () => Promise<RecordedChecks | undefined>

/** What the checks of `verify` found in the files of runs. */
export interface ChecksReader {
  /** Of the run that wrote the present files: made now if they are not known yet. Of an earlier run: what was kept. */
  readonly read: (runs: readonly RunLogEntry[], id: string) => Promise<RunChecks>
  /** What is known of the present files, without making any check. */
  readonly summarize: (runs: readonly RunLogEntry[]) => Promise<ChecksSummary | undefined>
}

interface ChecksFolder {
  /** The output folder. */
  readonly out: string
  readonly live: { readonly isActive: () => boolean }
}

const refuse: CheckRunner = () => Promise.reject(new UsageError('run "scripstream verify"'))

export const createChecks = ({ out, live }: ChecksFolder, check: CheckRunner = refuse): ChecksReader => {
  let known: RecordedChecks | undefined
  let active: Promise<RecordedChecks | undefined> | undefined
  /** Each accepted finding changes the result, and a run that is resumed has written more files under the same name. */
  const isCurrent = (checks: RecordedChecks | undefined, { run, finishedAt }: RunLogEntry): checks is RecordedChecks =>
    checks?.run === run && checks.checkedAt >= finishedAt && checks.acceptedStamp === readAcceptedStamp(out)

  const readPresent = async (writer: RunLogEntry): Promise<RecordedChecks | undefined> => {
    if (isCurrent(known, writer)) return known
    const recorded = await readRecordedChecks(out, writer.run)
    if (!isCurrent(recorded, writer)) return undefined
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
  const describe = async (checks: RecordedChecks): Promise<RunChecks> => {
    const listed = new Set((await readStocks(out)).map(({ Symbol: symbol }) => symbol))
    return { ...summarizeChecks(checks), ...describeChecks(checks, listed) }
  }
  const readOfWriter = async (writer: RunLogEntry): Promise<RunChecks> => {
    const { run } = writer
    const present = await readPresent(writer)
    if (present) return describe(present)
    if (live.isActive()) return notMade(run, 'A run is active. Its files are checked after it.')
    try {
      const made = await make()
      return made?.run === run ? describe(made) : notMade(run, 'A run began during the checks. Its files are checked after it.')
    } catch (error) {
      if (error instanceof CollectError) return { ...notMade(run, `The data could not be checked: ${error.message}.`), tone: 'failed' }
      throw error
    }
  }
  return {
    read: async (runs, id) => {
      const { entry } = findRun(runs, id)
      const writer = findLastWriter(runs)
      if (writer?.run === id) return readOfWriter(writer)
      const kept = await readRecordedChecks(out, id)
      const checks = kept ? await describe(kept) : describeUnchecked(entry)
      const replaced = writer && entry.outcome !== 'failed' ? [`the run of ${toDay(Date.parse(writer.asOf))} has replaced files since`] : []
      return omitUndefined({ ...checks, notes: [...replaced, ...checks.notes], present: writer?.run })
    },
    summarize: async (runs) => {
      const writer = findLastWriter(runs)
      if (writer === undefined) return undefined
      const present = await readPresent(writer)
      if (present) return summarizeChecks(present)
      return notMade(writer.run, 'not made yet; open them to start')
    },
  }
}

const notMade = (run: string, text: string): RunChecks => ({ run, tone: 'soft', text, kinds: [], notes: [] })

const describeUnchecked = (entry: RunLogEntry): RunChecks => {
  const { run, outcome, scripts } = entry
  if (outcome === 'failed') return notMade(run, 'This run failed and has written no files.')
  const { lost, drift } = toRunRow(entry)
  const warnings = Object.values(scripts).flatMap(({ problems = [] }) => problems.filter(({ status }) => status === undefined)).length
  const recorded = `recorded of this run: ${lost} failed items, ${warnings} warnings, ${drift} changes in the form of answers`
  return { ...notMade(run, 'Its data was not checked.'), notes: [recorded] }
}
