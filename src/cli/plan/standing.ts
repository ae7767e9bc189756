import { join } from 'node:path'
import { changedSince, notedRun, sufficingRun } from '../../../sinks/complete-run.js'
import { codeOf } from '../../../sinks/file-error.js'
import { itemsInPlace } from '../../../sinks/folder-journal.js'
import { recordIn } from '../../../sinks/run-record.js'
import type { Item } from '../../model/outcome.js'
import { isContinued, suffices } from '../../pipeline/record.js'
import type { RunRecord } from '../../pipeline/session.js'

/** What earlier runs mean for the one that is planned. */
export interface Standing {
  /** "Now" of the run: that of the run which it continues, if it does. */
  readonly asOf: number
  /** When the run ended that leaves nothing to ask. */
  readonly finishedBefore?: string
  /** The unfinished run that would go on. */
  readonly continues?: string
  readonly isInPlace: (stream: string, item: Item) => boolean
}

export interface Intent {
  readonly wanted: RunRecord
  readonly isInstantGiven: boolean
  readonly fresh: boolean
  /** Names of the streams that would run. */
  readonly streams: readonly string[]
}

/** Judges what lies in a folder as a run would when it begins, but touches nothing. */
export const standingOf = async (root: string, { wanted, isInstantGiven, fresh, streams }: Intent): Promise<Standing> => {
  const anew: Standing = { asOf: wanted.asOf, isInPlace: () => false }
  if (fresh) return anew
  const state = join(root, '.scripstream')
  const unfinished = await recordIn(join(state, 'run.json'))
  if (unfinished !== undefined) {
    if (!isContinued(unfinished, wanted, isInstantGiven)) return anew
    const inPlace = new Map<string, ReadonlySet<string>>()
    for (const stream of streams) inPlace.set(stream, await inJournal(join(state, 'journals', `${stream}.ndjson`), root))
    return {
      asOf: unfinished.asOf,
      continues: unfinished.run,
      isInPlace: (stream, { fileName }) => inPlace.get(stream)?.has(fileName) ?? false,
    }
  }
  const noted = await notedRun(join(state, 'complete.json'))
  const complete = sufficingRun(noted, (run) => suffices(run, wanted, isInstantGiven))
  if (complete === undefined) return anew
  const isAsLeft = (await changedSince(complete, root)) === undefined
  return isAsLeft ? { ...anew, finishedBefore: complete.run.report.finishedAt } : anew
}

/** A run that is at work beside us may take its journal away at any time. */
const inJournal = (path: string, root: string): Promise<ReadonlySet<string>> =>
  itemsInPlace(path, root).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return new Set<string>()
    throw error
  })
