import { map, type Observable, of } from 'rxjs'
import { isLost, type Settled } from '../src/model/outcome.js'
import type { Row } from '../src/model/row.js'
import type { Journal, JournalFacts, Kept } from '../src/pipeline/journal.js'
import type { Part } from './files.js'
import { inOrder, type Lot, lotOf, type RecordAt } from './lots.js'

/** A line of a journal: an item, by the name of its file, which is unique within its stream. */
export interface Line {
  readonly item: string
  readonly status: Settled['status']
  readonly files: Kept['files']
  /** Why it may lack rows: then a later run asks again. */
  readonly degraded?: string
  readonly remark?: string
}

/** Where the lines of a journal lie. A place is that of all records of a line. */
export interface Spool<Place> {
  /** Appends a line that carries records, each of them a JSON text; emits where they lie, once the line is written. */
  readonly append: (line: object, records: readonly string[] | undefined) => Observable<Place>
  /** The records in the given order and what stands between two records of an array, in parts as of `takeRecords`. */
  readonly read: (records: Iterable<RecordAt<Place>>) => Iterable<Part>
}

/** What is left of an item from an unfinished run. */
export type Earlier = Pick<Settled, 'status' | 'rows' | 'remark'> & Pick<Kept, 'files'>

/** The journal of a stream over a spool; `lots` are those of the records that already lie there, by their item. */
export const journalOver = <Place>(
  facts: JournalFacts,
  spool: Spool<Place>,
  { earlier, lots }: { readonly earlier: ReadonlyMap<string, Earlier>; readonly lots: Map<string, Lot<Place>> },
): Journal => {
  // Records lie under their item's name: its rank may have changed since an unfinished run.
  const ranks = new Map<string, number>()
  const carried: (readonly [number, Lot<Place>])[] = []
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
      if (!facts.carriesRows) return spool.append(lineOf(kept), undefined).pipe(map(() => kept))
      return appended(lineOf(kept), [...rows], facts, spool).pipe(
        map((lot) => {
          ranks.set(item.fileName, item.rank)
          lots.set(item.fileName, lot)
          return kept
        }),
      )
    },
    carry: (rank, record) =>
      appended({ rank, status: 'carried' }, [record], facts, spool).pipe(map((lot) => void carried.push([rank, lot]))),
    takeRecords: () => {
      const noted: typeof carried = []
      for (const [item, rank] of ranks) {
        const lot = lots.get(item)
        if (lot) noted.push([rank, lot])
      }
      const all = inOrder([...noted, ...carried.splice(0)])
      for (const known of [ranks, lots]) known.clear()
      return spool.read(all)
    },
  }
}

/** Appends a line that carries rows; emits their lot, once it is written. */
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
