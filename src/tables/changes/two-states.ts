import { join } from 'node:path'
import { MASTER_MAP } from '../../market/listings.js'
import type { Change } from '../../model/change.js'
import { isRow, omitUndefined, type Row, readText } from '../../model/row.js'
import type { Stock } from '../../model/stock.js'
import type { Table } from '../../model/table.js'
import { repairJson } from '../../model/text.js'
import type { Day } from '../../model/trading-day.js'
import { disk } from '../../storage/disk.js'
import { isSameFile, statFile } from '../../storage/file-system.js'
import { createOutputMatcher } from '../../storage/output-files.js'
import { readLastWriter, readPreviousOutputs } from '../../storage/previous-outputs.js'
import { readStocks } from '../output-folder.js'

/** A run, with its "now" in ISO 8601, or a recorded day. */
interface StateName {
  readonly run?: string
  readonly asOf?: string
  readonly day?: Day
}

/** The records of a file in two states; `before` is undefined if it did not exist. */
export interface FileVersions {
  readonly before: readonly Row[] | undefined
  readonly after: readonly Row[]
  /** The ISIN in the file of a stock. */
  readonly isin?: string
}

/** A folder in two states. */
export interface TwoStates {
  /** The names of both; `since` is null without an earlier one. */
  readonly names: StateName & { readonly since: StateName | null }
  readonly before: readonly Stock[]
  readonly after: readonly Stock[]
  /**
   * A file of a table. Undefined if it does not exist now, or has no earlier state to compare with. `earlier`
   * is its name before.
   */
  readonly read: (table: Table, file: string, earlier?: string) => Promise<FileVersions | undefined>
  readonly isSame: (table: Table, file: string, earlier: string) => boolean
  /** Adds what is known of changes of the list of stocks. */
  readonly complete: (changes: readonly Change[]) => Promise<readonly Change[]>
  /** What could not be compared, and why. */
  readonly listNotes: () => readonly string[]
}

/**
 * The files of a folder, and those of before the last run that wrote any. One that was no output of it has no
 * earlier state.
 */
export const openLastRun = async (root: string): Promise<TwoStates> => {
  const { damage, ...last } = await readLastWriter(root)
  const after = await readStocks(root)
  const { root: earlierRoot = '', outputs = [], run, asOf } = (await readPreviousOutputs(root)) ?? {}
  const isKnown = run !== undefined && statFile(join(earlierRoot, MASTER_MAP)) !== undefined
  const isOutput = createOutputMatcher(isKnown ? outputs : [])
  const notes = new Set(damage)
  return {
    names: {
      ...last,
      since: isKnown ? omitUndefined({ run, asOf }) : null,
    },
    before: isKnown ? await readStocks(earlierRoot) : [],
    after,
    isSame: (_, file, earlier) => isSameFile(join(root, file), join(earlierRoot, earlier)),
    read: async (table, file, earlier = file) => {
      if (!isOutput(file)) return undefined
      return noteDamage(file, notes, () => {
        const after = readRepairedJson(join(root, file))
        if (after === undefined) return undefined
        const before = readRepairedJson(join(earlierRoot, earlier))
        if (before === undefined && table.items === undefined)
          notes.add(`there was no ${file} before to compare with`)
        const earlierRecords = before === undefined ? undefined : listRecords(table, before)
        return {
          before: earlierRecords,
          after: listRecords(table, after),
          isin: findIsin(before, earlierRecords),
        }
      })
    },
    complete: async (changes) => changes,
    listNotes: () => [...notes],
  }
}

/** The records of a file: of a list, or of the lists in a document or in each element of a list. */
export const listRecords = ({ lists }: Pick<Table, 'lists'>, content: unknown): readonly Row[] => {
  const documents = [content].flat().filter(isRow)
  if (lists === undefined) return documents
  const listOwn = (document: Row): readonly Row[] =>
    lists.flatMap((list) => [document[list]].flat().filter(isRow))
  return Array.isArray(content)
    ? documents.flatMap((document) => listOwn(document).map((record) => ({ ...document, ...record })))
    : documents.flatMap(listOwn)
}

/** The ISIN in the file of a stock, or in its first record. */
export const findIsin = (document: unknown, [first]: readonly Row[] = []): string =>
  readText((isRow(document) ? document.ISIN : undefined) ?? first?.isin)

/** A JSON file, its broken texts repaired; undefined without one. */
export const readRepairedJson = (path: string): unknown =>
  statFile(path) === undefined ? undefined : JSON.parse(repairJson(disk.readFileSync(path, 'utf8')))

/** The result, or undefined with a note if the file is not valid JSON. */
export const noteDamage = <T>(file: string, notes: Set<string>, read: () => T): T | undefined => {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    notes.add(`${file} was not compared: it is not valid JSON; move it away and run again`)
    return undefined
  }
}
