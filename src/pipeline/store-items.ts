import { connect, count, filter, forkJoin, map, merge, mergeMap, type Observable, type OperatorFunction, tap } from 'rxjs'
import { InternalError } from '../model/errors.js'
import type { ItemOutcome } from '../model/outcome.js'
import type { StreamDefinition } from './define-stream.js'
import type { Output, RowsInOneFile } from './output.js'
import type { ActivityCounter, RunServices } from './run.js'
import { isSelectedBy } from './select-items.js'
import type { Journal, JournalFacts, SinkItem } from './session.js'
import type { SinkContext } from './storage.js'

export const toJournalFacts = ({ name, outputs, offers }: StreamDefinition): JournalFacts => {
  const gathered = outputs.find((output): output is RowsInOneFile => output.shape === 'rows-in-one-file')
  const offersRows = offers !== undefined
  return {
    stream: name,
    carriesRows: gathered !== undefined || offersRows,
    offersRows,
    ...(gathered?.sortBy === undefined ? {} : { sortBy: gathered.sortBy }),
  }
}

export interface StoreContext {
  readonly journal: Journal
  /** Counts items from the beginning of their work until they are stored. */
  readonly activeItems: ActivityCounter
  readonly run: RunServices
}

/**
 * Stores all outcomes of a stream: first the files of single items, then each item's line in the journal, finally, from the journal, the
 * files of all items. Items that an unfinished run has stored are only counted. Emits the number of items once everything is stored.
 */
export const storeItems = (stream: StreamDefinition, storeContext: StoreContext): OperatorFunction<ItemOutcome, number> => {
  const { journal, activeItems, run } = storeContext
  const context = createSinkContext(stream, storeContext)
  const through = (isWanted: (output: Output) => boolean) => (stored$: Observable<SinkItem>) =>
    stream.outputs.filter(isWanted).reduce((before$, output) => run.storage.open(output, context)(before$), stored$)
  const fresh = (outcome$: Observable<ItemOutcome>): Observable<SinkItem> =>
    outcome$.pipe(
      filter(({ item }) => journal.findStored(item) === undefined),
      map((outcome): SinkItem => ({ outcome, files: {} })),
      through((output) => !isGathered(output)),
      mergeMap((item) => journal.write(item)),
      tap(activeItems.end),
    )
  const takenOver = (outcome$: Observable<ItemOutcome>): Observable<SinkItem> =>
    outcome$.pipe(
      map(({ item }) => journal.findStored(item)),
      filter((item) => item !== undefined),
      tap(({ files }) => Object.values(files).forEach(context.wrote)),
    )
  return (outcome$) =>
    outcome$.pipe(
      connect((shared$) =>
        forkJoin([
          shared$.pipe(count()),
          // The files of all items are built at the end: the stream is active until then.
          merge(takenOver(shared$), fresh(shared$)).pipe(tap({ complete: activeItems.begin }), through(isGathered), count()),
        ]),
      ),
      map(([finished, stored]) => {
        if (finished !== stored) throw new InternalError(`the sinks of ${stream.name} stored ${stored} of ${finished} items`)
        return stored
      }),
    )
}

const isGathered = ({ shape }: Output): boolean => shape === 'rows-in-one-file'

const createSinkContext = (stream: StreamDefinition, { journal, run }: StoreContext): SinkContext => ({
  stream: stream.name,
  exchange: run.settings.exchange,
  asOf: run.asOf,
  get listed() {
    return stream.work.where ? run.listed.filter(isSelectedBy(stream)) : run.listed
  },
  accepts: (code) => run.accept.includes(code),
  journal,
  wrote: (bytes) => run.emit({ type: 'stored', stream: stream.name, bytes }),
  warn: (text) => run.emit({ type: 'warning', stream: stream.name, text }),
  refuse: (code, reason) => run.emit({ type: 'warning', stream: stream.name, text: `${code}: ${reason}`, code }),
})
