import { map, type Observable, of } from 'rxjs'
import { isLost, type Settled } from '../src/model/outcome.js'
import type { Row } from '../src/model/row.js'
import type { Journal, JournalFacts, Kept } from '../src/pipeline/journal.js'
import type { Part } from './files.js'
import { inOrder, type Lot, lotOf, type RecordAt } from './lots.js'

/** A line of a journal: one item, identified by its file name, which is unique within the stream. */
export interface Line {
  readonly item: string
  readonly status: Settled['status']
  readonly files: Kept['files']
  /** Why the item may lack rows; a later run fetches it again. */
  readonly degraded?: string
  readonly remark?: string
}

/** The storage of a journal's lines. A `Place` locates all records of one line. */
export interface Spool<Place> {
  /** Appends a line with records, each a JSON text; emits their location once the line is written. */
  readonly append: (line: object, records: readonly string[] | undefined) => Observable<Place>
  /** Reads the records in the given order, with array separators, in chunks as described at `takeRecords`. */
  readonly read: (records: Iterable<RecordAt<Place>>) => Iterable<Part>
}

/** An item that an unfinished run stored. */
export type Earlier = Pick<Settled, 'status' | 'rows' | 'remark'> & Pick<Kept, 'files'>

/** Creates the journal of a stream over a spool. `groups` are the records that the spool already has, by item. */
export const journalOver = <Place>(
  facts: JournalFacts,
  spool: Spool<Place>,
  { earlier, groups }: { readonly earlier: ReadonlyMap<string, Earlier>; readonly groups: Map<string, Lot<Place>> },
): Journal => {
  // Records are stored by item name: the rank of an item may have changed since an unfinished run.
  const ranks = new Map<string, number>()
  const carried: (readonly [number, Lot<Place>])[] = []
  return {
    earlier: (item) => {
      const found = earlier.get(item.fileName)
      if (found === undefined) return undefined
      ranks.set(item.fileName, item.rank)
      const { files, ...outcome } = found
      return { settled: { item, ...outcome }, files }
    },
    note: (kept) => {
      if (isLost(kept.settled)) return of(kept)
      const { item, rows } = kept.settled
      if (!facts.carriesRows) return spool.append(lineOf(kept), undefined).pipe(map(() => kept))
      return appended(lineOf(kept), [...rows], facts, spool).pipe(
        map((group) => {
          ranks.set(item.fileName, item.rank)
          groups.set(item.fileName, group)
          return kept
        }),
      )
    },
    carry: (rank, record) =>
      appended({ rank, status: 'carried' }, [record], facts, spool).pipe(map((group) => void carried.push([rank, group]))),
    takeRecords: () => {
      const noted: typeof carried = []
      for (const [item, rank] of ranks) {
        const group = groups.get(item)
        if (group) noted.push([rank, group])
      }
      const all = inOrder([...noted, ...carried.splice(0)])
      for (const known of [ranks, groups]) known.clear()
      return spool.read(all)
    },
  }
}

/** Appends a line with rows; emits their location once the line is written. */
export const appended = <Place>(
  line: object,
  rows: readonly unknown[],
  { newestBy }: JournalFacts,
  { append }: Spool<Place>,
): Observable<Lot<Place>> => {
  const texts = rows.map((row) => JSON.stringify(row))
  const keys = newestBy && (rows as readonly Row[]).map(newestBy)
  return append(line, texts).pipe(map((place) => lotOf(place, rows.length, keys)))
}

const lineOf = ({ settled: { item, status, degraded, remark }, files }: Kept): Line => ({
  ...{ item: item.fileName, status, files },
  ...(degraded === undefined ? {} : { degraded }),
  ...(remark === undefined ? {} : { remark }),
})
