import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { isRow } from '../model/row.js'
import { disk } from '../storage/disk.js'
import { listNames, statFile, writeFileAtomically } from '../storage/file-system.js'
import { findLockHolder } from '../storage/lock.js'
import { readLastWriter } from '../storage/previous-outputs.js'
import { statePaths } from '../storage/run-state.js'
import type { TrackedFinding, Verification, VerifyOptions } from './finding.js'
import { toBaselinePath } from './life-of-findings.js'
import { verify } from './verify.js'

/**
 * What `verify` found in the files of a run. Later runs show what is new since then, and the run itself what
 * it left.
 */
export interface RecordedChecks {
  readonly run: string
  /** When the checks ended, ISO 8601 in UTC. */
  readonly checkedAt: string
  readonly stocks: number
  readonly files: number
  /** Without the accepted ones, in the order of their importance. */
  readonly findings: readonly TrackedFinding[]
  readonly accepted: number
  readonly notes: readonly string[]
  /** Changes when findings are accepted. */
  readonly acceptedStamp: number
}

/**
 * Makes the checks and remembers their findings; without a selection, it also keeps the result in the cache
 * of the folder. One that cannot be written, on a read-only disk for example, is not kept; nor is one of
 * files that a run replaced meanwhile.
 */
export const verifyAndRecord = async (
  root: string,
  options: VerifyOptions,
  now: () => number,
): Promise<{ readonly verification: Verification; readonly checks?: RecordedChecks }> => {
  const before = await findWriter(root)
  const reportStamp = readReportStamp(root)
  // Before the checks: what is accepted during them is not in their result.
  const acceptedStamp = readAcceptedStamp(root)
  // A run that is resumed keeps its name.
  const isSettled = async (): Promise<boolean> =>
    before !== undefined && before === (await findWriter(root)) && reportStamp === readReportStamp(root)
  const verification = await verify(root, { ...options, isSettled })
  const { only, symbols, since } = options
  const isWhole = only === undefined && symbols === undefined && since === undefined
  if (before === undefined || !isWhole || !(await isSettled())) return { verification }
  const { stocks, files, accepted, notes } = verification
  // A report has another notion of new.
  const findings = verification.findings.map((one) => ({
    ...one,
    state: one.run === before ? ('new' as const) : ('open' as const),
  }))
  const checkedAt = new Date(now()).toISOString()
  const checks = {
    run: before,
    checkedAt,
    stocks,
    files,
    findings,
    accepted: accepted.length,
    notes,
    acceptedStamp,
  }
  // What cannot be kept is checked again the next time.
  await writeChecks(root, checks).catch(() => undefined)
  return { verification, checks }
}

/** The run that wrote the files; undefined without one, or while another run replaces them. */
const findWriter = async (root: string): Promise<string | undefined> => {
  const holder = findLockHolder(statePaths(root).lock)
  return holder === undefined || holder === 'stale' ? (await readLastWriter(root)).run : undefined
}

const readReportStamp = (root: string): number | undefined => statFile(statePaths(root).report)?.mtimeMs

/** The time of the list of accepted findings; 0 without one. */
export const readAcceptedStamp = (root: string): number => statFile(toBaselinePath(root))?.mtimeMs ?? 0

const FILE = /^([\w-]+)\.json\.gz$/
/** A record of the whole market takes about 50 kB. */
const MAX_RECORDS = 60

const toFolder = (root: string): string => join(statePaths(root).cache, 'checks')
const toPath = (root: string, run: string): string => join(toFolder(root), `${run}.json.gz`)

const writeChecks = async (root: string, checks: RecordedChecks): Promise<void> => {
  if (!FILE.test(`${checks.run}.json.gz`)) return
  await writeFileAtomically(toPath(root, checks.run), [await promisify(gzip)(JSON.stringify(checks))])
  const runs = await listCheckedRuns(root)
  const ages = runs.map((run) => ({ path: toPath(root, run), at: statFile(toPath(root, run))?.mtimeMs ?? 0 }))
  for (const { path } of ages.sort((one, other) => other.at - one.at).slice(MAX_RECORDS))
    await disk.rm(path, { force: true })
}

/** The runs whose files were checked and the result kept, in no order; none if the cache cannot be read. */
export const listCheckedRuns = async (root: string): Promise<readonly string[]> =>
  (await listNames(toFolder(root)).catch(() => [])).flatMap((name) => FILE.exec(name)?.[1] ?? [])

/** What was found in the files of a run; undefined without a record that can be read: it is only a cache. */
export const readRecordedChecks = async (root: string, run: string): Promise<RecordedChecks | undefined> => {
  if (!(await listCheckedRuns(root)).includes(run)) return undefined
  try {
    const checks: unknown = JSON.parse(
      String(await promisify(gunzip)(await disk.readFile(toPath(root, run)))),
    )
    return isRow(checks) && checks.run === run && Array.isArray(checks.findings)
      ? (checks as unknown as RecordedChecks)
      : undefined
  } catch {
    return undefined
  }
}
