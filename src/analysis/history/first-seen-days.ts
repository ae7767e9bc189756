import type { Day } from '../../model/trading-day.js'
import { FIRST_SEEN, unpack } from '../../storage/history/day-file.js'
import type { FirstSeen } from '../../storage/history/first-seen.js'
import { readRecordedDay } from '../../storage/history/history-folder.js'

/** The records of single stocks that appeared on a day: their keys by file, or `all`. @throws DamagedFileError */
export const readFirstSeen = async (root: string, day: Day): Promise<FirstSeen> => {
  return (await unpack((await readRecordedDay(root, day))?.entries[FIRST_SEEN])) as FirstSeen
}
