import { isRow } from '../model/row.js'
import { disk } from './disk.js'
import { describeThisProcess, hasEnded, type LockHolder, parseHolder } from './lock.js'
import { statePaths } from './run-state.js'

/** What an active run shows to other processes, in a file that it replaces about once a second. */
export interface LiveFile<State> {
  readonly write: (state: State) => void
  readonly remove: () => void
}

/** The live file of a folder, written without a sync. It creates no folder, so that nothing is left where a run stored nothing. */
export const createLiveFile = <State>(root: string): LiveFile<State> => {
  const { folder, live } = statePaths(root)
  const holder = { ...describeThisProcess(), token: 'live' }
  return {
    write: (state) => {
      if (!disk.existsSync(folder)) return
      disk.writeFileSync(`${live}.next`, JSON.stringify({ holder, state }))
      disk.renameSync(`${live}.next`, live)
    },
    remove: () => {
      for (const path of [live, `${live}.next`]) disk.rmSync(path, { force: true })
    },
  }
}

/**
 * Returns a function that reads the state of a folder's active run; undefined without one. The file of a process that has ended does not count,
 * nor one of another shape: another version may write it.
 */
export const createLiveFileReader = <State>(
  root: string,
  parse: (state: unknown) => State | undefined,
  clock: () => number = Date.now,
): (() => State | undefined) => {
  const { live } = statePaths(root)
  let known: { readonly at: number; readonly holder: LockHolder; readonly state: State } | undefined
  const read = (at: number): typeof known => {
    try {
      const document: unknown = JSON.parse(disk.readFileSync(live, 'utf8'))
      if (!isRow(document)) return undefined
      const [holder, state] = [parseHolder(JSON.stringify(document.holder)), parse(document.state)]
      return holder === undefined || state === undefined ? undefined : { at, holder, state }
    } catch {
      return undefined
    }
  }
  return () => {
    const at = disk.statSync(live, { throwIfNoEntry: false })?.mtimeMs
    if (at === undefined) return undefined
    if (known?.at !== at) known = read(at)
    return known === undefined || hasEnded(known.holder, clock() - at) ? undefined : known.state
  }
}
