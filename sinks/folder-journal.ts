import { createReadStream, statSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'ndjson'
import { firstValueFrom } from 'rxjs'
import { isRow, type Row } from '../src/model/row.js'
import type { Journal, JournalFacts, Kept } from '../src/pipeline/journal.js'
import { codeOf, storageErrorOf } from './file-error.js'
import { type FileSpool, openSpool, type Slice } from './file-spool.js'
import { type Earlier, journalOver, type Line, type Mark } from './journal-over.js'

export interface OpenJournal {
  readonly journal: Journal
  readonly close: () => Promise<void>
}

interface Found {
  readonly earlier: Map<string, Earlier>
  readonly marks: Map<string, readonly Mark<Slice>[]>
}

/**
 * The journal of a stream in a file. What is in it already is written anew first, which leaves out a torn last line, items whose files
 * are no longer there as they were noted, and records that were carried over; until that is done the old journal stays.
 */
export const openJournal = async (path: string, facts: JournalFacts, root: string): Promise<OpenJournal> => {
  const beside = `${path}.next`
  const spool = await openSpool(beside)
  const found: Found = { earlier: new Map(), marks: new Map() }
  try {
    for await (const line of linesIn(path)) if (isLine(line) && isInPlace(line.files, root)) await takeOver(line, { facts, spool, found })
    await rename(beside, path)
  } catch (error) {
    await spool.close()
    throw storageErrorOf(error, 'written', path)
  }
  return { journal: journalOver(facts, spool, found), close: spool.close }
}

interface TakingOver {
  readonly facts: JournalFacts
  readonly spool: FileSpool
  readonly found: Found
}

const takeOver = async (
  { rows = [], ...line }: Line & { readonly rows?: readonly unknown[] },
  { facts: { carriesRows, offersRows, newestBy = () => '' }, spool, found: { earlier, marks } }: TakingOver,
): Promise<void> => {
  const records = carriesRows ? rows.map((row) => JSON.stringify(row)) : undefined
  const slices = await firstValueFrom(spool.append(line, records))
  if (carriesRows)
    marks.set(
      line.item,
      slices.map((place, index) => ({ place, newest: newestBy(rows[index] as Row) })),
    )
  // What may lack rows is asked again; its records hold until then.
  const { item, status, files, remark } = line
  if (line.degraded !== undefined) earlier.delete(item)
  else earlier.set(item, { status, files, rows: offersRows ? rows : [], ...(remark === undefined ? {} : { remark }) })
}

/** The lines of a journal as far as they are whole; none if there is no such file. */
async function* linesIn(path: string): AsyncGenerator<unknown> {
  const source = createReadStream(path)
  const lines = source.pipe(parse({ strict: false })) as unknown as NodeJS.ReadWriteStream & { destroy: (error: Error) => void }
  source.on('error', (error) => lines.destroy(error))
  try {
    yield* lines
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

const isLine = (line: unknown): line is Line => isRow(line) && typeof line.item === 'string' && isRow(line.files)

const isInPlace = (files: Kept['files'], root: string): boolean =>
  Object.entries(files).every(([file, bytes]) => statSync(join(root, file), { throwIfNoEntry: false })?.size === bytes)
