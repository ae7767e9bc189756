import { join } from 'node:path'
import { StorageError } from '../model/errors.js'
import type { RunReport } from '../model/report.js'
import { isRow, omitUndefined } from '../model/row.js'
import type { Stock } from '../model/stock.js'
import { readDay, toDay } from '../model/trading-day.js'
import { readTextFile, toStorageError, writeFileAtomically } from '../storage/file-system.js'
import { statePaths } from '../storage/run-state.js'
import { findRenames } from '../tables/output-folder.js'
import {
  type Acceptance,
  type AcceptedFinding,
  CHECKS,
  type Finding,
  severities,
  type TrackedFinding,
  type VerifyOptions,
} from './finding.js'

export const toBaselinePath = (root: string): string =>
  join(statePaths(root).folder, 'accepted-findings.json')

/**
 * The accepted findings of a folder; none without a file.
 *
 * @throws StorageError if the file is damaged: without it, accepted findings would look new, and the next
 * `--accept` would replace it
 */
export const readBaseline = (root: string): Promise<readonly AcceptedFinding[]> =>
  readFindings(toBaselinePath(root), 'repair it, or delete it and accept the findings again', isAccepted)

const readFindings = async <T extends Finding>(
  path: string,
  remedy: string,
  isEntry: (entry: unknown) => entry is T,
): Promise<readonly T[]> => {
  const damaged = (why: string): StorageError => new StorageError(`${path} is damaged: ${why}; ${remedy}`)
  const text = await readTextFile(path)
  if (text === undefined) return []
  let entries: unknown
  try {
    entries = JSON.parse(text)
  } catch {
    throw damaged('it is not valid JSON')
  }
  if (!Array.isArray(entries)) throw damaged('it is not a list')
  entries.forEach((entry: unknown, index) => {
    if (!isEntry(entry)) throw damaged(`entry ${index + 1} is no finding`)
  })
  return entries
}

const TEXTS = ['symbol', 'other', 'day', 'file', 'reason', 'since', 'goneIn', 'reportedIn']

const isFinding = (entry: unknown): entry is Finding =>
  isRow(entry) &&
  Object.hasOwn(CHECKS, String(entry.check)) &&
  severities.some((severity) => severity === entry.severity) &&
  TEXTS.every((name) => ['string', 'undefined'].includes(typeof entry[name])) &&
  typeof entry.detail === 'string'

const isAccepted = (entry: unknown): entry is AcceptedFinding =>
  isFinding(entry) && readDay((entry as AcceptedFinding).accepted) !== undefined

/**
 * The identity of a finding. Its wording has counts and prices that change; a warning that becomes an error
 * is another finding.
 */
const toFindingKey = ({ check, severity, symbol, day, lasting, file }: Finding): string =>
  JSON.stringify([check, severity, symbol, lasting ?? day, file])

const followRenames = <T extends Finding>(
  entries: readonly T[],
  renames: ReadonlyMap<string, string>,
): readonly T[] =>
  entries.map((entry) => {
    const { symbol = '', file } = entry
    const now = renames.get(symbol)
    return now === undefined
      ? entry
      : (omitUndefined({ ...entry, symbol: now, file: file?.replace(`/${symbol}`, `/${now}`) }) as T)
  })

/**
 * Separates findings that nobody accepted from accepted ones: those found again, and the stale ones that are
 * no longer found.
 */
export const compareWithBaseline = <T extends Finding>(
  findings: readonly T[],
  baseline: readonly AcceptedFinding[],
) => {
  const known = new Set(baseline.map(toFindingKey))
  const found = new Set(findings.map(toFindingKey))
  return {
    fresh: findings.filter((finding) => !known.has(toFindingKey(finding))),
    accepted: baseline.filter((entry) => found.has(toFindingKey(entry))),
    stale: baseline.filter((entry) => !found.has(toFindingKey(entry))),
  }
}

/** Findings of which each identity is accepted once, with the day and the reason. */
const acceptFindings = (
  findings: readonly TrackedFinding[],
  { on, reason }: Acceptance,
): readonly AcceptedFinding[] => {
  const byKey = new Map(findings.map((finding) => [toFindingKey(finding), finding]))
  return [...byKey.values()].map(({ check, severity, symbol, other, day, lasting, file, detail, since }) =>
    omitUndefined({
      check,
      severity,
      symbol,
      other,
      day,
      lasting,
      file,
      detail,
      since,
      accepted: on,
      reason,
    }),
  )
}

/** Writes one finding per line, sorted, so that a difference between two versions shows what was accepted. */
const writeEntries = async (path: string, entries: readonly Finding[]): Promise<void> => {
  const sorted = entries
    .map((entry) => ({ key: toFindingKey(entry), line: JSON.stringify(entry) }))
    .sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0))
  const text = sorted.length === 0 ? '[]\n' : `[\n${sorted.map(({ line }) => line).join(',\n')}\n]\n`
  try {
    await writeFileAtomically(path, [text])
  } catch (error) {
    throw toStorageError(error, 'written', path)
  }
}

/** A finding that a run had and nobody accepted. */
interface OpenFinding extends Omit<TrackedFinding, 'state'> {
  readonly run: string
  /** The run whose files no longer had it. */
  readonly goneIn?: string
  /** The run in whose files it was first reported (`VerifyOptions.isReport`). */
  readonly reportedIn?: string
  /** Other checks than deep ones may not find it. */
  readonly isDeep?: true
}

const toOpenPath = (root: string): string => join(statePaths(root).folder, 'open-findings.json')

const isOpenFinding = (entry: unknown): entry is OpenFinding =>
  isFinding(entry) && typeof (entry as OpenFinding).run === 'string'

/**
 * The life of findings. All checks of the files of one run tell the same, however often they are made: a
 * finding is new in the files of the first run that had it, open in those of later ones, and gone in those of
 * the first that no longer has it. A report counts only earlier reports: to it, what others have found is
 * new.
 */
const trackFindings = (
  findings: readonly Finding[],
  entries: readonly OpenFinding[],
  {
    isDeep,
    isSelected,
    isReport,
    report,
  }: Pick<EarlierFindings, 'isSelected' | 'isReport' | 'report'> & { readonly isDeep: boolean },
) => {
  const run = report?.run ?? ''
  const day = report && toDay(Date.parse(report.asOf))
  // What comes back in a later run is another finding.
  const known = new Map(
    entries.filter(({ goneIn = run }) => goneIn === run).map((entry) => [toFindingKey(entry), entry]),
  )
  const first: Omit<OpenFinding, keyof Finding> = omitUndefined({
    run,
    since: day,
    isDeep: isDeep || undefined,
  })
  const found = findings.map((finding): OpenFinding => {
    const earlier = known.get(toFindingKey(finding)) ?? first
    const { goneIn: _, isDeep: wasDeep, reportedIn = isReport ? run : undefined, ...life } = earlier
    return omitUndefined({ ...life, isDeep: isDeep ? wasDeep : undefined, reportedIn, ...finding })
  })
  const byKey = new Map(found.map((entry) => [toFindingKey(entry), entry]))
  const left = entries.filter((entry) => !byKey.has(toFindingKey(entry)))
  const isLeft = (entry: OpenFinding): boolean => isSelected(entry) && (isDeep || !entry.isDeep)
  const gone = left
    .filter((entry) => isLeft(entry) && (entry.goneIn ?? run) === run)
    .map((entry) => ({ ...entry, goneIn: run }))
  const describe = (
    { goneIn: _, isDeep: __, reportedIn: ___, ...of }: OpenFinding,
    state: TrackedFinding['state'],
  ) => ({ ...of, state })
  return {
    // Without a report there is no run, and all findings are new.
    tracked: found.map((entry) =>
      describe(entry, (isReport ? entry.reportedIn : entry.run) === run || run === '' ? 'new' : 'open'),
    ),
    gone: gone.map((entry) => describe(entry, 'gone')),
    entries: [...byKey.values(), ...gone, ...left.filter((entry) => !isLeft(entry))],
  }
}

interface EarlierFindings extends Pick<VerifyOptions, 'isReport' | 'accept' | 'isSettled' | 'deep'> {
  /** Whether the checks would have found a finding. */
  readonly isSelected: (finding: Finding) => boolean
  readonly report: RunReport | undefined
  readonly stocks: readonly Stock[]
}

/**
 * Compares the findings with the accepted and the open ones. Accepts them if wanted, and remembers the rest.
 */
export const compareWithEarlier = async (
  root: string,
  findings: readonly Finding[],
  earlier: EarlierFindings,
) => {
  const { isSelected, isReport, report, stocks, accept, isSettled, deep: isDeep = false } = earlier
  const notes: string[] = []
  const note = (error: unknown): readonly OpenFinding[] => {
    if (!(error instanceof StorageError)) throw error
    notes.push(error.message)
    return []
  }
  const listed = await readBaseline(root)
  const open = await readFindings(
    toOpenPath(root),
    'all findings are new, and the list begins anew',
    isOpenFinding,
  ).catch(note)
  const renames = await findRenames(
    root,
    stocks,
    [...listed, ...open].flatMap(({ symbol = [] }) => symbol),
  )
  const baseline = followRenames(listed, renames)
  const known = compareWithBaseline(findings, baseline.filter(isSelected))
  const unaccepted = compareWithBaseline(followRenames(open, renames), baseline).fresh
  const life = trackFindings(known.fresh, unaccepted, {
    isDeep,
    isSelected,
    isReport,
    report,
  })
  const added = accept === undefined ? [] : acceptFindings(life.tracked, accept)
  const accepted = [...known.accepted, ...added]
  if (accept)
    await writeEntries(toBaselinePath(root), [...baseline.filter((entry) => !isSelected(entry)), ...accepted])
  if (await isSettled?.())
    await writeEntries(toOpenPath(root), compareWithBaseline(life.entries, added).fresh).catch(note)
  return {
    fresh: accept ? [] : life.tracked,
    accepted,
    // Those that are no longer found are removed by what accepts.
    stale: accept ? [] : known.stale,
    gone: life.gone,
    changed: accept && { changed: { added: added.length, removed: known.stale.length } },
    notes,
  }
}
