import { connect, count, filter, forkJoin, map, merge, mergeMap, type Observable, type OperatorFunction, tap } from 'rxjs'
import type { Settled } from '../model/outcome.js'
import type { Part } from './activity.js'
import type { StreamDefinition } from './define-stream.js'
import type { Journal, JournalFacts, Kept } from './journal.js'
import type { Output, RowsInOneFile } from './output.js'
import type { Run } from './run.js'
import type { SinkContext } from './storage.js'

export const journalFactsOf = ({ name, outputs, offers }: StreamDefinition): JournalFacts => {
  const gathered = outputs.find((output): output is RowsInOneFile => output.shape === 'rows-in-one-file')
  const offersRows = offers !== undefined
  return {
    stream: name,
    carriesRows: gathered !== undefined || offersRows,
    offersRows,
    ...(gathered?.newestBy === undefined ? {} : { newestBy: gathered.newestBy }),
  }
}

export interface Keeping {
  readonly journal: Journal
  /** Counts items from the beginning of their work until they are stored. */
  readonly inWork: Part
  readonly run: Run
}

/**
 * Stores all outcomes of a stream: first the files of single items, then each item's line in the journal, finally, from the journal, the
 * files of all items. Items that an unfinished run has stored are only counted. Emits the number of items once everything is stored.
 */
export const intoSinks = (stream: StreamDefinition, keeping: Keeping): OperatorFunction<Settled, number> => {
  const { journal, inWork, run } = keeping
  const context = contextOf(stream, keeping)
  const through = (isWanted: (output: Output) => boolean) => (kept$: Observable<Kept>) =>
    stream.outputs.filter(isWanted).reduce((before$, output) => run.storage.open(output, context)(before$), kept$)
  const fresh = (settled$: Observable<Settled>): Observable<Kept> =>
    settled$.pipe(
      filter(({ item }) => journal.earlier(item) === undefined),
      map((settled): Kept => ({ settled, files: {} })),
      through((output) => !isGathered(output)),
      mergeMap((kept) => journal.note(kept)),
      tap(inWork.end),
    )
  const takenOver = (settled$: Observable<Settled>): Observable<Kept> =>
    settled$.pipe(
      map(({ item }) => journal.earlier(item)),
      filter((kept) => kept !== undefined),
      tap(({ files }) => Object.values(files).forEach(context.wrote)),
    )
  return (settled$) =>
    settled$.pipe(
      connect((shared$) =>
        forkJoin([
          shared$.pipe(count()),
          // The files of all items are built at the end: the stream is active until then.
          merge(takenOver(shared$), fresh(shared$)).pipe(tap({ complete: inWork.begin }), through(isGathered), count()),
        ]),
      ),
      map(([settled, kept]) => {
        if (settled !== kept) throw new Error(`the sinks of ${stream.name} stored ${kept} of ${settled} items`)
        return kept
      }),
    )
}

const isGathered = ({ shape }: Output): boolean => shape === 'rows-in-one-file'

const contextOf = ({ name }: StreamDefinition, { journal, run }: Keeping): SinkContext => ({
  exchange: run.settings.exchange,
  asOf: run.asOf,
  listed: run.listed,
  accepts: (code) => run.accept.includes(code),
  journal,
  wrote: (bytes) => run.emit({ type: 'stored', stream: name, bytes }),
  notice: (text) => run.emit({ type: 'noticed', stream: name, text }),
  refuse: (code, reason) => run.emit({ type: 'noticed', stream: name, text: `${code}: ${reason}`, code }),
})
