import { rm } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { isRow } from '../model/row.js'
import { writeFileAtomically } from './atomic-file.js'
import { readRunSnapshot, statOutputFiles } from './run-snapshot.js'
import { readStateDocument } from './state-document.js'

/** Output files by path relative to the folder: their size in bytes after a run, or null if a later run may have replaced them. */
export type OutputSizes = Readonly<Record<string, number | null>>

const SIZES_FILE = 'left.json'

/** Reads the output sizes of the last finished run, and those of earlier runs for files that it did not touch. */
export const readOutputSizes = async (state: string): Promise<OutputSizes> => {
  const [earlier, complete] = await Promise.all([readStateDocument(join(state, SIZES_FILE)), readRunSnapshot(join(state, 'complete.json'))])
  const newer = Object.entries(complete?.files ?? {}).flatMap(([file, facts]) =>
    file.startsWith('.') ? [] : [[file, facts?.[0] ?? null] as const],
  )
  const older = isRow(earlier) ? Object.entries(earlier).filter(isSizeEntry) : []
  return Object.fromEntries([...older, ...newer])
}

/** Call before a run writes: the sizes of its outputs become unknown. Their names stay, because no run deletes a file. */
export const markReplaceable = async (state: string, outputs: readonly string[]): Promise<void> => {
  const isOutput = createOutputMatcher(outputs)
  const sizes = Object.entries(await readOutputSizes(state))
  await writeOutputSizes(
    state,
    sizes.map(([file, bytes]) => [file, isOutput(file) ? null : bytes]),
  )
}

/** Call before a run of all items is recorded as complete: from then on only that record describes its outputs. */
export const forgetOutputSizes = async (state: string, outputs: readonly string[]): Promise<void> => {
  const isOutput = createOutputMatcher(outputs)
  const sizes = Object.entries(await readOutputSizes(state))
  await writeOutputSizes(
    state,
    sizes.filter(([file]) => !isOutput(file)),
  )
}

/** Call after a run that ended incomplete: records the present sizes of its outputs. Missing files stay recorded. */
export const recordOutputSizes = async (
  state: string,
  { root, outputs }: { readonly root: string; readonly outputs: readonly string[] },
): Promise<void> => {
  const present = Object.entries(await statOutputFiles(root, outputs)).map(([file, [bytes]]) => [file, bytes] as const)
  await writeOutputSizes(state, [...Object.entries(await readOutputSizes(state)), ...present])
}

const writeOutputSizes = async (state: string, sizes: readonly (readonly [string, number | null])[]): Promise<void> => {
  const path = join(state, SIZES_FILE)
  if (sizes.length === 0) await rm(path, { force: true })
  else await writeFileAtomically(path, [`${JSON.stringify(Object.fromEntries(sizes))}\n`])
}

const isSizeEntry = (entry: [string, unknown]): entry is [string, number | null] => entry[1] === null || Number.isInteger(entry[1])

/** Creates a test whether a file matches one of the outputs, which are paths with `*` for any name. */
export const createOutputMatcher = (outputs: readonly string[]): ((file: string) => boolean) => {
  const matchers = outputs.map((output) => {
    const [before = '', after] = output.split('*')
    return (file: string): boolean =>
      after === undefined
        ? file === output
        : posix.dirname(file) === posix.dirname(output) && file.startsWith(before) && file.endsWith(after)
  })
  return (file) => matchers.some((matches) => matches(file))
}
