import { concat, concatMap, EMPTY, identity, ignoreElements, NEVER, type Observable, of } from 'rxjs'
import type { PublicOutcome } from '../model/outcome.js'
import type { Output } from '../pipeline/define-stream.js'
import type { Journal, LockedStorage, Storage } from '../pipeline/storage.js'

/**
 * Stores nothing: calls `pass` with the items of one output, one after the other. An item counts as stored when the returned Observable
 * completes, so a slow consumer slows down the requests.
 *
 * @example createCollector({ settings, storage: callbackStorage(marketNews.outputs[0], ({ item, rows }) => defer(() => insert(item.key, rows))) })
 */
export const callbackStorage = (wanted: Output | undefined, pass: (item: PublicOutcome) => Observable<unknown>): Storage => ({
  stored: { exists: () => of(false), tail: () => of(undefined), text: () => of(undefined), document: () => of(undefined) },
  openSession: ({ streams }) => {
    const journals = new Map(streams.map(({ stream }) => [stream, noopJournal]))
    const begin: LockedStorage['begin'] = ({ record }) => of({ record, isContinued: false, journals, finish: () => of(undefined) })
    return concat(of({ begin }), NEVER)
  },
  open: (output) =>
    concatMap((item) => {
      const { outcome } = item
      const passed$ = output === wanted ? pass({ ...outcome, rows: [...outcome.rows] }) : EMPTY
      return concat(passed$.pipe(ignoreElements()), of(item))
    }),
  storeDocument: () => of(undefined),
})

/** Records nothing: the records of a whole market would fill the memory. */
const noopJournal: Journal = {
  findStored: () => undefined,
  write: identity,
  carryOver: identity,
  takeRecords: () => [],
}
