import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { isRow } from '../model/row.js'
import { describeThisProcess, hasEnded, parseHolder } from './lock-files.js'
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
      if (!existsSync(folder)) return
      writeFileSync(`${live}.next`, JSON.stringify({ holder, state }))
      renameSync(`${live}.next`, live)
    },
    remove: () => {
      for (const path of [live, `${live}.next`]) rmSync(path, { force: true })
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
  let known: { readonly at: number; readonly text: string; readonly state: State } | undefined
  return () => {
    const at = statSync(live, { throwIfNoEntry: false })?.mtimeMs
    if (at === undefined) return undefined
    if (known?.at !== at) known = readFile(live, at, parse)
    const holder = known && parseHolder(known.text)
    return known === undefined || holder === undefined || hasEnded(holder, clock() - at) ? undefined : known.state
  }
}

const readFile = <State>(
  path: string,
  at: number,
  parse: (state: unknown) => State | undefined,
): { readonly at: number; readonly text: string; readonly state: State } | undefined => {
  try {
    const document: unknown = JSON.parse(readFileSync(path, 'utf8'))
    const state = isRow(document) ? parse(document.state) : undefined
    return isRow(document) && state !== undefined ? { at, text: JSON.stringify(document.holder), state } : undefined
  } catch {
    return undefined
  }
}
