import { constants, copyFileSync, linkSync, mkdirSync, readdirSync, renameSync, rmdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isRow } from '../src/model/row.js'
import { eachInTurn, filesLike } from './complete-run.js'
import { fileAt } from './file-at.js'
import { causeOf, codeOf } from './file-error.js'
import { stateDocument } from './state-document.js'

const FOLDER = 'previous'
const NOTE = 'note.json'

/** What was in place before the last run, which `diff` compares with what is there now. */
export interface PreviousOutputs {
  /** Where the files lie, by the same names. */
  readonly root: string
  /** The outputs that were kept, as paths with `*` for any name. An output of theirs that is not there did not exist. */
  readonly outputs: readonly string[]
  /** The run that had left them, and its "now" in ISO 8601; absent where there had been none. */
  readonly run?: string
  readonly asOf?: string
}

/** What a run before the last one left; nothing where none was kept. */
export const previousOutputs = async (state: string): Promise<PreviousOutputs | undefined> => {
  const root = join(state, FOLDER)
  const note = await stateDocument(join(root, NOTE))
  if (!isRow(note) || !Array.isArray(note.outputs)) return undefined
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
  const [run, asOf] = [text(note.run), text(note.asOf)]
  return { root, outputs: note.outputs.map(String), ...(run === undefined ? {} : { run }), ...(asOf === undefined ? {} : { asOf }) }
}

export interface Keeping {
  readonly root: string
  readonly state: string
  /** What the run may replace, as paths below `root` with `*` for any name. */
  readonly outputs: readonly string[]
  /** Whether the run before this one did not end: then what was kept before it is still what changes are told against. */
  readonly isGivenUp: boolean
}

/**
 * Keeps what is in place before a run begins, under a second name: files are never written to, only replaced, so that a link stays as it
 * was and costs neither time nor space. Candles are left out, whose days tell by themselves what is new. Where it cannot be done, nothing
 * is kept, and the run goes on: resolves to what there is to say of that.
 */
export const keepPrevious = async ({ root, state, outputs, isGivenUp }: Keeping): Promise<string | undefined> => {
  const kept = outputs.filter((output) => output.endsWith('.json'))
  const beside = join(state, `${FOLDER}.next`)
  try {
    const before = isGivenUp ? await previousOutputs(state) : undefined
    if (before && kept.every((output) => before.outputs.includes(output))) return undefined
    await removed(beside)
    const report = await stateDocument(join(state, 'report.json'))
    const { run, asOf } = isRow(report) ? report : {}
    mkdirSync(beside, { recursive: true })
    for (const output of kept) {
      mkdirSync(join(beside, dirname(output)), { recursive: true })
      await eachInTurn(await filesLike(root, output), (file) => linked(`${root}/${file}`, `${beside}/${file}`))
    }
    writeFileSync(join(beside, NOTE), `${JSON.stringify({ run, asOf, outputs: kept })}\n`)
    await removed(join(state, FOLDER))
    renameSync(beside, join(state, FOLDER))
    return undefined
  } catch (error) {
    // Neither a full disk nor a file system without links may cost the run anything; what is half kept would tell of changes that are none.
    for (const folder of [beside, join(state, FOLDER)]) await removed(folder).catch(() => undefined)
    return `what diff compares with could not be kept: ${causeOf(error)}`
  }
}

/** What systems say that have no links, or no more of them for this file. */
const NO_LINKS: readonly (string | undefined)[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EMLINK']

/** What is no file is passed over. */
const linked = (from: string, to: string): void => {
  if (fileAt(from) === undefined) return
  try {
    linkSync(from, to)
  } catch (error) {
    if (!NO_LINKS.includes(codeOf(error))) throw error
    copyFileSync(from, to, constants.COPYFILE_FICLONE)
  }
}

/** Removes a folder and what is in it. Its note goes first: without that nothing in it counts. */
const removed = async (folder: string): Promise<void> => {
  const entries = readEntries(folder)
  if (entries === undefined) return
  const files = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name)
  await eachInTurn(
    [...files].sort((name) => (name === NOTE ? -1 : 0)),
    (name) => unlinkSync(join(folder, name)),
  )
  for (const entry of entries) if (entry.isDirectory()) await removed(join(folder, entry.name))
  rmdirSync(folder)
}

const readEntries = (folder: string) => {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
