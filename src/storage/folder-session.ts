import { join } from 'node:path'
import { catchError, defer, Observable, of, throwError } from 'rxjs'
import type { StorageError } from '../model/errors.js'
import type { RunRecord, Session, SessionRequest } from '../pipeline/session.js'
import { REPORT_FILE } from '../pipeline/storage.js'
import { disk } from './disk.js'
import { type FolderRun, finishRun, leaveRun, replaceRecord } from './end-run.js'
import { createFolder, toStorageError } from './file-system.js'
import { createDeferredJournal, type OpenJournal, openJournal, readStoredItems } from './folder-journal.js'
import { deleteTemporaryFiles, type FolderContext } from './folder-names.js'
import {
  deleteFullRun,
  findChangedFile,
  findFullRun,
  markIncomplete,
  readCompleteRun,
  readLastFullRun,
  selectReusableRun,
} from './full-run.js'
import { recordDay } from './history/record-day.js'
import { acquireLock } from './lock.js'
import { markReplaceable } from './output-sizes.js'
import {
  checkFolderFormat,
  markFolderFormat,
  mergePart,
  type RunPaths,
  readDrift,
  readRunRecord,
  statePaths,
  writeDrift,
} from './run-state.js'

/**
 * Locks a folder for one run, deletes temporary files of killed runs, and looks for a complete run to reuse or an unfinished one to resume.
 * Unsubscribing releases the folder.
 */
export const openFolderSession = (root: string, context: FolderContext, request: SessionRequest): Observable<Session> =>
  new Observable((subscriber) => {
    const opened: (() => void)[] = []
    const release = (): void => {
      context.names.forget()
      for (const close of opened.splice(0).reverse()) close()
    }
    lockFolder(root, request, { ...context, opened, onLost: (error) => subscriber.error(error) }).then(
      (session) => {
        if (subscriber.closed) release()
        else subscriber.next(session)
      },
      (error: unknown) => {
        release()
        subscriber.error(toStorageError(error, 'written', statePaths(root).folder))
      },
    )
    return release
  })

interface SessionResources extends FolderContext {
  readonly opened: (() => void)[]
  readonly onLost: (error: StorageError) => void
}

const lockFolder = async (
  root: string,
  request: SessionRequest,
  { names, digests, opened, onLost }: SessionResources,
): Promise<Session> => {
  const { folder: state, lock, part } = statePaths(root)
  await checkFolderFormat(root)
  await createFolder(state)
  opened.push(await acquireLock(lock, Date.now(), { onLost }))
  await deleteTemporaryFiles(state)
  for (const folder of request.folders) names.list(join(root, folder), await deleteTemporaryFiles(join(root, folder)))
  await deleteTemporaryFiles(part.folder)
  const { complete, remainder, changed, ...start } = await findEarlierRun(root, request)
  if (complete) return { ...createIdleSession(complete), complete }
  if (remainder) {
    for (const close of opened.splice(0).reverse()) close()
    return { ...createIdleSession(start.record), remainder }
  }
  const session = await resumeOrStart(root, request, { ...start, digests, opened })
  return changed === undefined ? session : { ...session, changed }
}

/** A session in which nothing happens. */
const createIdleSession = (record: RunRecord): Session => ({ record, isContinued: false, journals: new Map(), finish: () => of(undefined) })

interface EarlierRun extends Pick<Session, 'complete' | 'remainder' | 'changed'> {
  readonly paths: RunPaths
  readonly unfinished: RunRecord | undefined
  /** The record of the requested run: that of the unfinished one to resume it, or a new one. */
  readonly record: RunRecord
  /** Whether the requested run resumes the unfinished one. */
  readonly isContinued: boolean
  /** Whether the requested run is a part of an unfinished run; it has paths of its own then, so that the other can still be resumed. */
  readonly isPartOfUnfinished: boolean
}

/** Finds what earlier runs left in a folder for the requested one. Read-only. */
const findEarlierRun = async (root: string, request: SessionRequest): Promise<EarlierRun> => {
  const { run, part } = statePaths(root)
  const whole = await readRunRecord(run)
  const isPartOfUnfinished = whole !== undefined && request.isPartOf(whole) && (await findFullRun(root, request.isPartOf)) === undefined
  const paths = isPartOfUnfinished ? part : run
  const unfinished = isPartOfUnfinished ? await readRunRecord(part) : whole
  const record = request.choose(unfinished)
  const isContinued = record === unfinished
  const ended = isPartOfUnfinished || isContinued ? {} : await findEndedRun(root, request, unfinished)
  return { paths, unfinished, record, isContinued, isPartOfUnfinished, ...ended }
}

/** What a run finds in a folder at its start; `fetched` are the items of a run that it resumes, as `stream/file name`. Read-only. */
export const inspectFolder = async (
  root: string,
  request: SessionRequest,
): Promise<EarlierRun & { readonly fetched: ReadonlySet<string> }> => {
  await checkFolderFormat(root)
  const earlier = await findEarlierRun(root, request)
  const folders = earlier.isContinued ? [earlier.paths.journals, statePaths(root).part.journals] : []
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
  const complete = unfinished === undefined ? selectReusableRun(await readCompleteRun(root), isReusable) : undefined
  const ended = complete ?? (await readLastFullRun(root))
  const remainder = ended && (complete ? { due: [] } : remainderOf?.(ended.run, unfinished))
  if (ended === undefined || remainder === undefined) return {}
  const changed = await findChangedFile(ended, root)
  if (changed !== undefined) return { changed }
  return complete ? { complete: complete.run } : { remainder }
}

interface StartContext extends Omit<EarlierRun, 'complete' | 'remainder' | 'changed'> {
  readonly digests: FolderContext['digests']
  readonly opened: (() => void)[]
}

/** Resumes the unfinished run or starts a new one. A new run changes nothing before it is committed. */
const resumeOrStart = async (
  root: string,
  request: SessionRequest,
  { paths, unfinished, record, isContinued, isPartOfUnfinished, digests, opened }: StartContext,
): Promise<Session> => {
  const { streams, isPartOf, history } = request
  const isPartOfEnded = (await findFullRun(root, isPartOf)) !== undefined
  const journals = new Map<string, OpenJournal>()
  let isClosed = false
  const close = (): void => {
    isClosed = true
    for (const { close } of journals.values()) close()
    digests.close()
  }
  opened.push(close)
  const openAll = async (): Promise<void> => {
    await disk.mkdir(paths.journals, { recursive: true })
    for (const facts of streams) journals.set(facts.stream, await openJournal(join(paths.journals, `${facts.stream}.ndjson`), facts, root))
    // The run may have been unsubscribed while the journals were opened.
    if (isClosed) close()
  }
  if (isContinued && !isPartOfUnfinished) await mergePart(root)
  if (isContinued) await openAll()
  const ending: FolderRun = { paths, record, isPartOfEnded, isPartOfUnfinished, close }
  const commit = async (): Promise<string | undefined> => {
    await markFolderFormat(root)
    const warning = isContinued ? undefined : await replaceRecord(root, request, { ...ending, unfinished })
    if (!isContinued) await openAll()
    await digests.open()
    if (isClosed) close()
    // Last, because the record of a complete run is ignored while that of an unfinished run exists.
    await markReplaceable(root, request.outputs)
    if (isPartOfEnded) await markIncomplete(root, [...request.outputs, REPORT_FILE])
    else if (!isPartOfUnfinished) await deleteFullRun(root)
    return warning
  }
  const end = <T>(act: () => Promise<T>): Observable<T> =>
    defer(act).pipe(catchError((error: unknown) => throwError(() => toStorageError(error, 'written', paths.record))))
  return {
    record,
    isContinued,
    ...(isContinued ? { drift: readDrift(paths) } : {}),
    ...(unfinished === undefined || unfinished.endedAt !== undefined || isContinued ? {} : { givenUp: unfinished }),
    journals: new Map(streams.map(({ stream }) => [stream, createDeferredJournal(() => journals.get(stream)?.journal)])),
    saveDrift: (found) => (journals.size > 0 && !isClosed ? writeDrift(paths, found) : undefined),
    commit: () => end(commit),
    ...(history ? { keepHistory: (report) => defer(() => recordDay(root, { history, record, report, isPartOfEnded })) } : {}),
    keepForResume: (endedAt, report) => end(() => leaveRun(root, request, { ...ending, endedAt, report })),
    finish: (report) => end(() => finishRun(root, request, { ...ending, report })),
  }
}
