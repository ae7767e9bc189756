import { dirname, join } from 'node:path'
import { catchError, defer, mergeMap, Observable, throwError } from 'rxjs'
import {
  type EarlierRuns,
  type LockedStorage,
  type Session,
  type SessionChoice,
  type SessionRequest,
  STATE_FOLDER,
} from '../engine/storage.js'
import type { RunReport } from '../model/report.js'
import { disk } from './disk.js'
import { createFolder, syncFolders, toStorageError, withFile, writeFileAtomically } from './file-system.js'
import { findChangedFile, markIncomplete, readFullRun, recordFullRun, updateFullRun } from './full-run.js'
import { describeEarlier } from './history/choose.js'
import { listEarlierDays } from './history/record.js'
import { createFolderJournal, type FolderJournal } from './journal.js'
import { acquireLock, deleteTemporaryFiles } from './lock.js'
import { compactOutputDigests, type DigestLog } from './output-files.js'
import { completePreviousOutputs, savePreviousOutputs } from './previous-outputs.js'
import {
  checkFolderFormat,
  deletePart,
  deleteRunState,
  markFolderFormat,
  mergePart,
  type RunPaths,
  readDrift,
  readRunRecord,
  statePaths,
  writeDrift,
} from './run-state.js'

/**
 * Locks a folder for one run, deletes temporary files of killed runs, and reads what earlier runs left.
 * Unsubscribing releases the folder.
 */
export const openFolderSession = (
  root: string,
  digests: DigestLog,
  request: SessionRequest,
): Observable<LockedStorage> =>
  new Observable((subscriber) => {
    const opened: (() => void)[] = []
    const release = () => {
      for (const close of opened.splice(0).reverse()) close()
    }
    const lock = async () => {
      const { folder: state, lock, part } = statePaths(root)
      await checkFolderFormat(root)
      await createFolder(state)
      opened.push(await acquireLock(lock, Date.now(), { onLost: (error) => subscriber.error(error) }))
      await deleteTemporaryFiles(state)
      for (const folder of request.folders) await deleteTemporaryFiles(join(root, folder))
      await deleteTemporaryFiles(part.folder)
      return inspectFolder(root)
    }
    lock().then(
      (earlier) => {
        if (subscriber.closed) return release()
        const begin = (choice: SessionChoice, now = request) =>
          beginSession({
            root,
            paths: statePaths(root)[choice.isPartOfUnfinished ? 'part' : 'run'],
            request: now,
            choice,
            digests,
            opened,
          })
        subscriber.next({ ...earlier, begin, release })
      },
      (error: unknown) => {
        release()
        subscriber.error(toStorageError(error, 'written', statePaths(root).folder))
      },
    )
    return release
  })

/** What a run finds in a folder at its start. Read-only. */
export const inspectFolder = async (root: string): Promise<EarlierRuns> => {
  await checkFolderFormat(root)
  const { run, part } = statePaths(root)
  const whole = await readFullRun(root)
  return {
    unfinished: await readRunRecord(run),
    unfinishedPart: await readRunRecord(part),
    ...(whole?.isComplete
      ? { complete: whole.run, completePart: whole.part?.run }
      : { incomplete: whole?.run }),
    findChangedFile: (ended) =>
      defer(async () => {
        const snapshot = [whole, whole?.part].find((one) => one?.run === ended)
        return snapshot && findChangedFile(snapshot, root)
      }),
  }
}

interface FolderRun {
  readonly root: string
  /** Of its record and journals. */
  readonly paths: RunPaths
  readonly request: SessionRequest
  readonly choice: SessionChoice
  readonly digests: DigestLog
  readonly opened: (() => void)[]
}

/** Resumes the unfinished run or starts a new one. A new run changes nothing before it is committed. */
const beginSession = (run: FolderRun): Observable<Session> => {
  const { root, paths, request, choice, digests, opened } = run
  const { record, isContinued, isPartOfEnded, isPartOfUnfinished } = choice
  const journals = createJournals(run)
  let [isOpen, isClosed] = [false, false]
  const close = () => {
    isClosed = true
    for (const journal of journals.values()) journal.close()
    digests.close()
  }
  opened.push(close)
  const openJournals = async () => {
    await disk.mkdir(paths.journals, { recursive: true })
    for (const journal of journals.values()) await journal.open()
    isOpen = true
    // The run may have been unsubscribed while the journals were opened.
    if (isClosed) close()
  }
  const commit = async () => {
    const isRaised = await markFolderFormat(root)
    const warning = isContinued ? await completePreviousOutputs(root) : await replaceRecord(run)
    if (!isContinued) await openJournals()
    await digests.open()
    for (const { files } of journals.values()) files.forEach(digests.renew)
    if (isClosed) close()
    // Last, because the record of a complete run is ignored while that of an unfinished run exists.
    if (isPartOfEnded) await markIncomplete(root)
    else if (!isPartOfUnfinished) await disk.rm(statePaths(root).fullRun, { force: true })
    // Said once: from now on the version that recorded these days refuses this folder.
    const unread = isRaised ? describeEarlier(await listEarlierDays(root)) : []
    return [warning ?? [], unread].flat().join('; ') || undefined
  }
  const { history } = request
  const act = <T>(change: () => Promise<T>, path = paths.record): Observable<T> =>
    defer(change).pipe(
      catchError((error: unknown) => throwError(() => toStorageError(error, 'written', path))),
    )
  const open = async (): Promise<Session> => {
    if (isContinued && !isPartOfUnfinished) await mergePart(root)
    if (isContinued) await openJournals()
    return {
      record,
      isContinued,
      notes: await findNotes(root),
      journals: new Map([...journals].map(([stream, { journal }]) => [stream, journal])),
      ...(isContinued && { drift: readDrift(paths) }),
      saveDrift: (found) => (isOpen && !isClosed ? writeDrift(paths, found) : undefined),
      commit: () => act(commit),
      ...(history && {
        keepHistory: (report) =>
          defer(loadHistory).pipe(
            mergeMap(({ recordDay }) => recordDay(root, { history, record, report, isPartOfEnded })),
          ),
      }),
      keepForResume: (endedAt, report) => act(() => endFolderRun(run, { close, report, endedAt })),
      finish: (report) => act(() => endFolderRun(run, { close, report })),
    }
  }
  return act(open, statePaths(root).folder)
}

/** Loaded on demand: most apps record no history, and its Parquet takes 30 ms of CPU. */
const loadHistory = () => import('./history/record-day.js')

const UNSYNCED =
  'files are not synced, because the permission model of Node forbids it: a power cut may lose the last of them'

const findNotes = async (root: string): Promise<readonly string[]> => {
  const isLimited = process.permission !== undefined
  return isLimited && (await withFile(statePaths(root).lock, 'r+', disk.fdatasync)) === false
    ? [UNSYNCED]
    : []
}

const createJournals = ({
  root,
  paths,
  request: { streams },
  digests: { timeOf },
}: FolderRun): ReadonlyMap<string, FolderJournal> =>
  new Map(
    streams.map((facts) => {
      const path = join(paths.journals, `${facts.stream}.ndjson`)
      return [facts.stream, createFolderJournal(facts, { path, root, timeOf })]
    }),
  )

/** Replaces the state of an unfinished run by the record of the new one. Resolves to a warning, if any. */
const replaceRecord = async ({ root, paths, request, choice }: FolderRun): Promise<string | undefined> => {
  const { outputs, session } = request
  const { record, isPartOfUnfinished, keepsPrevious, unfinished } = choice
  const isGivenUp = unfinished !== undefined && unfinished.endedAt === undefined
  // `diff` after a partial run still compares with the outputs from before the full run.
  const warning = keepsPrevious ? undefined : await savePreviousOutputs(root, { outputs, session, isGivenUp })
  if (isPartOfUnfinished) await mergePart(root)
  else await deleteRunState(paths)
  await deletePart(root)
  await writeFileAtomically(paths.record, [`${JSON.stringify(record, null, 2)}\n`])
  // After a power cut, a run whose record is lost but whose outputs are not would count them as those before
  // it.
  await syncFolders([dirname(paths.record), root])
  return warning
}

interface SessionEnding {
  readonly close: () => void
  readonly report: RunReport | undefined
  readonly endedAt?: number
}

/**
 * Ends a run. Its record and journals stay if it can be resumed, or if an unfinished run of more takes them
 * over.
 */
const endFolderRun = async (
  { root, paths, request, choice: { record, isPartOfEnded, isPartOfUnfinished } }: FolderRun,
  { close, report, endedAt }: SessionEnding,
): Promise<void> => {
  const isLeft = endedAt !== undefined
  const isComplete = !isLeft && report?.outcome === 'complete'
  const coversAllStocks = record.chosen?.symbols === undefined && record.chosen?.pairs === undefined
  close()
  const isWhole = isComplete && !isPartOfEnded && !isPartOfUnfinished && coversAllStocks
  const { folders, outputs } = request
  // Renames must survive a power cut before the journals, from which a lost file could be restored, are
  // deleted.
  await syncFolders([STATE_FOLDER, ...folders].map((folder) => join(root, folder)))
  // After a whole run, outputs that it did not leave are those of stocks that are not listed any more.
  await compactOutputDigests(root, isWhole ? outputs : [])
  // The note of an ended run is ignored until the record of the unfinished run is deleted below.
  if (report && !isPartOfUnfinished) {
    const end = { run: { ...record, report }, outputs, isComplete }
    if (isPartOfEnded)
      await updateFullRun(root, { ...end, isComplete: isComplete && report.missing === undefined })
    else if (!isLeft && (isComplete || (report.outcome === 'partial' && coversAllStocks)))
      await recordFullRun(root, end)
  }
  if (isLeft)
    await writeFileAtomically(paths.record, [`${JSON.stringify({ ...record, endedAt }, null, 2)}\n`])
  else if (isPartOfUnfinished) await mergePart(root)
  else await deleteRunState(paths)
}
