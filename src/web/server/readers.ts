import { createChanges } from './changes.js'
import { createChecks } from './checks.js'
import type { LiveHub } from './live-hub.js'
import type { Served } from './route.js'
import { createRunChanges } from './run-changes.js'

/** What is answered about runs in another process, or from recorded days; in this process if absent. */
export interface RunWork {
  /** Compares the last run with the one before it. */
  readonly compare?: Parameters<typeof createChanges>[1]
  /** Checks the present files. The checks of the whole market need up to 500 MB: not made if absent. */
  readonly check?: Parameters<typeof createChecks>[1]
}

/** Answers what runs changed, and what their data checks found. */
export const createRunReaders = (
  folder: Pick<Served, 'out' | 'exchange' | 'streams'>,
  live: LiveHub,
  { compare, check }: RunWork,
): Pick<Served, 'readChanges' | 'readRunChanges' | 'checks'> => {
  const readChanges = createChanges(folder, compare)
  return {
    readChanges,
    readRunChanges: createRunChanges({ ...folder, readChanges }),
    checks: createChecks({ out: folder.out, live }, check),
  }
}
