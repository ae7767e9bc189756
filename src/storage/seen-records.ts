import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { RecordedDocuments } from '../model/history.js'
import { isRow, type Row } from '../model/row.js'
import { repairJson } from '../model/text.js'
import type { Day } from '../model/trading-day.js'
import { disk } from './disk.js'
import { quoteText, toJsonPath } from './duckdb.js'
import { isSameFile, yieldTurn } from './file-system.js'
import { createOutputMatcher, listOutputFiles } from './output-files.js'
import { readPreviousOutputs } from './previous-outputs.js'
import { buildOwnPath } from './repaired-files.js'

/** The key of all records of a file that had none before. */
export const ALL_RECORDS = 'all'
/** Digits of a key. It only needs to differ from those of the other records of its file. */
const KEY_LENGTH = 10

/**
 * The key of a record, of the texts that identify it in its file. `buildKnownSelect` computes the same in
 * SQL.
 */
export const toRecordKey = (row: Row, identity: readonly string[]): string => toKey(toIdentity(row, identity))

const toIdentity = (row: Row, identity: readonly string[]): string =>
  identity.map((key) => toText(row[key])).join('\n')

const toKey = (text: string): string => hash('md5', text).slice(0, KEY_LENGTH)

const toText = (value: unknown): string =>
  value === undefined || value === null || typeof value === 'object' ? '' : String(value)

/** A day, and the SQL of the days on which records appeared: `file`, `key` and `day`. */
export interface KnownOn {
  readonly day: Day
  readonly seen: string
}

interface KnownSource extends KnownOn {
  readonly root: string
  readonly identity: readonly string[]
  /** The SQL of the time of a record. */
  readonly time: string
}

/**
 * Of records with their file, those that were known on a day: those whose key appeared by then, or else whose
 * file was new by then, or else whose own time is not later, because they were there before the history
 * began: their `seen_on` is NULL.
 */
export const buildKnownSelect = (
  records: string,
  { day, seen, root, identity, time }: KnownSource,
): string => {
  const texts = identity.map((key) => `coalesce(json_extract_string(record, ${toJsonPath(key)}), '')`)
  const key = `left(md5(concat_ws(chr(10), ${texts.join(', ')})), ${KEY_LENGTH})`
  return `SELECT r.* EXCLUDE (first_file), coalesce(k.day, a.day) AS seen_on FROM (
      SELECT *, ${key} AS record_key, ${buildOwnPath(root)} AS file, ${buildFirstName('file')} AS first_file FROM (${records})
    ) r
    LEFT JOIN (SELECT ${buildFirstName('file')} AS file, key, min(day) AS day FROM ${seen} WHERE key <> '${ALL_RECORDS}' GROUP BY ALL) k ON k.file = r.first_file AND k.key = r.record_key
    LEFT JOIN (SELECT file, max(day) AS day FROM ${seen} WHERE key = '${ALL_RECORDS}' GROUP BY ALL) a ON a.file = r.file
    WHERE coalesce(k.day, a.day, TRY_CAST(${time} AS DATE), DATE ${quoteText(day)}) <= DATE ${quoteText(day)}`
}

/** The name of a file before its symbol was given to another company. */
const buildFirstName = (file: string): string =>
  `if(contains(${file}, '~'), regexp_replace(${file}, '~[A-Z0-9]{12}', ''), ${file})`

/** Files with the keys of their records. */
type FileKeys = readonly [file: string, keys: readonly string[]]

/**
 * Finds the records that the last run added to files of items, file by file: those that the saved previous
 * outputs lack. Unchanged files are the same file there. Nothing if nothing was saved, which is so for the
 * first run: its records were known before the history began.
 */
export async function* findNewRecords(
  root: string,
  documents: readonly RecordedDocuments[],
): AsyncGenerator<FileKeys> {
  const previous = await readPreviousOutputs(root)
  if (previous?.run === undefined) return
  const isSaved = createOutputMatcher(previous.outputs)
  for (const { pattern, lists, identity } of documents)
    for (const file of await listOutputFiles(root, pattern)) {
      const [now, before] = [join(root, file), join(previous.root, file)]
      if (!isSaved(file) || isSameFile(now, before)) continue
      // Only new records are hashed, of 180,000 in a market of 2,775 stocks.
      const [known, all] = [before, now].map(
        (path) => new Set(readRecords(path, lists).map((row) => toIdentity(row, identity))),
      )
      const fresh = [...(all ?? [])].filter((text) => !known?.has(text))
      const isNew = fresh.length === all?.size && fresh.length > 0
      yield [file, isNew ? [ALL_RECORDS] : fresh.map(toKey)]
      // A file takes up to a millisecond.
      await yieldTurn()
    }
}

const readRecords = (path: string, lists: readonly string[]): readonly Row[] => {
  try {
    const document: unknown = JSON.parse(repairJson(disk.readFileSync(path, 'utf8')))
    return isRow(document) ? lists.flatMap((list) => document[list] ?? []).filter(isRow) : []
  } catch {
    return []
  }
}
