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

/**
 * Locks a folder for one run, deletes temporary files of killed runs, and looks for a complete run to reuse or an unfinished one to resume.
 * Unsubscribing releases the folder.
 */
export const folderSession = (root: string, names: KnownNames, request: Beginning): Observable<Session> =>
  new Observable((subscriber) => {
    const opened: (() => void)[] = []
    const release = (): void => {
      names.forget()
      for (const close of opened.splice(0).reverse()) close()
    }
    begun(root, request, { names, opened, onLost: (error) => subscriber.error(error) }).then(
      (session) => {
        if (subscriber.closed) release()
        else subscriber.next(session)
      },
      (error: unknown) => {
        release()
        subscriber.error(storageErrorOf(error, 'written', join(root, STATE)))
      },
    )
    return release
  })

interface Holding {
  readonly names: KnownNames
  readonly opened: (() => void)[]
  readonly onLost: (error: StorageError) => void
}

const begun = async (root: string, request: Beginning, { names, opened, onLost }: Holding): Promise<Session> => {
  const state = join(root, STATE)
  await mkdir(state, { recursive: true })
  opened.push(await takeLock(join(state, 'lock'), Date.now(), { onLost }))
  await sweep(state)
  for (const folder of request.folders) names.list(join(root, folder), await sweep(join(root, folder)))
  const unfinished = await recordIn(join(state, RECORD))
  const earlier = unfinished === undefined ? await completeBefore(root, request) : {}
  if (earlier.complete)
    return { record: earlier.complete, isContinued: false, ...earlier, journals: new Map(), finish: () => of(undefined) }
  return { ...(await taken(root, request, { unfinished, opened })), ...earlier }
}

/** Finds a complete run that makes this one unnecessary, or the changed file that prevents its reuse. */
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

/** Resumes the unfinished run or starts a new one. A new run changes nothing before it is committed. */
const taken = async (root: string, request: Beginning, { unfinished, opened }: Taking): Promise<Session> => {
  const { streams, choose, isPartOf } = request
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
    // The run may have been unsubscribed while the journals were opened.
    if (isClosed) close()
  }
  if (isContinued) await openAll()
  const commit = async (): Promise<string | undefined> => {
    const warning = isContinued ? undefined : await replaceRecord(root, request, { record, unfinished, isPart })
    if (!isContinued) await openAll()
    // Last, because the record of a complete run is ignored while that of an unfinished run exists.
    await mayReplace(state, request.outputs)
    await setAside(state, isPart)
    return warning
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
    leave: (endedAt) => end(() => leaveRun(root, request, { ...ending, endedAt })),
    finish: (report) => end(() => finishRun(root, request, { ...ending, report })),
  }
}

interface Replacing {
  readonly record: RunRecord
  readonly unfinished: RunRecord | undefined
  readonly isPart: boolean
}

/** Replaces the state of an unfinished run by the record of the new one. Resolves to a warning, if any. */
const replaceRecord = async (
  root: string,
  { outputs, isPartOf }: Beginning,
  { record, unfinished, isPart }: Replacing,
): Promise<string | undefined> => {
  const state = join(root, STATE)
  // `diff` after a partial run still compares with the outputs from before the full run.
  const reusesPrevious = isPart || (unfinished !== undefined && isPartOf(unfinished))
  const isGivenUp = unfinished !== undefined && unfinished.endedAt === undefined
  const warning = reusesPrevious ? undefined : await keepPrevious({ root, state, outputs, isGivenUp })
  // Delete the record first: journals without a record are ignored.
  await rm(join(state, RECORD), { force: true })
  await rm(join(state, JOURNALS), { recursive: true, force: true })
  await writeWhole(join(state, RECORD), [`${JSON.stringify(record, null, 2)}\n`])
  return warning
}

interface End {
  readonly record: RunRecord
  readonly isPart: boolean
  readonly close: () => void
}

/** Ends a run that can be resumed: record and journals stay. */
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

/** Ends a run for good: deletes record and journals. */
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
  // The record of a complete run is ignored until that of the unfinished run is deleted below.
  if (report === undefined || (isPart && !isComplete)) await noteLeft(state, { root, outputs })
  if (isPart) await updateWhole(state, { root, outputs: reported, part: isComplete ? { ...record, report } : undefined })
  else if (report) await noteComplete(join(state, 'complete.json'), { ...record, report }, { root, outputs: reported })
  await rm(join(state, RECORD), { force: true })
  await rm(join(state, JOURNALS), { recursive: true, force: true })
}

/** Deletes temporary files of interrupted writes. Returns the names in the folder. */
const sweep = async (folder: string): Promise<readonly string[]> => {
  const names = await readdir(folder).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return []
    throw error
  })
  for (const name of names) if (isTemporary(name) && !isLockOnItsWay(name)) await rm(join(folder, name), { force: true })
  return names
}
