import { dirname, join } from 'node:path'
import { isRow, omitUndefined, type Row } from '../model/row.js'
import { addDays, type Day } from '../model/trading-day.js'
import { disk } from './disk.js'
import {
  describeFileError,
  getErrorCode,
  hasErrorCode,
  ignoreMissing,
  readStateDocument,
  statFile,
  syncFolders,
  writeFileAtomically,
} from './file-system.js'
import { forEachYielding, listOutputFiles } from './output-files.js'
import { type RunRecords, readRunRecords } from './run-records.js'
import { statePaths } from './run-state.js'

const NOTE_FILE = 'note.json'

/** A run, and its "now" in ISO 8601; without both if there was none. */
interface RunName {
  readonly run?: string
  readonly asOf?: string
}

/**
 * The outputs before the last run, with which `diff` compares the present ones, and the run that wrote them.
 */
export interface PreviousOutputs extends RunName {
  /** The folder of the files, which have the same names as the outputs. */
  readonly root: string
  /** The saved outputs, as paths with `*` for any name. A missing file did not exist before the run. */
  readonly outputs: readonly string[]
  readonly savedOn?: Day
}

/** Reads the outputs of the run before the last one; `undefined` if none were saved. */
export const readPreviousOutputs = async (root: string): Promise<PreviousOutputs | undefined> => {
  const { previous } = statePaths(root)
  const note = await readStateDocument(join(previous, NOTE_FILE))
  if (!isRow(note) || !Array.isArray(note.outputs)) return undefined
  const { savedOn } = note
  return {
    root: previous,
    outputs: note.outputs.map(String),
    ...toRunName(note),
    ...(typeof savedOn === 'string' && { savedOn }),
  }
}

interface SaveContext {
  /** The files that the run may replace, as paths relative to `root` with `*` for any name. */
  readonly outputs: readonly string[]
  readonly session: Day
  /** Whether the last run did not end: then `diff` still compares with the outputs from before that run. */
  readonly isGivenUp: boolean
}

/**
 * Saves the outputs before a run as hard links. Outputs are replaced, never modified, so a link keeps the old
 * content at no cost. Candle files are left out: the days of their rows show what is new. If saving fails,
 * nothing is saved and the run continues; resolves to a warning then.
 */
export const savePreviousOutputs = (root: string, context: SaveContext): Promise<string | undefined> =>
  orWarn(root, async () => {
    const { previous } = statePaths(root)
    const temporary = `${previous}.next`
    await putInPlace(previous)
    const earlier = await findLastingOutputs(root, context)
    const saved = context.outputs.filter((output) => output.endsWith('.json'))
    const outputs = [...new Set([...(earlier?.outputs ?? []), ...saved])]
    await deleteFolder(temporary)
    const { run, asOf } = earlier ?? (await readLastWriter(root))
    disk.mkdirSync(temporary, { recursive: true })
    for (const output of outputs) {
      const from = earlier?.outputs.includes(output) ? previous : root
      disk.mkdirSync(join(temporary, dirname(output)), { recursive: true })
      await forEachYielding(await listOutputFiles(from, output), (file) =>
        linkOrCopy(`${from}/${file}`, `${temporary}/${file}`),
      )
    }
    // A clock that was far ahead once must not keep the baseline for ever.
    const savedOn =
      [earlier?.savedOn ?? context.session].find((day) => day <= addDays(context.session, MAX_DAYS_AHEAD)) ??
      context.session
    await writeFileAtomically(join(temporary, NOTE_FILE), [
      `${JSON.stringify({ run, asOf, outputs, savedOn })}\n`,
    ])
    // Of links that a power cut loses, the next run would save the files that this one has replaced.
    await syncFolders([
      dirname(temporary),
      temporary,
      ...new Set(outputs.map((output) => join(temporary, dirname(output)))),
    ])
    disk.rmSync(join(previous, NOTE_FILE), { force: true })
    await putInPlace(previous)
  })

/** Completes what a run began that was killed while it saved them. Resolves to a warning if that fails. */
export const completePreviousOutputs = (root: string): Promise<string | undefined> =>
  orWarn(root, () => putInPlace(statePaths(root).previous))

/**
 * A full disk or a file system without links must not fail the run: what was saved is deleted, because a part
 * of it would show false changes.
 */
const orWarn = async (root: string, save: () => Promise<void>): Promise<string | undefined> => {
  try {
    await save()
    return undefined
  } catch (error) {
    if (getErrorCode(error) === undefined) throw error
    const { previous } = statePaths(root)
    // What cannot be deleted shows none: its note goes first, and the first error is the one to report.
    for (const folder of [`${previous}.next`, previous]) await deleteFolder(folder).catch(() => undefined)
    return `the previous outputs could not be saved for diff: ${describeFileError(error)}`
  }
}

const MAX_DAYS_AHEAD = 10

/**
 * Replaces saved outputs without a note by those that are about to, also if that was interrupted by a kill.
 */
const putInPlace = async (previous: string): Promise<void> => {
  const temporary = `${previous}.next`
  const [isThere, isNextThere] = [previous, temporary].map(
    (folder) => statFile(join(folder, NOTE_FILE)) !== undefined,
  )
  if (isThere || !isNextThere) return
  // After a power cut, the note must not be there again without its files.
  if (readEntries(previous) !== undefined) await syncFolders([previous])
  await deleteFolder(previous)
  disk.renameSync(temporary, previous)
}

/**
 * The saved outputs, if `diff` still compares with them: they are from before a run that did not end, or from
 * before the first run of this session or of a later one, whose clock was ahead. So a second run of an
 * evening hides nothing, whatever it requests. Without an earlier session, it is compared with the first run.
 */
const findLastingOutputs = async (
  root: string,
  { session, isGivenUp }: SaveContext,
): Promise<PreviousOutputs | undefined> => {
  const earlier = await readPreviousOutputs(root)
  const { run, savedOn = '' } = earlier ?? {}
  return isGivenUp || (run !== undefined && savedOn >= session) ? earlier : undefined
}

/**
 * The last run that wrote outputs. One that failed as a whole wrote none; then the log of the runs has an
 * earlier one.
 */
export const readLastWriter = async (root: string): Promise<RunName & Pick<RunRecords, 'damage'>> => {
  const { report, runs, damage } = await readRunRecords(root)
  if (report === undefined) return { damage }
  const name = toRunName({
    ...(report.outcome === 'failed' ? runs.findLast(({ outcome }) => outcome !== 'failed') : report),
  })
  return { ...name, damage }
}

const toRunName = ({ run, asOf }: Row): RunName =>
  omitUndefined({
    run: typeof run === 'string' ? run : undefined,
    asOf: typeof asOf === 'string' && !Number.isNaN(Date.parse(asOf)) ? asOf : undefined,
  })

/** Error codes of file systems without hard links, or with too many links to a file. */
const NO_LINK_CODES = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EMLINK']

/** Links a file, or copies it where links are not possible. Ignores everything that is not a file. */
const linkOrCopy = (from: string, to: string): void => {
  if (statFile(from) === undefined) return
  try {
    disk.linkSync(from, to)
  } catch (error) {
    if (!hasErrorCode(error, ...NO_LINK_CODES)) throw error
    disk.copyFileSync(from, to)
  }
}

/** Removes a folder recursively. The note goes first: a folder without it is ignored. */
const deleteFolder = async (folder: string): Promise<void> => {
  const entries = readEntries(folder)
  if (entries === undefined) return
  const files = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name)
  await forEachYielding(
    [...files].sort((name) => (name === NOTE_FILE ? -1 : 0)),
    (name) => disk.unlinkSync(join(folder, name)),
  )
  for (const entry of entries) if (entry.isDirectory()) await deleteFolder(join(folder, entry.name))
  disk.rmdirSync(folder)
}

const readEntries = (folder: string) => {
  try {
    return disk.readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    return ignoreMissing(error)
  }
}
