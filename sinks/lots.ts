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

const keyOf = ({ keys }: Lot<unknown>, nth: number): string => {
  if (keys === undefined) return ''
  return 'joined' in keys ? keys.joined.slice(nth * keys.length, (nth + 1) * keys.length) : (keys[nth] as string)
}

/** So much of a key is the day, where it is a date. */
const HEAD = 10

/** All records by their keys, greatest first, then by the rank of their lot; a lot's own stay in their order, and so do lots of one rank. */
export function* inOrder<Place>(ranked: readonly (readonly [rank: number, lot: Lot<Place>])[]): Generator<RecordAt<Place>, undefined> {
  const lots = [...ranked].sort(([one], [other]) => one - other).map(([, lot]) => lot)
  if (lots.every(({ keys }) => keys === undefined)) {
    for (const { place, count } of lots) for (let nth = 0; nth < count; nth += 1) yield [place, nth]
    return
  }
  // Day by day: all keys at once would take more memory than anything else of a run.
  const days = byHead(lots)
  for (const day of [...days.keys()].sort().reverse()) {
    for (const { of, nth } of sorted(lots, days.get(day) ?? [])) yield [(lots[of] as Lot<Place>).place, nth]
    days.delete(day)
  }
}

/** By the beginning of their keys: of each record its lot and which one of it, a number each. */
const byHead = (lots: readonly Lot<unknown>[]): Map<string, number[]> => {
  const heads = new Map<string, number[]>()
  for (const [of, lot] of lots.entries())
    for (let nth = 0; nth < lot.count; nth += 1) {
      const head = keyOf(lot, nth).slice(0, HEAD)
      const records = heads.get(head)
      if (records) records.push(of, nth)
      else heads.set(head, [of, nth])
    }
  return heads
}

interface Keyed {
  readonly key: string
  readonly of: number
  readonly nth: number
}

const sorted = (lots: readonly Lot<unknown>[], records: readonly number[]): readonly Keyed[] => {
  const keyed: Keyed[] = []
  for (let at = 0; at < records.length; at += 2) {
    const [of, nth] = [records[at] as number, records[at + 1] as number]
    keyed.push({ key: keyOf(lots[of] as Lot<unknown>, nth), of, nth })
  }
  return keyed.sort((one, other) => (one.key < other.key ? 1 : one.key > other.key ? -1 : 0))
}
