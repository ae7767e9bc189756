import { rm } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { isRow } from '../src/model/row.js'
import { writeWhole } from './atomic-file.js'
import { filesInPlace, notedRun } from './complete-run.js'
import { stateDocument } from './state-document.js'

/** Output files by path relative to the folder: their size in bytes after a run, or null if a later run may have replaced them. */
export type FilesLeft = Readonly<Record<string, number | null>>

const LEFT = 'left.json'

/** Reads the output sizes of the last finished run, and those of earlier runs for files that it did not touch. */
export const filesLeft = async (state: string): Promise<FilesLeft> => {
  const [earlier, complete] = await Promise.all([stateDocument(join(state, LEFT)), notedRun(join(state, 'complete.json'))])
  const newer = Object.entries(complete?.files ?? {}).flatMap(([file, facts]) =>
    file.startsWith('.') ? [] : [[file, facts?.[0] ?? null] as const],
  )
  const older = isRow(earlier) ? Object.entries(earlier).filter(isLeft) : []
  return Object.fromEntries([...older, ...newer])
}

/** Call before a run writes: the sizes of its outputs become unknown. Their names stay, because no run deletes a file. */
export const mayReplace = async (state: string, outputs: readonly string[]): Promise<void> => {
  const isOutput = isAmong(outputs)
  const sizes = Object.entries(await filesLeft(state))
  await keep(
    state,
    sizes.map(([file, bytes]) => [file, isOutput(file) ? null : bytes]),
  )
}

/** Call before a run of all items is recorded as complete: from then on only that record describes its outputs. */
export const forgetLeft = async (state: string, outputs: readonly string[]): Promise<void> => {
  const isOutput = isAmong(outputs)
  const sizes = Object.entries(await filesLeft(state))
  await keep(
    state,
    sizes.filter(([file]) => !isOutput(file)),
  )
}

/** Call after a run that ended incomplete: records the present sizes of its outputs. Missing files stay recorded. */
export const noteLeft = async (
  state: string,
  { root, outputs }: { readonly root: string; readonly outputs: readonly string[] },
): Promise<void> => {
  const present = Object.entries(await filesInPlace(root, outputs)).map(([file, [bytes]]) => [file, bytes] as const)
  await keep(state, [...Object.entries(await filesLeft(state)), ...present])
}

const keep = async (state: string, sizes: readonly (readonly [string, number | null])[]): Promise<void> => {
  const path = join(state, LEFT)
  if (sizes.length === 0) await rm(path, { force: true })
  else await writeWhole(path, [`${JSON.stringify(Object.fromEntries(sizes))}\n`])
}

const isLeft = (entry: [string, unknown]): entry is [string, number | null] => entry[1] === null || Number.isInteger(entry[1])

/** Creates a test whether a file matches one of the outputs, which are paths with `*` for any name. */
export const isAmong = (outputs: readonly string[]): ((file: string) => boolean) => {
  const matchers = outputs.map((output) => {
    const [before = '', after] = output.split('*')
    return (file: string): boolean =>
      after === undefined
        ? file === output
        : posix.dirname(file) === posix.dirname(output) && file.startsWith(before) && file.endsWith(after)
  })
  return (file) => matchers.some((matches) => matches(file))
}
