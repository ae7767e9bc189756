import { join } from 'node:path'
import { disk } from '../../storage/disk.js'
import { listNames } from '../../storage/file-system.js'
import { statePaths } from '../../storage/run-state.js'

/** An earlier version kept its copies of the candles in the cache. */
export const deleteFormerCopies = async (root: string): Promise<void> => {
  const { cache } = statePaths(root)
  const names = await listNames(cache)
  for (const name of names.filter((one) => /^candles-.*\.parquet$/.test(one))) await disk.rm(join(cache, name), { force: true })
}
