import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHistoryReader, type HistoryReader } from '../../storage/history/history-reader.js'
import { statePaths } from '../../storage/run-state.js'

/** The history of a folder, and what reads its lists. */
export interface OpenHistory {
  readonly root: string
  readonly reader: HistoryReader
}

/** Where copies of recorded tables are kept. */
export const toCopyFolder = (root: string): string => join(statePaths(root).cache, 'history')

/** Lends the history of a folder; its temporary files are beside the copies. */
export const withHistory = <T>(root: string, use: (history: OpenHistory) => Promise<T>): Promise<T> =>
  withReader(root, toCopyFolder(root), use)

/** Lends the history of a folder, and a temporary folder of the system. */
export const withTemporaryHistory = async <T>(root: string, use: (history: OpenHistory, work: string) => Promise<T>): Promise<T> => {
  const work = await mkdtemp(join(tmpdir(), 'scripstream-history-'))
  return withReader(root, work, (history) => use(history, work)).finally(() => rm(work, { recursive: true, force: true }))
}

const withReader = async <T>(root: string, work: string, use: (history: OpenHistory) => Promise<T>): Promise<T> => {
  const reader = createHistoryReader(root, work)
  return use({ root, reader }).finally(reader.close)
}
