import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { disk } from '../../storage/disk.js'
import { whenClosed } from '../../storage/duckdb.js'
import { statFile } from '../../storage/file-system.js'

const KEPT_MS = 86_400_000

/**
 * A path of its own to the present content of a file, until the database is closed. DuckDB opens a file once
 * for each thread: if another process replaced it meanwhile, one statement would read some rows of the old
 * file and some of the new one. The path itself where links cannot be made.
 */
export const pinFile = (connection: DuckDBConnection, path: string, folder: string): string => {
  const link = join(folder, randomUUID())
  try {
    disk.mkdirSync(folder, { recursive: true })
    disk.linkSync(path, link)
  } catch {
    return path
  }
  whenClosed(connection, () => disk.rmSync(link, { force: true }))
  return link
}

/** Removes what a process that was killed has left. */
export const removeOldPins = async (folder: string): Promise<void> => {
  if (statFile(folder) === undefined) return
  for (const name of await disk.readdir(folder)) {
    const link = join(folder, name)
    if (Date.now() - (statFile(link)?.ctimeMs ?? 0) > KEPT_MS) await disk.rm(link, { force: true })
  }
}
