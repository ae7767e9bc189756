import { map, type Observable, of } from 'rxjs'
import { isLost, type Settled } from '../src/model/outcome.js'
import type { Row } from '../src/model/row.js'
import type { Journal, JournalFacts, Kept } from '../src/pipeline/journal.js'

/** A line of a journal: an item, by the name of its file, which is unique within its stream. */
export interface Line {
  readonly item: string
  readonly status: Settled['status']
  readonly files: Kept['files']
  /** Why it may lack rows: then a later run asks again. */
  readonly degraded?: string
  readonly remark?: string
}

/** Where the lines of a journal lie. */
export interface Spool<Place> {
  /** Appends a line that carries records, given as JSON texts; emits where each of them lies, once the line is written. */
  readonly append: (line: object, records: readonly string[] | undefined) => Observable<readonly Place[]>
  readonly textAt: (place: Place) => string
}

/** What is left of an item from an unfinished run. */
export type Earlier = Pick<Settled, 'status' | 'rows' | 'remark'> & Pick<Kept, 'files'>

/** A record in its place, and what it is sorted by. */
export interface Mark<Place> {
  readonly place: Place
  readonly newest: string
}

/** The journal of a stream over a spool; `marks` are the records that already lie there, by their item. */
export const journalOver = <Place>(
  { carriesRows, newestBy = () => '' }: JournalFacts,
  spool: Spool<Place>,
  { earlier, marks }: { readonly earlier: ReadonlyMap<string, Earlier>; readonly marks: Map<string, readonly Mark<Place>[]> },
): Journal => {
  // Records lie under their item's name: its rank may have changed since an unfinished run.
  const ranks = new Map<string, number>()
  const carried = new Map<number, Mark<Place>[]>()
  const marked = (rows: readonly unknown[], places: readonly Place[]): readonly Mark<Place>[] =>
    places.map((place, index) => ({ place, newest: newestBy(rows[index] as Row) }))
  return {
    earlier: (item) => {
      const found = earlier.get(item.fileName)
      if (found === undefined) return undefined
      ranks.set(item.fileName, item.rank)
      const { files, ...settled } = found
      return { settled: { item, ...settled }, files }
    },
    note: (kept) => {
      if (isLost(kept.settled)) return of(kept)
      const { item, rows } = kept.settled
      const records = carriesRows ? rows.map((row) => JSON.stringify(row)) : undefined
      return spool.append(lineOf(kept), records).pipe(
        map((places) => {
          ranks.set(item.fileName, item.rank)
          if (carriesRows) marks.set(item.fileName, marked(rows, places))
          return kept
        }),
      )
    },
    carry: (rank, record) =>
      spool.append({ rank, status: 'carried' }, [JSON.stringify(record)]).pipe(
        map((places) => {
          const own = carried.get(rank) ?? []
          own.push(...marked([record], places))
          carried.set(rank, own)
        }),
      ),
    records: () => ({
      *[Symbol.iterator]() {
        const noted = [...ranks].map(([item, rank]) => [rank, marks.get(item) ?? []] as const)
        for (const { place } of inOrder([...noted, ...carried])) yield spool.textAt(place)
      },
    }),
  }
}

const lineOf = ({ settled: { item, status, degraded, remark }, files }: Kept): Line => ({
  ...{ item: item.fileName, status, files },
  ...(degraded === undefined ? {} : { degraded }),
  ...(remark === undefined ? {} : { remark }),
})

/** Greatest first, then in the order of the stocks; a stock's own stay in their order. */
const inOrder = <Place>(ranked: readonly (readonly [number, readonly Mark<Place>[]])[]): readonly Mark<Place>[] =>
  [...ranked]
    .sort(([one], [other]) => one - other)
    .flatMap(([, own]) => own)
    .sort((one, other) => (one.newest < other.newest ? 1 : one.newest > other.newest ? -1 : 0))
