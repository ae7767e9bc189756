import { rm } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { isRow } from '../src/model/row.js'
import { writeWhole } from './atomic-file.js'
import { filesInPlace, notedRun } from './complete-run.js'
import { stateDocument } from './state-document.js'

/** Files by their path below the folder: the size in bytes that a run left, or null where a later one may have replaced the file. */
export type FilesLeft = Readonly<Record<string, number | null>>

const LEFT = 'left.json'

/** What runs that came to their end left in a folder: the last one, and for what that one did not touch those before it. */
export const filesLeft = async (state: string): Promise<FilesLeft> => {
  const [before, complete] = await Promise.all([stateDocument(join(state, LEFT)), notedRun(join(state, 'complete.json'))])
  const ofRun = Object.entries(complete?.files ?? {}).flatMap(([file, [bytes]]) => (file.startsWith('.') ? [] : [[file, bytes] as const]))
  const ofEarlier = isRow(before) ? Object.entries(before).filter(isLeft) : []
  return Object.fromEntries([...ofEarlier, ...ofRun])
}

/** Before a run writes: what was left in the places of its outputs may be replaced from now on, but no run takes a file away. */
export const mayReplace = async (state: string, outputs: readonly string[]): Promise<void> => {
  const isOutput = isAmong(outputs)
  const left = Object.entries(await filesLeft(state))
  await keep(
    state,
    left.map(([file, bytes]) => [file, isOutput(file) ? null : bytes]),
  )
}

/** Before a run of all its items is noted as complete, which then alone says what is in the places of its outputs. */
export const forgetLeft = async (state: string, outputs: readonly string[]): Promise<void> => {
  const isOutput = isAmong(outputs)
  const left = Object.entries(await filesLeft(state))
  await keep(
    state,
    left.filter(([file]) => !isOutput(file)),
  )
}

/** After a run that ended without being complete: what is in the places of its outputs now. What is gone from there stays known. */
export const noteLeft = async (
  state: string,
  { root, outputs }: { readonly root: string; readonly outputs: readonly string[] },
): Promise<void> => {
  const inPlace = Object.entries(await filesInPlace(root, outputs)).map(([file, [bytes]]) => [file, bytes] as const)
  await keep(state, [...Object.entries(await filesLeft(state)), ...inPlace])
}

const keep = async (state: string, left: readonly (readonly [string, number | null])[]): Promise<void> => {
  const path = join(state, LEFT)
  if (left.length === 0) await rm(path, { force: true })
  else await writeWhole(path, [`${JSON.stringify(Object.fromEntries(left))}\n`])
}

const isLeft = (entry: [string, unknown]): entry is [string, number | null] => entry[1] === null || Number.isInteger(entry[1])

/** Whether a file is in the place of one of the outputs, which are paths with `*` for any name. */
const isAmong = (outputs: readonly string[]): ((file: string) => boolean) => {
  const isOf = outputs.map((output) => {
    const [before = '', after] = output.split('*')
    return (file: string): boolean =>
      after === undefined
        ? file === output
        : posix.dirname(file) === posix.dirname(output) && file.startsWith(before) && file.endsWith(after)
  })
  return (file) => isOf.some((is) => is(file))
}
