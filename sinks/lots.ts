/** The records of one line of a journal. Nothing is held for each of them but a few bytes: a market has hundreds of thousands. */
export interface Lot<Place> {
  /** Where they lie. */
  readonly place: Place
  readonly count: number
  readonly keys: Keys | undefined
}

/** What records are sorted by, of one after the other. Keys of one length, as dates are, take half as much in a single text. */
type Keys = readonly string[] | { readonly joined: string; readonly length: number }

/** A record by the place of its lot, and which one of it. */
export type RecordAt<Place> = readonly [place: Place, nth: number]

/** The lot of records that are sorted by the given keys, or by none at all. */
export const lotOf = <Place>(place: Place, count: number, keys: readonly string[] | undefined): Lot<Place> => ({
  place,
  count,
  keys: keys && keysOf(keys),
})

const keysOf = (keys: readonly string[]): Keys => {
  const length = keys[0]?.length ?? 0
  return keys.every((key) => key.length === length) ? { joined: keys.join(''), length } : keys
}

/** So much of a key is the day and the hour, where it is a date. */
const HEAD = 13

const headOf = (lot: Lot<unknown>, nth: number): string => partOf(lot, nth, 0, HEAD)

/** What follows the head, which is all that tells records of one head apart: so short a text is a copy, which compares much faster than a part. */
const tailOf = (lot: Lot<unknown>, nth: number): string => partOf(lot, nth, HEAD)

const partOf = ({ keys = [] }: Lot<unknown>, nth: number, from: number, to = Number.POSITIVE_INFINITY): string => {
  if (!('joined' in keys)) return keys[nth]?.slice(from, to) ?? ''
  const { joined, length } = keys
  return joined.slice(nth * length + Math.min(length, from), nth * length + Math.min(length, to))
}

/** All records by their keys, greatest first, then by the rank of their lot; a lot's own stay in their order, and so do lots of one rank. */
export function* inOrder<Place>(ranked: readonly (readonly [rank: number, lot: Lot<Place>])[]): Generator<RecordAt<Place>, undefined> {
  const lots = [...ranked].sort(([one], [other]) => one - other).map(([, lot]) => lot)
  if (lots.every(({ keys }) => keys === undefined)) {
    for (const { place, count } of lots) for (let nth = 0; nth < count; nth += 1) yield [place, nth]
    return
  }
  // Hour by hour: all keys at once would take more memory than anything else of a run.
  const { heads, records } = byHead(lots)
  for (const [from, to] of heads)
    for (const { of, nth } of sorted(lots, records.subarray(from, to))) yield [(lots[of] as Lot<Place>).place, nth]
}

interface ByHead {
  /** Where the records of each head are, the greatest head first. */
  readonly heads: readonly (readonly [from: number, to: number])[]
  /** Of each record its lot, and which one of it. */
  readonly records: Uint32Array
}

/** All records by the beginning of their keys. */
const byHead = (lots: readonly Lot<unknown>[]): ByHead => {
  const counts = new Map<string, number>()
  for (const lot of lots)
    for (let nth = 0; nth < lot.count; nth += 1) {
      const head = headOf(lot, nth)
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
  for (const [of, lot] of lots.entries())
    for (let nth = 0; nth < lot.count; nth += 1) {
      const head = headOf(lot, nth)
      const at = ends.get(head) as number
      records[at] = of
      records[at + 1] = nth
      ends.set(head, at + 2)
    }
  return { heads, records }
}

interface Keyed {
  readonly tail: string
  readonly of: number
  readonly nth: number
}

const sorted = (lots: readonly Lot<unknown>[], records: Uint32Array): readonly Keyed[] => {
  const keyed: Keyed[] = []
  for (let at = 0; at < records.length; at += 2) {
    const [of, nth] = [records[at] as number, records[at + 1] as number]
    keyed.push({ tail: tailOf(lots[of] as Lot<unknown>, nth), of, nth })
  }
  return keyed.sort((one, other) => (one.tail < other.tail ? 1 : one.tail > other.tail ? -1 : 0))
}
