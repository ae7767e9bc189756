import { join } from 'node:path'
import { StorageError } from '../../model/errors.js'
import type { RunReport } from '../../model/report.js'
import { omitUndefined } from '../../model/row.js'
import type { Stock } from '../../model/stock.js'
import { type Day, toDay } from '../../model/trading-day.js'
import { statePaths } from '../../storage/run-state.js'
import { findRenames } from '../output-folder.js'
import {
  acceptFindings,
  compareWithBaseline,
  followRenames,
  isFinding,
  readBaseline,
  readEntries,
  toBaselinePath,
  toFindingKey,
  writeEntries,
} from './baseline.js'
import type { Acceptance, Finding, TrackedFinding } from './finding.js'

/** A finding that a run had and nobody accepted. */
interface OpenFinding extends Finding {
  readonly since?: Day
  /** The run whose files had it first. */
  readonly run: string
  /** The run whose files no longer had it. */
  readonly goneIn?: string
  /** Other checks than deep ones may not find it. */
  readonly isDeep?: true
}

/** The list of open findings. */
const toOpenPath = (root: string): string => join(statePaths(root).folder, 'open-findings.json')

const isOpen = (entry: unknown): entry is OpenFinding => isFinding(entry) && typeof (entry as OpenFinding).run === 'string'

/** The run whose files are checked, and how. */
interface CheckedRun {
  /** Empty without a report: then all findings are new. */
  readonly run: string
  readonly day: Day | undefined
  readonly isDeep: boolean
  /** Whether the checks would have found a finding. */
  readonly isSelected: (finding: Finding) => boolean
}

/**
 * The life of findings. All checks of the files of one run tell the same, however often and by whom they are made: a finding is new in the files
 * of the first run that had it, open in those of later ones, and gone in those of the first that no longer has it.
 */
const trackFindings = (
  findings: readonly Finding[],
  entries: readonly OpenFinding[],
  { run, day, isDeep, isSelected }: CheckedRun,
): { readonly tracked: readonly TrackedFinding[]; readonly gone: readonly TrackedFinding[]; readonly entries: readonly OpenFinding[] } => {
  const known = new Map(entries.map((entry) => [toFindingKey(entry), entry]))
  const first: Pick<OpenFinding, 'run' | 'since' | 'isDeep' | 'goneIn'> = omitUndefined({ run, since: day, isDeep: isDeep || undefined })
  const found = new Map(
    findings.map((finding): [string, OpenFinding] => {
      const { goneIn: _, isDeep: wasDeep, ...life } = known.get(toFindingKey(finding)) ?? first
      return [toFindingKey(finding), { ...life, ...(isDeep && wasDeep ? { isDeep: wasDeep } : {}), ...finding }]
    }),
  )
  const left = entries.filter((entry) => !found.has(toFindingKey(entry)))
  const isLeft = (entry: OpenFinding): boolean => isSelected(entry) && (isDeep || !entry.isDeep)
  const gone = left.filter(isLeft).map((entry) => ({ ...entry, goneIn: entry.goneIn ?? run }))
  const now = gone.filter(({ goneIn }) => goneIn === run)
  const describe = ({ run: _, goneIn: __, isDeep: ___, ...finding }: OpenFinding, state: TrackedFinding['state']): TrackedFinding => ({
    ...finding,
    state,
  })
  return {
    tracked: findings.map((finding) => {
      const entry = found.get(toFindingKey(finding)) as OpenFinding
      return describe({ ...entry, ...finding }, entry.run === run || run === '' ? 'new' : 'open')
    }),
    gone: now.map((entry) => describe(entry, 'gone')),
    entries: [...found.values(), ...now, ...left.filter((entry) => !isLeft(entry))],
  }
}

interface EarlierFindings {
  readonly isSelected: (finding: Finding) => boolean
  readonly report: RunReport | undefined
  readonly stocks: readonly Stock[]
  readonly options: {
    readonly accept?: Acceptance | undefined
    readonly isSettled?: (() => Promise<boolean>) | undefined
    readonly deep?: boolean | undefined
    readonly history?: boolean | undefined
  }
}

/** Compares the findings with the accepted and the open ones. Accepts them if wanted, and remembers the rest. */
export const compareWithEarlier = async (root: string, findings: readonly Finding[], earlier: EarlierFindings) => {
  const { isSelected, report, stocks, options } = earlier
  const { accept, isSettled, deep = false, history = false } = options
  const notes: string[] = []
  const note = (error: unknown): readonly OpenFinding[] => {
    if (error instanceof StorageError) notes.push(error.message)
    else throw error
    return []
  }
  const listed = await readBaseline(root)
  const open = await readEntries(toOpenPath(root), 'all findings are new', isOpen).catch(note)
  const renames = await findRenames(
    root,
    stocks,
    [...listed, ...open].flatMap(({ symbol = [] }) => symbol),
  )
  const baseline = followRenames(listed, renames)
  const known = baseline.filter(isSelected)
  const before = compareWithBaseline(findings, known)
  const day = report && toDay(Date.parse(report.asOf))
  const run = { run: report?.run ?? '', day, isDeep: deep || history, isSelected }
  const life = trackFindings(before.fresh, compareWithBaseline(followRenames(open, renames), baseline).fresh, run)
  const accepted = accept === undefined ? known : [...before.accepted, ...acceptFindings(life.tracked, accept)]
  if (accept !== undefined) await writeEntries(toBaselinePath(root), [...baseline.filter((entry) => !isSelected(entry)), ...accepted])
  if (await isSettled?.()) await writeEntries(toOpenPath(root), compareWithBaseline(life.entries, accepted).fresh).catch(note)
  const changed = accept && { changed: { added: accepted.length - before.accepted.length, removed: before.stale.length } }
  const { fresh } = compareWithBaseline(life.tracked, accepted)
  return { compared: { ...compareWithBaseline(findings, accepted), fresh }, gone: life.gone, changed, notes }
}
