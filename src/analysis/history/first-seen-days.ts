import type { Day } from '../../model/trading-day.js'
import { FIRST_SEEN, unpack } from '../../storage/history/day-file.js'
import type { FirstSeen } from '../../storage/history/first-seen.js'
import { readUndamaged, type Warn } from '../../storage/history/history-folder.js'

/** The records of single stocks that appeared on a day: their keys by file, or `all`. `warn` is called if the day is damaged. */
export const readFirstSeen = async (root: string, day: Day, warn: Warn): Promise<FirstSeen> =>
  (await unpack((await readUndamaged(root, day, warn))?.entries[FIRST_SEEN])) as FirstSeen
