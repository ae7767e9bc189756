import { basename, join, posix, sep } from 'node:path'
import { StorageError, UsageError } from '../model/errors.js'
import { isRow, type Row, readText } from '../model/row.js'
import { createFileNames, type NamedEntry } from '../model/stock.js'
import type { Table, TableFiles } from '../model/table.js'
import { disk } from './disk.js'
import { readStateDocument } from './file-system.js'
import { createFileRepair } from './repaired-files.js'
import { requireFolder } from './run-state.js'

/** An output folder with the files of the tables. */
export interface TableFolder {
  readonly root: string
  /** The existing files of a table, by name, with their label. */
  readonly listFiles: (table: Table) => Promise<readonly LabelledFiles[]>
  /** The same without repaired copies, and without reading any file. */
  readonly listOutputs: (table: Table) => Promise<readonly LabelledFiles[]>
  /** The items of a table's files, by file name, as far as a list names them. */
  readonly listItems: (table: Table) => Promise<ReadonlyMap<string, TableItem>>
}

/** A stock or an index; `sid` distinguishes indices that share a symbol. */
export interface TableItem {
  readonly symbol: string
  readonly sid: string
}

export interface LabelledFiles extends TableFiles {
  readonly paths: readonly string[]
}

/**
 * Opens an output folder; with a symbol, without the files of other listed stocks. Of a JSON file with broken
 * texts, a repaired copy is listed.
 *
 * @throws UsageError if the folder is missing, or if an output in it is a link that points outside
 */
export const openFolder = async (out: string, symbol?: string): Promise<TableFolder> => {
  await requireFolder(out)
  const root = await disk.realpath(out)
  const repair = createFileRepair(root)
  const known = new Map<Table['items'], ReturnType<TableFolder['listItems']>>()
  const readItems: TableFolder['listItems'] = async ({ items }) => {
    if (items === 'stocks') return indexStockFiles(await readRows(join(root, 'master_isin_map.json')))
    return items === 'indices' ? indexIndices(await readRows(join(root, 'all_indices_list.json'))) : new Map()
  }
  const listItems: TableFolder['listItems'] = (table) => {
    const found = known.get(table.items) ?? readItems(table)
    known.set(table.items, found)
    return found
  }
  const listOutputs: TableFolder['listFiles'] = async (table) => {
    const items = symbol !== undefined && table.items === 'stocks' ? await listItems(table) : undefined
    // Whether a file is that of another listed stock.
    const isOfOther = (path: string, files: TableFiles) => {
      const [before = '', after = ''] = posix.basename(files.path).split(PLACEHOLDER)
      const name = basename(path)
      const item = items?.get(name.slice(before.length, name.length - after.length))
      return item !== undefined && item.symbol !== symbol
    }
    const list = async (files: TableFiles): Promise<LabelledFiles> => ({
      ...files,
      paths: (await findTableFiles(root, files.path)).filter((path) => !isOfOther(path, files)),
    })
    return Promise.all(table.files.map(list))
  }
  return {
    root,
    listItems,
    listOutputs,
    listFiles: async (table) => {
      const all = await listOutputs(table)
      if (table.shape !== 'array' && table.shape !== 'document') return all
      return Promise.all(all.map(async (files) => ({ ...files, paths: await repair(files.paths) })))
    },
  }
}

const PLACEHOLDER = /\{\w+\}/

const findTableFiles = async (root: string, path: string): Promise<readonly string[]> => {
  const folder = join(root, posix.dirname(path))
  const [before = '', after = ''] = posix.basename(path).split(PLACEHOLDER)
  const isOne = !path.includes('{')
  const isExchange = path.includes('{exch}')
  const entries = await disk
    .readdir(folder, { withFileTypes: true })
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
      throw new StorageError(`${folder} cannot be read: ${error.code ?? error.message}`, { cause: error })
    })
  const matches = entries.filter(({ name }) => {
    if (isOne) return name === posix.basename(path)
    const middle = name.slice(before.length, name.length - after.length)
    return (
      !name.startsWith('.') &&
      name === before + middle + after &&
      (isExchange ? /^[a-z]{2,10}$/ : /./).test(middle)
    )
  })
  const files = matches.filter((entry) => entry.isFile() || entry.isSymbolicLink())
  if (files.length === 0) return []
  await assertInside(root, folder)
  for (const link of files.filter((entry) => entry.isSymbolicLink()))
    await assertInside(root, join(folder, link.name))
  return files.map(({ name }) => join(folder, name)).sort()
}

const assertInside = async (root: string, path: string): Promise<void> => {
  const real = await disk.realpath(path)
  if (real !== root && !real.startsWith(root.endsWith(sep) ? root : root + sep))
    throw new UsageError(
      `${path} is a link that points outside the folder, and is not followed; replace it with the files`,
    )
}

const readRows = async (path: string): Promise<readonly Row[]> => {
  const rows = await readStateDocument(path)
  return Array.isArray(rows) ? rows.filter(isRow) : []
}

const indexStockFiles = (rows: readonly Row[]): ReadonlyMap<string, TableItem> => {
  const stocks = listEntries(rows, 'Symbol', 'ISIN')
  const times = new Map<string, number>()
  for (const { key } of stocks) times.set(key, (times.get(key) ?? 0) + 1)
  const names = createFileNames(stocks)
  // Stocks that share a symbol appear under their file names, so that their rows stay distinct.
  return new Map(
    stocks.flatMap(({ key }, index) =>
      times.get(key) === 1 ? [[names[index] as string, { symbol: key, sid: '' }]] : [],
    ),
  )
}

const indexIndices = (rows: readonly Row[]): ReadonlyMap<string, TableItem> => {
  const indices = listEntries(rows, 'Sym', 'Sid')
  const names = createFileNames(indices, { mayReplace: true })
  return new Map(indices.map(({ key, id }, index) => [names[index] as string, { symbol: key, sid: id }]))
}

/** Entries with a key and an id, without duplicates: those for which a run writes files. */
const listEntries = (rows: readonly Row[], key: string, id: string): readonly NamedEntry[] => {
  const all = rows
    .map((row) => ({ key: readText(row[key]), id: readText(row[id]) }))
    .filter((one) => one.key !== '' && one.id !== '')
  return [...new Map(all.map((one) => [`${one.key}\n${one.id}`, one])).values()]
}
