import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { catchError, defer, Observable, of, throwError } from 'rxjs'
import type { StorageError } from '../src/model/errors.js'
import type { RunReport } from '../src/model/report.js'
import type { Beginning, RunRecord, Session } from '../src/pipeline/session.js'
import { isTemporary, writeWhole } from './atomic-file.js'
import { changedSince, noteComplete, notedRun, sufficingRun } from './complete-run.js'
import { codeOf, storageErrorOf } from './file-error.js'
import { forgetLeft, mayReplace, noteLeft } from './files-left.js'
import { type OpenJournal, openJournal, opensLater } from './folder-journal.js'
import type { KnownNames } from './known-names.js'
import { takeLock } from './lock.js'
import { isLockOnItsWay } from './lock-chain.js'
import { keepPrevious } from './previous-outputs.js'
import { recordIn } from './run-record.js'
import { syncFolders } from './sync-folders.js'
import { setAside, updateWhole, wholeOf } from './whole-run.js'

const STATE = '.scripstream'
const RECORD = 'run.json'
const JOURNALS = 'journals'

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
  const unfinished = await recordIn(join(state, RECORD))
  const before = unfinished === undefined ? await completeBefore(root, beginning) : {}
  if (before.complete) return { record: before.complete, isContinued: false, ...before, journals: new Map(), finish: () => of(undefined) }
  return { ...(await taken(root, beginning, { unfinished, opened })), ...before }
}

/** The complete run that leaves nothing to do, or why the one that would have does not. */
const completeBefore = async (root: string, { suffices }: Beginning): Promise<Pick<Session, 'complete' | 'changed'>> => {
  const noted = sufficingRun(await notedRun(join(root, STATE, 'complete.json')), suffices)
  if (noted === undefined) return {}
  const changed = await changedSince(noted, root)
  return changed === undefined ? { complete: noted.run } : { changed }
}

interface Taking {
  readonly unfinished: RunRecord | undefined
  readonly opened: (() => void)[]
}

/** Goes on with the unfinished run, or begins anew, which changes nothing before it is committed. */
const taken = async (root: string, beginning: Beginning, { unfinished, opened }: Taking): Promise<Session> => {
  const { streams, choose, isPartOf } = beginning
  const state = join(root, STATE)
  const record = choose(unfinished)
  const isContinued = unfinished !== undefined && record === unfinished
  const isPart = (await wholeOf(state, isPartOf)) !== undefined
  const journals = new Map<string, OpenJournal>()
  let isClosed = false
  const close = (): void => {
    isClosed = true
    for (const journal of journals.values()) journal.close()
  }
  opened.push(close)
  const openAll = async (): Promise<void> => {
    await mkdir(join(state, JOURNALS), { recursive: true })
    for (const facts of streams) journals.set(facts.stream, await openJournal(join(state, JOURNALS, `${facts.stream}.ndjson`), facts, root))
    // The run may have been unsubscribed meanwhile.
    if (isClosed) close()
  }
  if (isContinued) await openAll()
  const commit = async (): Promise<string | undefined> => {
    const notice = isContinued ? undefined : await replaceRecord(root, beginning, { record, unfinished, isPart })
    if (!isContinued) await openAll()
    // Beside the record of an unfinished run the complete one counts for nothing: it may go last.
    await mayReplace(state, beginning.outputs)
    await setAside(state, isPart)
    return notice
  }
  const ending = { record, isPart, close }
  const end = <T>(act: () => Promise<T>): Observable<T> =>
    defer(act).pipe(catchError((error: unknown) => throwError(() => storageErrorOf(error, 'written', join(state, RECORD)))))
  return {
    record,
    isContinued,
    ...(unfinished === undefined || unfinished.endedAt !== undefined || isContinued ? {} : { givenUp: unfinished.run }),
    journals: new Map(streams.map(({ stream }) => [stream, opensLater(() => journals.get(stream)?.journal)])),
    commit: () => end(commit),
    leave: (endedAt) => end(() => leaveRun(root, beginning, { ...ending, endedAt })),
    finish: (report) => end(() => finishRun(root, beginning, { ...ending, report })),
  }
}

interface Replacing {
  readonly record: RunRecord
  readonly unfinished: RunRecord | undefined
  readonly isPart: boolean
}

/** The record of the run that begins in the place of what there was of an unfinished one; what there is to say of that. */
const replaceRecord = async (
  root: string,
  { outputs, isPartOf }: Beginning,
  { record, unfinished, isPart }: Replacing,
): Promise<string | undefined> => {
  const state = join(root, STATE)
  // After a part of a run, changes are still told against what was there before the whole of it.
  const keeps = isPart || (unfinished !== undefined && isPartOf(unfinished))
  const isGivenUp = unfinished !== undefined && unfinished.endedAt === undefined
  const notice = keeps ? undefined : await keepPrevious({ root, state, outputs, isGivenUp })
  // The record first: without it no journal is believed.
  await rm(join(state, RECORD), { force: true })
  await rm(join(state, JOURNALS), { recursive: true, force: true })
  await writeWhole(join(state, RECORD), [`${JSON.stringify(record, null, 2)}\n`])
  return notice
}

interface End {
  readonly record: RunRecord
  readonly isPart: boolean
  readonly close: () => void
}

/** Record and journals stay, for whoever goes on with the run. */
const leaveRun = async (
  root: string,
  { folders, outputs }: Beginning,
  { record, isPart, close, endedAt }: End & { readonly endedAt: number },
): Promise<void> => {
  const state = join(root, STATE)
  close()
  await syncFolders([STATE, ...folders].map((folder) => join(root, folder)))
  await noteLeft(state, { root, outputs })
  if (isPart) await updateWhole(state, { root, outputs, part: undefined })
  await writeWhole(join(state, RECORD), [`${JSON.stringify({ ...record, endedAt }, null, 2)}\n`])
}

/** Record and journals go. */
const finishRun = async (
  root: string,
  { folders, outputs }: Beginning,
  { record, isPart, close, report }: End & { readonly report: RunReport | undefined },
): Promise<void> => {
  const state = join(root, STATE)
  const reported = [...outputs, `${STATE}/report.json`]
  const isComplete = report !== undefined && report.missing === undefined
  close()
  await syncFolders([STATE, ...folders].map((folder) => join(root, folder)))
  const { symbols, pairs } = record.chosen ?? {}
  if (report && !isPart && symbols === undefined && pairs === undefined) await forgetLeft(state, outputs)
  // Beside the record of an unfinished run they count for nothing.
  if (report === undefined || (isPart && !isComplete)) await noteLeft(state, { root, outputs })
  if (isPart) await updateWhole(state, { root, outputs: reported, part: isComplete ? { ...record, report } : undefined })
  else if (report) await noteComplete(join(state, 'complete.json'), { ...record, report }, { root, outputs: reported })
  await rm(join(state, RECORD), { force: true })
  await rm(join(state, JOURNALS), { recursive: true, force: true })
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
