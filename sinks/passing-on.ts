import { concat, ignoreElements, of, tap } from 'rxjs'
import type { Settled } from '../src/model/outcome.js'
import type { Output } from '../src/pipeline/output.js'
import type { Storage } from '../src/pipeline/storage.js'

const NOTHING = { files: 0, bytes: 0 }

/** Stores nothing: hands the items that are meant for one output to a listener. */
export const passingOn = (wanted: Output | undefined, listen: (settled: Settled) => void): Storage => ({
  stored: { exists: () => of(false), tail: () => of(undefined), document: () => of(undefined) },
  open: (output) => (settled$) =>
    concat(
      settled$.pipe(
        tap((settled) => output === wanted && listen(settled)),
        ignoreElements(),
      ),
      of(NOTHING),
    ),
  keep: () => of(undefined),
})
