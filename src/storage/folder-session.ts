import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { catchError, defer, Observable, of, throwError } from 'rxjs'
import type { StorageError } from '../model/errors.js'
import type { RunRecord, Session, SessionRequest } from '../pipeline/session.js'
import { isTemporaryName } from './atomic-file.js'
import { type FolderRun, finishRun, leaveRun, REPORT_FILE, replaceRecord, STATE_FOLDER } from './end-run.js'
import { getErrorCode, toStorageError } from './file-error.js'
import { createDeferredJournal, type OpenJournal, openJournal, readStoredItems } from './folder-journal.js'
import { deleteFullRun, findFullRun, markIncomplete, readCompleteRun, readLastFullRun } from './full-run.js'
import type { KnownNames } from './known-names.js'
import { acquireLock } from './lock.js'
import { isPendingLock } from './lock-chain.js'
import { markReplaceable } from './output-sizes.js'
import { mergePart, type RunPaths, readDrift, toMainPaths, toPartFolder, toPartPaths, writeDrift } from './run-paths.js'
import { readRunRecord } from './run-record.js'
import { findChangedFile, selectReusableRun } from './run-snapshot.js'

/**
 * Locks a folder for one run, deletes temporary files of killed runs, and looks for a complete run to reuse or an unfinished one to resume.
 * Unsubscribing releases the folder.
 */
export const openFolderSession = (root: string, names: KnownNames, request: SessionRequest): Observable<Session> =>
  new Observable((subscriber) => {
    const opened: (() => void)[] = []
    const release = (): void => {
      names.forget()
      for (const close of opened.splice(0).reverse()) close()
    }
    lockFolder(root, request, { names, opened, onLost: (error) => subscriber.error(error) }).then(
      (session) => {
        if (subscriber.closed) release()
        else subscriber.next(session)
      },
      (error: unknown) => {
        release()
        subscriber.error(toStorageError(error, 'written', join(root, STATE_FOLDER)))
      },
    )
    return release
  })

interface SessionResources {
  readonly names: KnownNames
  readonly opened: (() => void)[]
  readonly onLost: (error: StorageError) => void
}

const lockFolder = async (root: string, request: SessionRequest, { names, opened, onLost }: SessionResources): Promise<Session> => {
  const state = join(root, STATE_FOLDER)
  await mkdir(state, { recursive: true })
  opened.push(await acquireLock(join(state, 'lock'), Date.now(), { onLost }))
  await deleteTemporaryFiles(state)
  for (const folder of request.folders) names.list(join(root, folder), await deleteTemporaryFiles(join(root, folder)))
  await deleteTemporaryFiles(toPartFolder(state))
  const { place, unfinished, record, isContinued, isBeside, ...earlier } = await findEarlierRun(root, request)
  if (earlier.complete) return { ...createIdleSession(earlier.complete), ...earlier }
  if (earlier.remainder) {
    for (const close of opened.splice(0).reverse()) close()
    return { ...createIdleSession(record), ...earlier }
  }
  return { ...(await resumeOrStart(root, request, { place, unfinished, record, isContinued, isBeside, opened })), ...earlier }
}

/** A session in which nothing happens. */
const createIdleSession = (record: RunRecord): Session => ({ record, isContinued: false, journals: new Map(), finish: () => of(undefined) })

interface EarlierRun extends Pick<Session, 'complete' | 'remainder' | 'changed'> {
  readonly place: RunPaths
  readonly unfinished: RunRecord | undefined
  /** The record of the requested run: that of the unfinished one to resume it, or a new one. */
  readonly record: RunRecord
  /** Whether the requested run resumes the unfinished one. */
  readonly isContinued: boolean
  /** Whether the requested run is a part of the unfinished run in the main place. */
  readonly isBeside: boolean
}

/** Finds what earlier runs left in a folder for the requested one. Read-only. */
const findEarlierRun = async (root: string, request: SessionRequest): Promise<EarlierRun> => {
  const state = join(root, STATE_FOLDER)
  const main = await readRunRecord(toMainPaths(state).record)
  // A part of an unfinished run has a place of its own, so that the unfinished run can still be resumed.
  const isBeside = main !== undefined && request.isPartOf(main) && (await findFullRun(state, request.isPartOf)) === undefined
  const place = isBeside ? toPartPaths(state) : toMainPaths(state)
  const unfinished = isBeside ? await readRunRecord(place.record) : main
  const record = request.choose(unfinished)
  const isContinued = record === unfinished
  return {
    place,
    unfinished,
    record,
    isContinued,
    isBeside,
    ...(isBeside || isContinued ? {} : await findEndedRun(root, request, unfinished)),
  }
}

/** What a run finds in a folder at its start; `fetched` are the items of a run that it resumes, as `stream/file name`. Read-only. */
export const inspectFolder = async (
  root: string,
  request: SessionRequest,
): Promise<EarlierRun & { readonly fetched: ReadonlySet<string> }> => {
  const earlier = await findEarlierRun(root, request)
  const folders = earlier.isContinued ? [earlier.place.journals, toPartPaths(join(root, STATE_FOLDER)).journals] : []
  const fetched = new Set<string>()
  for (const folder of folders)
    for (const { stream } of request.streams)
      for (const item of await readStoredItems(join(folder, `${stream}.ndjson`), root)) fetched.add(`${stream}/${item}`)
  return { ...earlier, fetched }
}

/** Finds an ended run that makes this one unnecessary or smaller, or the changed file that prevents its reuse. */
const findEndedRun = async (
  root: string,
  { isReusable, remainderOf }: SessionRequest,
  unfinished: RunRecord | undefined,
): Promise<Pick<Session, 'complete' | 'remainder' | 'changed'>> => {
  const state = join(root, STATE_FOLDER)
  const complete = unfinished === undefined ? selectReusableRun(await readCompleteRun(state), isReusable) : undefined
  const ended = complete ?? (await readLastFullRun(state))
  const remainder = ended && (complete ? {} : remainderOf?.(ended.run, unfinished))
  if (ended === undefined || remainder === undefined) return {}
  const changed = await findChangedFile(ended, root)
  if (changed !== undefined) return { changed }
  return complete ? { complete: complete.run } : { remainder }
}

interface StartContext extends Omit<EarlierRun, 'complete' | 'remainder' | 'changed'> {
  readonly opened: (() => void)[]
}

/** Resumes the unfinished run or starts a new one. A new run changes nothing before it is committed. */
const resumeOrStart = async (
  root: string,
  request: SessionRequest,
  { place, unfinished, record, isContinued, isBeside, opened }: StartContext,
): Promise<Session> => {
  const { streams, isPartOf } = request
  const state = join(root, STATE_FOLDER)
  const isPart = (await findFullRun(state, isPartOf)) !== undefined
  const journals = new Map<string, OpenJournal>()
  let isClosed = false
  const close = (): void => {
    isClosed = true
    for (const { close } of journals.values()) close()
  }
  opened.push(close)
  const openAll = async (): Promise<void> => {
    await mkdir(place.journals, { recursive: true })
    for (const facts of streams) journals.set(facts.stream, await openJournal(join(place.journals, `${facts.stream}.ndjson`), facts, root))
    // The run may have been unsubscribed while the journals were opened.
    if (isClosed) close()
  }
  if (isContinued && !isBeside) await mergePart(state)
  if (isContinued) await openAll()
  const ending: FolderRun = { place, record, isPart, isBeside, close }
  const commit = async (): Promise<string | undefined> => {
    const warning = isContinued ? undefined : await replaceRecord(root, request, { ...ending, unfinished })
    if (!isContinued) await openAll()
    // Last, because the record of a complete run is ignored while that of an unfinished run exists.
    await markReplaceable(state, request.outputs)
    if (isPart) await markIncomplete(state, [...request.outputs, REPORT_FILE])
    else if (!isBeside) await deleteFullRun(state)
    return warning
  }
  const end = <T>(act: () => Promise<T>): Observable<T> =>
    defer(act).pipe(catchError((error: unknown) => throwError(() => toStorageError(error, 'written', place.record))))
  return {
    record,
    isContinued,
    ...(isContinued ? { drift: readDrift(place.journals) } : {}),
    ...(unfinished === undefined || unfinished.endedAt !== undefined || isContinued ? {} : { givenUp: unfinished.run }),
    journals: new Map(streams.map(({ stream }) => [stream, createDeferredJournal(() => journals.get(stream)?.journal)])),
    noteDrift: (found) => (journals.size > 0 && !isClosed ? writeDrift(place.journals, found) : undefined),
    commit: () => end(commit),
    keepForResume: (endedAt, report) => end(() => leaveRun(root, request, { ...ending, endedAt, report })),
    finish: (report) => end(() => finishRun(root, request, { ...ending, report })),
  }
}

/** Deletes temporary files of interrupted writes. Returns the names in the folder. */
const deleteTemporaryFiles = async (folder: string): Promise<readonly string[]> => {
  const names = await readdir(folder).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(getErrorCode(error) ?? '')) return []
    throw error
  })
  for (const name of names) if (isTemporaryName(name) && !isPendingLock(name)) await rm(join(folder, name), { force: true })
  return names
}
