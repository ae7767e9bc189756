import { isRow } from '../model/row.js'
import { writeFileAtomically } from './atomic-file.js'
import { disk } from './disk.js'
import { readStateDocument } from './file-system.js'
import { readCompleteRun } from './full-run.js'
import { createOutputMatcher, statOutputFiles } from './output-files.js'
import { statePaths } from './run-state.js'

/** Output files by path relative to the folder: their size in bytes after a run, or null if a later run may have replaced them. */
export type OutputSizes = Readonly<Record<string, number | null>>

/** Reads the output sizes of the last finished run, and those of earlier runs for files that it did not touch. */
export const readOutputSizes = async (root: string): Promise<OutputSizes> => {
  const [earlier, complete] = await Promise.all([readStateDocument(statePaths(root).sizes), readCompleteRun(root)])
  const newer = Object.entries(complete?.files ?? {}).flatMap(([file, facts]) =>
    file.startsWith('.') ? [] : [[file, facts?.[0] ?? null] as const],
  )
  const older = isRow(earlier) ? Object.entries(earlier).filter(isSizeEntry) : []
  return Object.fromEntries([...older, ...newer])
}

/** Call before a run writes: the sizes of its outputs become unknown. Their names stay, because no run deletes a file. */
export const markReplaceable = (root: string, outputs: readonly string[]): Promise<void> =>
  changeOutputSizes(root, outputs, (file) => [[file, null]])

/** Call before a run of all items is recorded as complete: from then on only that record describes its outputs. */
export const forgetOutputSizes = (root: string, outputs: readonly string[]): Promise<void> => changeOutputSizes(root, outputs, () => [])

type SizeEntry = readonly [file: string, bytes: number | null]

const changeOutputSizes = async (
  root: string,
  outputs: readonly string[],
  change: (file: string) => readonly SizeEntry[],
): Promise<void> => {
  const isOutput = createOutputMatcher(outputs)
  const sizes = Object.entries(await readOutputSizes(root))
  await writeOutputSizes(
    root,
    sizes.flatMap((entry) => (isOutput(entry[0]) ? change(entry[0]) : [entry])),
  )
}

/** Call after a run that ended incomplete: records the present sizes of its outputs. Missing files stay recorded. */
export const recordOutputSizes = async (root: string, outputs: readonly string[]): Promise<void> => {
  const present = Object.entries(await statOutputFiles(root, outputs)).map(([file, [bytes]]) => [file, bytes] as const)
  await writeOutputSizes(root, [...Object.entries(await readOutputSizes(root)), ...present])
}

const writeOutputSizes = async (root: string, sizes: readonly SizeEntry[]): Promise<void> => {
  const path = statePaths(root).sizes
  if (sizes.length === 0) await disk.rm(path, { force: true })
  else await writeFileAtomically(path, [`${JSON.stringify(Object.fromEntries(sizes))}\n`])
}

const isSizeEntry = (entry: [string, unknown]): entry is [string, number | null] => entry[1] === null || Number.isInteger(entry[1])
