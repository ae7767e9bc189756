import { map, type Observable, of } from 'rxjs'
import { type ItemOutcome, isLost } from '../model/outcome.js'
import type { Row } from '../model/row.js'
import type { Journal, JournalFacts, StoredItem } from '../pipeline/journal.js'
import type { FileChunk } from './file-store.js'
import { createRecordGroup, type RecordGroup, type RecordPosition, sortRecords } from './record-groups.js'

/** A line of a journal: one item, identified by its file name, which is unique within the stream. */
export interface JournalLine {
  readonly item: string
  readonly status: ItemOutcome['status']
  readonly files: StoredItem['files']
  /** Why the item may lack rows; a later run fetches it again. */
  readonly degraded?: string
  readonly remark?: string
}

/** The storage of a journal's lines. A `Place` locates all records of one line. */
export interface JournalSpool<Place> {
  /** Appends a line with records, each a JSON text; emits their location once the line is written. */
  readonly append: (line: object, records: readonly string[] | undefined) => Observable<Place>
  /** Reads the records in the given order, with array separators, in chunks as described at `takeRecords`. */
  readonly read: (records: Iterable<RecordPosition<Place>>) => Iterable<FileChunk>
}

/** An item that an unfinished run stored. */
export type EarlierItem = Pick<ItemOutcome, 'status' | 'rows' | 'remark'> & Pick<StoredItem, 'files'>

/** Creates the journal of a stream over a spool. `groups` are the records that the spool already has, by item. */
export const createJournal = <Place>(
  facts: JournalFacts,
  spool: JournalSpool<Place>,
  { earlier, groups }: { readonly earlier: ReadonlyMap<string, EarlierItem>; readonly groups: Map<string, RecordGroup<Place>> },
): Journal => {
  // Records are stored by item name: the rank of an item may have changed since an unfinished run.
  const ranks = new Map<string, number>()
  const carried: (readonly [number, RecordGroup<Place>])[] = []
  return {
    findStored: (item) => {
      const found = earlier.get(item.fileName)
      if (found === undefined) return undefined
      ranks.set(item.fileName, item.rank)
      const { files, ...outcome } = found
      return { settled: { item, ...outcome }, files }
    },
    note: (kept) => {
      if (isLost(kept.settled)) return of(kept)
      const { item, rows } = kept.settled
      if (!facts.carriesRows) return spool.append(toJournalLine(kept), undefined).pipe(map(() => kept))
      return appendRecords(toJournalLine(kept), [...rows], facts, spool).pipe(
        map((group) => {
          ranks.set(item.fileName, item.rank)
          groups.set(item.fileName, group)
          return kept
        }),
      )
    },
    carry: (rank, record) =>
      appendRecords({ rank, status: 'carried' }, [record], facts, spool).pipe(map((group) => void carried.push([rank, group]))),
    takeRecords: () => {
      const noted: typeof carried = []
      for (const [item, rank] of ranks) {
        const group = groups.get(item)
        if (group) noted.push([rank, group])
      }
      const all = sortRecords([...noted, ...carried.splice(0)])
      for (const known of [ranks, groups]) known.clear()
      return spool.read(all)
    },
  }
}

/** Appends a line with rows; emits their location once the line is written. */
export const appendRecords = <Place>(
  line: object,
  rows: readonly unknown[],
  { newestBy }: JournalFacts,
  { append }: JournalSpool<Place>,
): Observable<RecordGroup<Place>> => {
  const texts = rows.map((row) => JSON.stringify(row))
  const keys = newestBy && (rows as readonly Row[]).map(newestBy)
  return append(line, texts).pipe(map((place) => createRecordGroup(place, rows.length, keys)))
}

const toJournalLine = ({ settled: { item, status, degraded, remark }, files }: StoredItem): JournalLine => ({
  ...{ item: item.fileName, status, files },
  ...(degraded === undefined ? {} : { degraded }),
  ...(remark === undefined ? {} : { remark }),
})
