import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { catchError, defer, Observable, of, throwError } from 'rxjs'
import type { StorageError } from '../src/model/errors.js'
import type { RunReport } from '../src/model/report.js'
import type { Beginning, RunRecord, Session } from '../src/pipeline/session.js'
import { isTemporary, writeWhole } from './atomic-file.js'
import { changedSince, noteComplete, notedRun } from './complete-run.js'
import { codeOf, storageErrorOf } from './file-error.js'
import { forgetLeft, mayReplace, noteLeft } from './files-left.js'
import { type OpenJournal, openJournal } from './folder-journal.js'
import type { KnownNames } from './known-names.js'
import { takeLock } from './lock.js'
import { isLockOnItsWay } from './lock-chain.js'
import { keepPrevious } from './previous-outputs.js'
import { recordIn } from './run-record.js'

const STATE = '.scripstream'
const COMPLETE = 'complete.json'

/** Takes a folder for one run: locks it, sweeps it, and finds a run that is complete or unfinished, or begins anew. Unsubscribing gives it back. */
export const folderSession = (root: string, names: KnownNames, beginning: Beginning): Observable<Session> =>
  new Observable((subscriber) => {
    const opened: (() => void)[] = []
    const giveBack = (): void => {
      names.forget()
      for (const close of opened.splice(0).reverse()) close()
    }
    begun(root, beginning, { names, opened, onLost: (error) => subscriber.error(error) }).then(
      (session) => {
        if (subscriber.closed) giveBack()
        else subscriber.next(session)
      },
      (error: unknown) => {
        giveBack()
        subscriber.error(storageErrorOf(error, 'written', join(root, STATE)))
      },
    )
    return giveBack
  })

interface Holding {
  readonly names: KnownNames
  readonly opened: (() => void)[]
  readonly onLost: (error: StorageError) => void
}

const begun = async (root: string, beginning: Beginning, { names, opened, onLost }: Holding): Promise<Session> => {
  const state = join(root, STATE)
  await mkdir(state, { recursive: true })
  opened.push(await takeLock(join(state, 'lock'), Date.now(), { onLost }))
  await sweep(state)
  for (const folder of beginning.folders) names.list(join(root, folder), await sweep(join(root, folder)))
  const unfinished = await recordIn(join(state, 'run.json'))
  const before = unfinished === undefined ? await completeBefore(root, beginning) : {}
  if (before.complete) return { record: before.complete, isContinued: false, ...before, journals: new Map(), finish: () => of(undefined) }
  await mayReplace(state, beginning.outputs)
  // Whatever is written from here on is no longer of that run.
  await rm(join(state, COMPLETE), { force: true })
  return { ...(await taken(root, beginning, { unfinished, opened })), ...before }
}

/** The complete run that leaves nothing to do, or why the one that would have does not. */
const completeBefore = async (root: string, { suffices }: Beginning): Promise<Pick<Session, 'complete' | 'changed'>> => {
  const noted = await notedRun(join(root, STATE, COMPLETE))
  if (noted === undefined || !suffices(noted.run)) return {}
  const changed = await changedSince(noted, root)
  return changed === undefined ? { complete: noted.run } : { changed }
}

interface Taking {
  readonly unfinished: RunRecord | undefined
  readonly opened: (() => void)[]
}

/** Goes on with the unfinished run, or begins anew. */
const taken = async (root: string, { folders, streams, outputs, choose }: Beginning, { unfinished, opened }: Taking): Promise<Session> => {
  const state = join(root, STATE)
  const path = join(state, 'run.json')
  const journals = join(state, 'journals')
  const record = choose(unfinished)
  const isContinued = unfinished !== undefined && record === unfinished
  let notice: string | undefined
  if (!isContinued) {
    notice = await keepPrevious({ root, state, outputs, isGivenUp: unfinished !== undefined })
    // The record first: without it no journal is believed.
    await rm(path, { force: true })
    await rm(journals, { recursive: true, force: true })
    await writeWhole(path, [`${JSON.stringify(record, null, 2)}\n`])
  }
  await mkdir(journals, { recursive: true })
  const openJournals = new Map<string, OpenJournal>()
  const close = (): void => {
    for (const journal of openJournals.values()) journal.close()
  }
  opened.push(close)
  for (const facts of streams) openJournals.set(facts.stream, await openJournal(join(journals, `${facts.stream}.ndjson`), facts, root))
  const finish = async (report: RunReport | undefined): Promise<void> => {
    close()
    // What was moved into place must be there after a power cut too, before the journals that could mend it go.
    for (const folder of [STATE, ...folders]) await synced(join(root, folder))
    const { symbols, pairs } = record.chosen ?? {}
    if (report && symbols === undefined && pairs === undefined) await forgetLeft(state, outputs)
    // Beside the record of an unfinished run it counts for nothing.
    if (report === undefined) await noteLeft(state, { root, outputs })
    else await noteComplete(join(state, COMPLETE), { ...record, report }, { root, outputs: [...outputs, `${STATE}/report.json`] })
    await rm(path, { force: true })
    await rm(journals, { recursive: true, force: true })
  }
  return {
    record,
    isContinued,
    ...(unfinished === undefined || isContinued ? {} : { givenUp: unfinished.run }),
    ...(notice === undefined ? {} : { notice }),
    journals: new Map([...openJournals].map(([stream, { journal }]) => [stream, journal])),
    finish: (report) =>
      defer(() => finish(report)).pipe(catchError((error: unknown) => throwError(() => storageErrorOf(error, 'written', path)))),
  }
}

/** Takes away what broken-off writes left behind; the names in the folder. */
const sweep = async (folder: string): Promise<readonly string[]> => {
  const names = await readdir(folder).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return []
    throw error
  })
  for (const name of names) if (isTemporary(name) && !isLockOnItsWay(name)) await rm(join(folder, name), { force: true })
  return names
}

/** What systems say that cannot sync a folder, or of one that no output needed. */
const NOTHING_TO_SYNC: readonly (string | undefined)[] = ['ENOENT', 'ENOTDIR', 'EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'ENOTSUP', 'ENOSYS']

/** Brings the names in a folder to the disk, where the system knows how to; a disk that fails at it is an error. */
const synced = async (folder: string): Promise<void> => {
  try {
    const handle = await open(folder, 'r')
    await handle.sync().finally(() => handle.close())
  } catch (error) {
    if (!NOTHING_TO_SYNC.includes(codeOf(error))) throw error
  }
}
