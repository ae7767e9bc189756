/** The records of one journal line, reduced to a few bytes for each record: a market has hundreds of thousands. */
export interface RecordGroup<Place> {
  /** Where the records are stored. */
  readonly place: Place
  readonly count: number
  readonly keys: SortKeys | undefined
}

/** The sort keys of consecutive records. Keys of equal length, such as dates, need half the memory as one string. */
type SortKeys = readonly string[] | { readonly joined: string; readonly length: number }

/** A record by the place of its journal line and its index in that line. */
export type RecordPosition<Place> = readonly [place: Place, index: number]

/** Groups the records of a line, sorted by the given keys or unsorted. */
export const createRecordGroup = <Place>(place: Place, count: number, keys: readonly string[] | undefined): RecordGroup<Place> => ({
  place,
  count,
  keys: keys && packKeys(keys),
})

const packKeys = (keys: readonly string[]): SortKeys => {
  const length = keys[0]?.length ?? 0
  return keys.every((key) => key.length === length) ? { joined: keys.join(''), length } : keys
}

/** The length of the head of a key: day and hour of a date. */
const KEY_HEAD_LENGTH = 13

const readKeyHead = (group: RecordGroup<unknown>, index: number): string => sliceKey(group, index, 0, KEY_HEAD_LENGTH)

/** The rest of a key, which orders records with the same head. V8 copies so short a string; a copy compares much faster than a slice. */
const readKeyTail = (group: RecordGroup<unknown>, index: number): string => sliceKey(group, index, KEY_HEAD_LENGTH)

const sliceKey = ({ keys = [] }: RecordGroup<unknown>, index: number, from: number, to = Number.POSITIVE_INFINITY): string => {
  if (!('joined' in keys)) return keys[index]?.slice(from, to) ?? ''
  const { joined, length } = keys
  return joined.slice(index * length + Math.min(length, from), index * length + Math.min(length, to))
}

/** Sorts all records by key, greatest first, then by rank. Stable: records of a line stay in order, and so do lines of one rank. */
export function* sortRecords<Place>(
  ranked: readonly (readonly [rank: number, group: RecordGroup<Place>])[],
): Generator<RecordPosition<Place>, undefined> {
  const groups = [...ranked].sort(([one], [other]) => one - other).map(([, group]) => group)
  if (groups.every(({ keys }) => keys === undefined)) {
    for (const { place, count } of groups) for (let index = 0; index < count; index += 1) yield [place, index]
    return
  }
  // Sort hour by hour: all keys at once would need more memory than anything else in a run.
  const { heads, records } = groupByHead(groups)
  for (const [from, to] of heads)
    for (const { group, index } of sortByTail(groups, records.subarray(from, to)))
      yield [(groups[group] as RecordGroup<Place>).place, index]
}

interface HeadGroups {
  /** The range of each head in `records`, greatest head first. */
  readonly heads: readonly (readonly [from: number, to: number])[]
  /** Two numbers for each record: the index of its group, and its index in that group. */
  readonly records: Uint32Array
}

/** Groups all records by the head of their keys (a counting sort). */
const groupByHead = (groups: readonly RecordGroup<unknown>[]): HeadGroups => {
  const counts = new Map<string, number>()
  for (const group of groups)
    for (let index = 0; index < group.count; index += 1) {
      const head = readKeyHead(group, index)
      counts.set(head, (counts.get(head) ?? 0) + 1)
    }
  let end = 0
  const ends = new Map<string, number>()
  const heads = [...counts.keys()]
    .sort()
    .reverse()
    .map((head) => {
      const from = end
      ends.set(head, from)
      end += 2 * (counts.get(head) ?? 0)
      return [from, end] as const
    })
  const records = new Uint32Array(end)
  for (const [groupIndex, group] of groups.entries())
    for (let index = 0; index < group.count; index += 1) {
      const head = readKeyHead(group, index)
      const at = ends.get(head) as number
      records[at] = groupIndex
      records[at + 1] = index
      ends.set(head, at + 2)
    }
  return { heads, records }
}

interface KeyedRecord {
  readonly tail: string
  readonly group: number
  readonly index: number
}

const sortByTail = (groups: readonly RecordGroup<unknown>[], records: Uint32Array): readonly KeyedRecord[] => {
  const keyed: KeyedRecord[] = []
  for (let at = 0; at < records.length; at += 2) {
    const [group, index] = [records[at] as number, records[at + 1] as number]
    keyed.push({ tail: readKeyTail(groups[group] as RecordGroup<unknown>, index), group, index })
  }
  return keyed.sort((one, other) => (one.tail < other.tail ? 1 : one.tail > other.tail ? -1 : 0))
}
