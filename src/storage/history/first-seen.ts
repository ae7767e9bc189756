import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { RecordedDocuments } from '../../model/history.js'
import { isRow, type Row } from '../../model/row.js'
import { statFile } from '../file-system.js'
import { createOutputMatcher, listOutputFiles } from '../output-files.js'
import { readPreviousOutputs } from '../previous-outputs.js'
import { toIdentity, toRecordKey } from './record-key.js'

/** The keys of the records that are new in a file, by file; `all` if it has no record of before. */
export type FirstSeen = Readonly<Record<string, readonly string[] | 'all'>>

/**
 * Finds the records that the last run added to files of items: those that the saved previous outputs lack. Unchanged files are the same
 * file there. Empty if nothing was saved, which is so for the first run: its records were known before the history began.
 */
export const findNewRecords = async (root: string, documents: readonly RecordedDocuments[]): Promise<FirstSeen> => {
  const previous = await readPreviousOutputs(root)
  if (previous?.run === undefined) return {}
  const isSaved = createOutputMatcher(previous.outputs)
  const found: Record<string, FirstSeen[string]> = {}
  for (const { pattern, lists, identity } of documents) {
    const readIdentities = (path: string): ReadonlySet<string> => new Set(readRecords(path, lists).map((row) => toIdentity(row, identity)))
    for (const file of await listOutputFiles(root, pattern)) {
      const [now, before] = [join(root, file), join(previous.root, file)]
      if (!isSaved(file) || isSameFile(now, before)) continue
      const known = readIdentities(before)
      const all = readIdentities(now)
      const fresh = [...all].filter((one) => !known.has(one))
      if (fresh.length > 0) found[file] = fresh.length === all.size ? 'all' : fresh.map(toRecordKey)
      // A file takes up to a millisecond.
      await yieldToEventLoop()
    }
  }
  return found
}

/** Adds what another run of the same day found. */
export const mergeFirstSeen = (earlier: unknown, found: FirstSeen): FirstSeen => {
  const all: Record<string, FirstSeen[string]> = isRow(earlier) ? { ...(earlier as FirstSeen) } : {}
  for (const [file, keys] of Object.entries(found)) {
    const known = all[file] ?? []
    all[file] = keys === 'all' || known === 'all' ? 'all' : [...new Set([...known, ...keys])]
  }
  return all
}

const isSameFile = (one: string, other: string): boolean => {
  const [now, before] = [statFile(one), statFile(other)]
  return now !== undefined && now.ino === before?.ino && now.dev === before.dev
}

const readRecords = (path: string, lists: readonly string[]): readonly Row[] => {
  if (statFile(path) === undefined) return []
  try {
    const document: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return isRow(document) ? lists.flatMap((list) => document[list] ?? []).filter(isRow) : []
  } catch {
    return []
  }
}
