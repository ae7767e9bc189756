import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StorageError } from '../../model/errors.js'
import { isRow, omitUndefined } from '../../model/row.js'
import { readDay } from '../../model/trading-day.js'
import { writeFileAtomically } from '../../storage/atomic-file.js'
import { getErrorCode, toStorageError } from '../../storage/file-system.js'
import { statePaths } from '../../storage/run-state.js'
import { type Acceptance, type AcceptedFinding, CHECKS, type Finding, severities, type TrackedFinding } from './finding.js'

/** The list of accepted findings. */
export const toBaselinePath = (root: string): string => join(statePaths(root).folder, 'accepted-findings.json')

/**
 * The accepted findings of a folder; none without a file.
 *
 * @throws StorageError if the file is damaged: without it, accepted findings would look new, and the next `--accept` would replace it
 */
export const readBaseline = (root: string): Promise<readonly AcceptedFinding[]> =>
  readEntries(toBaselinePath(root), 'repair it, or delete it and accept the findings again', isAccepted)

/** A list of findings; none without a file. */
export const readEntries = async <T extends Finding>(
  path: string,
  remedy: string,
  isEntry: (entry: unknown) => entry is T,
): Promise<readonly T[]> => {
  const damaged = (why: string): StorageError => new StorageError(`${path} is damaged: ${why}; ${remedy}`)
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (getErrorCode(error) === 'ENOENT') return undefined
    throw toStorageError(error, 'read', path)
  })
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

const TEXTS = ['symbol', 'other', 'day', 'file', 'reason', 'since', 'goneIn']

export const isFinding = (entry: unknown): entry is Finding =>
  isRow(entry) &&
  Object.hasOwn(CHECKS, String(entry.check)) &&
  severities.some((severity) => severity === entry.severity) &&
  TEXTS.every((name) => ['string', 'undefined'].includes(typeof entry[name])) &&
  typeof entry.detail === 'string'

const isAccepted = (entry: unknown): entry is AcceptedFinding =>
  isFinding(entry) && readDay((entry as AcceptedFinding).accepted) !== undefined

/** The identity of a finding. Its wording has counts and prices that change; a warning that becomes an error is another finding. */
export const toFindingKey = ({ check, severity, symbol, day, file }: Finding): string =>
  JSON.stringify([check, severity, symbol, day, file])

/** The findings of renamed stocks, under the present symbols. */
export const followRenames = <T extends Finding>(entries: readonly T[], renames: ReadonlyMap<string, string>): readonly T[] =>
  entries.map((entry) => {
    const { symbol = '', file } = entry
    const now = renames.get(symbol)
    return now === undefined ? entry : (omitUndefined({ ...entry, symbol: now, file: file?.replace(`/${symbol}`, `/${now}`) }) as T)
  })

/** The findings compared with the accepted ones. */
export interface ComparedFindings<T extends Finding> {
  readonly fresh: readonly T[]
  /** Found again. */
  readonly accepted: readonly AcceptedFinding[]
  /** No longer found. */
  readonly stale: readonly AcceptedFinding[]
}

export const compareWithBaseline = <T extends Finding>(
  findings: readonly T[],
  baseline: readonly AcceptedFinding[],
): ComparedFindings<T> => {
  const known = new Set(baseline.map(toFindingKey))
  const found = new Set(findings.map(toFindingKey))
  return {
    fresh: findings.filter((finding) => !known.has(toFindingKey(finding))),
    accepted: baseline.filter((entry) => found.has(toFindingKey(entry))),
    stale: baseline.filter((entry) => !found.has(toFindingKey(entry))),
  }
}

/** Findings of which each identity is accepted once, with the day and the reason. */
export const acceptFindings = (findings: readonly TrackedFinding[], { on, reason }: Acceptance): readonly AcceptedFinding[] => {
  const byKey = new Map(findings.map((finding) => [toFindingKey(finding), finding]))
  return [...byKey.values()].map(({ check, severity, symbol, other, day, file, detail, since }) =>
    omitUndefined({ check, severity, symbol, other, day, file, detail, since, accepted: on, reason }),
  )
}

/** Writes one finding per line, sorted, so that a difference between two versions shows what was accepted. */
export const writeEntries = async (path: string, entries: readonly Finding[]): Promise<void> => {
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
