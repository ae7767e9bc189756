import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { firstValueFrom, map } from 'rxjs'
import { isRow, omitUndefined } from '../model/row.js'
import type { Journal, JournalFacts, SinkItem } from '../pipeline/session.js'
import { getErrorCode, renameOver, statFile, toStorageError } from './file-system.js'
import { appendRecords, createJournal, type JournalContent, type JournalLine } from './journal.js'
import { createJournalFile, type JournalFile, type RecordsPlace } from './journal-file.js'

export interface OpenJournal {
  readonly journal: Journal
  readonly close: () => void
}

/**
 * Opens the journal of a stream in a file. Rewrites an existing one first and drops a torn last line, items whose files have changed, and
 * carried-over records. The old journal stays until the new one is complete.
 */
export const openJournal = async (path: string, facts: JournalFacts, root: string): Promise<OpenJournal> => {
  const temporary = `${path}.next`
  const lines = createJournalFile(temporary)
  const found: JournalContent<RecordsPlace> = { earlier: new Map(), records: new Map() }
  try {
    for await (const line of readJournalLines(path))
      if (isJournalLine(line) && areFilesUnchanged(line.files, root)) await copyLine(line, { facts, lines, found })
    await renameOver(temporary, path)
  } catch (error) {
    lines.close()
    throw toStorageError(error, 'written', path)
  }
  return { journal: createJournal(facts, lines, found), close: lines.close }
}

/** Reads the items, by file name, that a resumed run would find stored. Read-only: the journal may vanish when its run ends. */
export const readStoredItems = async (path: string, root: string): Promise<ReadonlySet<string>> => {
  const items = new Set<string>()
  try {
    for await (const line of readJournalLines(path)) {
      if (!isJournalLine(line) || !areFilesUnchanged(line.files, root)) continue
      if (line.degraded === undefined) items.add(line.item)
      else items.delete(line.item)
    }
  } catch (error) {
    if (getErrorCode(error) !== 'ENOENT') throw error
  }
  return items
}

interface CopyContext {
  readonly facts: JournalFacts
  readonly lines: JournalFile
  readonly found: JournalContent<RecordsPlace>
}

const copyLine = async (
  { rows = [], ...line }: JournalLine & { readonly rows?: readonly unknown[] },
  { facts, lines, found: { earlier, records } }: CopyContext,
): Promise<void> => {
  const written = firstValueFrom(
    facts.carriesRows ? appendRecords(line, rows, facts, lines) : lines.append(line, undefined).pipe(map(() => undefined)),
  )
  lines.flush()
  const copied = await written
  if (copied) records.set(line.item, copied)
  // An item that may lack rows is fetched again; its records stay valid until then.
  const { item, status, files, remark, newest } = line
  if (line.degraded !== undefined) earlier.delete(item)
  else earlier.set(item, omitUndefined({ status, files, rows: facts.offersRows ? rows : [], remark, newest }))
}

/** Reads the whole lines of a journal; none if the file is missing. */
async function* readJournalLines(path: string): AsyncGenerator<unknown> {
  if (!existsSync(path)) return
  // Only a resumed run reads journals; all others start 20 ms sooner without this package and one file stream per journal.
  const { parse } = await import('ndjson')
  const source = createReadStream(path)
  const lines = source.pipe(parse({ strict: false })) as unknown as NodeJS.ReadWriteStream & { destroy: (error: Error) => void }
  source.on('error', (error) => lines.destroy(error))
  yield* lines
}

const isJournalLine = (line: unknown): line is JournalLine => isRow(line) && typeof line.item === 'string' && isRow(line.files)

const areFilesUnchanged = (files: SinkItem['files'], root: string): boolean =>
  Object.entries(files).every(([file, bytes]) => statFile(join(root, file))?.size === bytes)

/** Creates a journal that is opened when the run is committed; until then it is empty. */
export const createDeferredJournal = (opened: () => Journal | undefined): Journal => {
  const journal = (): Journal => {
    const found = opened()
    if (found === undefined) throw new Error('the run has no journals before it is committed')
    return found
  }
  return {
    findStored: (item) => opened()?.findStored(item),
    write: (item) => journal().write(item),
    carryOver: (rank, record) => journal().carryOver(rank, record),
    takeRecords: () => journal().takeRecords(),
  }
}
