import { map, type Observable, of } from 'rxjs'
import { isLost, type Settled } from '../src/model/outcome.js'
import type { Row } from '../src/model/row.js'
import type { Journal, JournalFacts, Kept } from '../src/pipeline/journal.js'
import type { Part } from './atomic-file.js'

/** A line of a journal: an item, by the name of its file, which is unique within its stream. */
export interface Line {
  readonly item: string
  readonly status: Settled['status']
  readonly files: Kept['files']
  /** Why it may lack rows: then a later run asks again. */
  readonly degraded?: string
  readonly remark?: string
}

/** A record as it is written, and what it is sorted by. */
export interface Written {
  readonly text: string
  readonly newest: string
}

/** Where the lines of a journal lie. A place is that of a record, with what it is sorted by. */
export interface Spool<Place extends Pick<Written, 'newest'>> {
  /** Appends a line that carries records; emits where each of them lies, once the line is written. */
  readonly append: (line: object, records: readonly Written[] | undefined) => Observable<readonly Place[]>
  /** The records at the given places, in their order. */
  readonly read: (places: readonly Place[]) => Iterable<Part>
}

/** What is left of an item from an unfinished run. */
export type Earlier = Pick<Settled, 'status' | 'rows' | 'remark'> & Pick<Kept, 'files'>

/** The records of rows, as a journal's lines carry them. */
export const writtenOf = (rows: Iterable<unknown>, { newestBy = () => '' }: JournalFacts): readonly Written[] =>
  Array.from(rows, (row) => ({ text: JSON.stringify(row), newest: newestBy(row as Row) }))

/** The journal of a stream over a spool; `places` are those of the records that already lie there, by their item. */
export const journalOver = <Place extends Pick<Written, 'newest'>>(
  facts: JournalFacts,
  spool: Spool<Place>,
  { earlier, places }: { readonly earlier: ReadonlyMap<string, Earlier>; readonly places: Map<string, readonly Place[]> },
): Journal => {
  // Records lie under their item's name: its rank may have changed since an unfinished run.
  const ranks = new Map<string, number>()
  const carried = new Map<number, Place[]>()
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
      const { item } = kept.settled
      const records = facts.carriesRows ? writtenOf(kept.settled.rows, facts) : undefined
      return spool.append(lineOf(kept), records).pipe(
        map((own) => {
          ranks.set(item.fileName, item.rank)
          if (records) places.set(item.fileName, own)
          return kept
        }),
      )
    },
    carry: (rank, record) =>
      spool.append({ rank, status: 'carried' }, writtenOf([record], facts)).pipe(
        map((more) => {
          const own = carried.get(rank) ?? []
          own.push(...more)
          carried.set(rank, own)
        }),
      ),
    takeRecords: () => {
      const noted = [...ranks].map(([item, rank]) => [rank, places.get(item) ?? []] as const)
      const all = inOrder([...noted, ...carried])
      for (const known of [ranks, places, carried]) known.clear()
      return spool.read(all)
    },
  }
}

const lineOf = ({ settled: { item, status, degraded, remark }, files }: Kept): Line => ({
  ...{ item: item.fileName, status, files },
  ...(degraded === undefined ? {} : { degraded }),
  ...(remark === undefined ? {} : { remark }),
})

/** Greatest first, then in the order of the stocks; a stock's own stay in their order. */
const inOrder = <Place extends Pick<Written, 'newest'>>(ranked: (readonly [number, readonly Place[]])[]): readonly Place[] =>
  ranked
    .sort(([one], [other]) => one - other)
    .flatMap(([, own]) => own)
    .sort((one, other) => (one.newest < other.newest ? 1 : one.newest > other.newest ? -1 : 0))
