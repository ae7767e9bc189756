/** The records of one line of a journal. Nothing is held for each of them but a few bytes: a market has hundreds of thousands. */
export interface Lot<Place> {
  /** Where they lie, in the order in which they were noted. */
  readonly place: Place
  readonly count: number
  /** What they are sorted by, greatest first, one a line: a single text takes less than half of what so many texts do. */
  readonly newest: string
  /** Which of them is first by that, which second, and so on; absent where they lie in that order already. */
  readonly order?: readonly number[]
}

/** A record by the place of its lot, and which one of it. */
export type RecordAt<Place> = readonly [place: Place, nth: number]

const LINE_BREAKS = /\n/g

/** The lot of records that are sorted by the given keys, or by none at all. */
export const lotOf = <Place>(place: Place, count: number, keys: readonly string[] | undefined): Lot<Place> => {
  if (keys === undefined) return { place, count, newest: '' }
  const lines = keys.map((key) => (key.includes('\n') ? key.replace(LINE_BREAKS, ' ') : key))
  if (lines.every((line, nth) => nth === 0 || line <= (lines[nth - 1] as string))) return { place, count, newest: lines.join('\n') }
  const order = lines.map((_, nth) => nth).sort((one, other) => descending(lines[one] as string, lines[other] as string))
  return { place, count, newest: order.map((nth) => lines[nth]).join('\n'), order }
}

const descending = (one: string, other: string): number => (one < other ? 1 : one > other ? -1 : 0)

/** How far a lot has been walked. */
interface Cursor<Place> {
  readonly lot: Lot<Place>
  readonly rank: number
  next: number
  /** The key of the next record, and where in the lot's keys the one after it begins. */
  key: string
  rest: number
}

/**
 * All records by their keys, greatest first, then by the rank of their lot; a lot's own stay in their order, and so do lots of one rank.
 * Each lot is in order already, so that only the first of each have to be compared.
 */
export function* inOrder<Place>(ranked: readonly (readonly [rank: number, lot: Lot<Place>])[]): Generator<RecordAt<Place>, undefined> {
  const byRank = ranked.filter(([, { count }]) => count > 0).sort(([one], [other]) => one - other)
  // The rank is from here on the place in this order: no two have the same.
  const heap = byRank.map(([, lot], rank) => advanced({ lot, rank, next: -1, key: '', rest: 0 })).sort(compared)
  for (;;) {
    const [top] = heap
    if (top === undefined) return
    const { lot, next } = top
    yield [lot.place, lot.order?.[next] ?? next]
    const last = next + 1 < lot.count ? advanced(top) : heap.pop()
    if (last !== undefined && heap.length > 0) sift(heap, last)
  }
}

const advanced = <Place>(cursor: Cursor<Place>): Cursor<Place> => {
  const { newest } = cursor.lot
  const end = newest.indexOf('\n', cursor.rest)
  cursor.key = newest.slice(cursor.rest, end < 0 ? newest.length : end)
  cursor.rest = end < 0 ? newest.length : end + 1
  cursor.next += 1
  return cursor
}

const compared = <Place>(one: Cursor<Place>, other: Cursor<Place>): number => descending(one.key, other.key) || one.rank - other.rank

/** Puts a cursor on top of a heap and lets it sink to its place. */
const sift = <Place>(heap: Cursor<Place>[], cursor: Cursor<Place>): void => {
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    let below = heap[child]
    const right = heap[child + 1]
    if (below !== undefined && right !== undefined && compared(right, below) < 0) {
      below = right
      child += 1
    }
    if (below === undefined || compared(cursor, below) < 0) break
    heap[at] = below
    at = child
  }
  heap[at] = cursor
}
