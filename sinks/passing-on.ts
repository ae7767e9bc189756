import { concat, concatMap, defer, EMPTY, ignoreElements, NEVER, type Observable, of } from 'rxjs'
import type { Collected } from '../src/model/outcome.js'
import type { Journal } from '../src/pipeline/journal.js'
import type { Output } from '../src/pipeline/output.js'
import type { Session } from '../src/pipeline/session.js'
import type { Storage } from '../src/pipeline/storage.js'

/**
 * Stores nothing: hands the items that are meant for one output on, one after the other. An item is held to be stored when what `pass`
 * gives for it completes, so that whoever is slow to take them slows the asking down.
 */
export const passingOn = (wanted: Output | undefined, pass: (item: Collected) => Observable<unknown>): Storage => ({
  stored: { exists: () => of(false), tail: () => of(undefined), text: () => of(undefined), document: () => of(undefined) },
  begin: ({ choose, streams }) =>
    defer(() => {
      const journals = new Map(streams.map(({ stream }) => [stream, forgetful]))
      const session: Session = { record: choose(undefined), isContinued: false, journals, finish: () => of(undefined) }
      return concat(of(session), NEVER)
    }),
  open: (output) =>
    concatMap((kept) => {
      const { settled } = kept
      const passed$ = output === wanted ? pass({ ...settled, rows: [...settled.rows] }) : EMPTY
      return concat(passed$.pipe(ignoreElements()), of(kept))
    }),
  keep: () => of(undefined),
})

/** What is passed on need not be found again: the records of a whole market would fill the memory. */
const forgetful: Journal = { earlier: () => undefined, note: (kept) => of(kept), carry: () => of(undefined), takeRecords: () => [] }
