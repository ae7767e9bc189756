import { of, tap } from 'rxjs'
import type { Collected } from '../src/model/outcome.js'
import type { Output } from '../src/pipeline/output.js'
import type { Storage } from '../src/pipeline/storage.js'
import { memorySession } from './memory-session.js'

/** Stores nothing: hands the items that are meant for one output to a listener. */
export const passingOn = (wanted: Output | undefined, listen: (item: Collected) => void): Storage => ({
  stored: { exists: () => of(false), tail: () => of(undefined), text: () => of(undefined), document: () => of(undefined) },
  begin: memorySession,
  open: (output) => tap(({ settled }) => output === wanted && listen({ ...settled, rows: [...settled.rows] })),
  keep: () => of(undefined),
})
