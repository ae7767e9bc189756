import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { catchError, defer, Observable, of, throwError } from 'rxjs'
import type { StorageError } from '../src/model/errors.js'
import type { Beginning, RunRecord, Session } from '../src/pipeline/session.js'
import { isTemporary } from './atomic-file.js'
import { changedSince, sufficingRun } from './complete-run.js'
import { codeOf, storageErrorOf } from './file-error.js'
import { mayReplace } from './files-left.js'
import { finishRun, leaveRun, REPORT, type RunInFolder, replaceRecord, STATE } from './folder-ends.js'
import { type OpenJournal, openJournal, opensLater } from './folder-journal.js'
import type { KnownNames } from './known-names.js'
import { takeLock } from './lock.js'
import { isLockOnItsWay } from './lock-chain.js'
import { absorbPart, driftNoted, mainPlace, noteDrift, partFolder, partPlace, type RunPlace } from './run-place.js'
import { recordIn } from './run-record.js'
import { completeRun, endedRun, forgetWhole, setAside, wholeOf } from './whole-run.js'

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
  await sweep(partFolder(state))
  const main = await recordIn(mainPlace(state).record)
  // A part of an unfinished run has a place of its own, so that the unfinished run can still be resumed.
  const isBeside = main !== undefined && request.isPartOf(main) && (await wholeOf(state, request.isPartOf)) === undefined
  const place = isBeside ? partPlace(state) : mainPlace(state)
  const unfinished = isBeside ? await recordIn(place.record) : main
  const isContinued = unfinished !== undefined && request.choose(unfinished) === unfinished
  const earlier = isBeside || isContinued ? {} : await endedBefore(root, request, unfinished)
  if (earlier.complete) return { ...idle(earlier.complete), ...earlier }
  if (earlier.remainder) {
    for (const close of opened.splice(0).reverse()) close()
    return { ...idle(request.choose(undefined)), ...earlier }
  }
  return { ...(await taken(root, request, { place, unfinished, opened, isBeside })), ...earlier }
}

/** A session in which nothing happens. */
const idle = (record: RunRecord): Session => ({ record, isContinued: false, journals: new Map(), finish: () => of(undefined) })

/** Finds an ended run that makes this one unnecessary or smaller, or the changed file that prevents its reuse. */
const endedBefore = async (
  root: string,
  { suffices, remainderOf }: Beginning,
  unfinished: RunRecord | undefined,
): Promise<Pick<Session, 'complete' | 'remainder' | 'changed'>> => {
  const state = join(root, STATE)
  const complete = unfinished === undefined ? sufficingRun(await completeRun(state), suffices) : undefined
  const ended = complete ?? (await endedRun(state))
  const remainder = ended && (complete ? {} : remainderOf?.(ended.run, unfinished))
  if (ended === undefined || remainder === undefined) return {}
  const changed = await changedSince(ended, root)
  if (changed !== undefined) return { changed }
  return complete ? { complete: complete.run } : { remainder }
}

interface Taking {
  readonly place: RunPlace
  readonly unfinished: RunRecord | undefined
  readonly opened: (() => void)[]
  /** Whether the run is a part of the unfinished run in the main place. */
  readonly isBeside: boolean
}

/** Resumes the unfinished run or starts a new one. A new run changes nothing before it is committed. */
const taken = async (root: string, request: Beginning, { place, unfinished, opened, isBeside }: Taking): Promise<Session> => {
  const { streams, choose, isPartOf } = request
  const state = join(root, STATE)
  const record = choose(unfinished)
  const isContinued = unfinished !== undefined && record === unfinished
  const isPart = (await wholeOf(state, isPartOf)) !== undefined
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
  if (isContinued && !isBeside) await absorbPart(state)
  if (isContinued) await openAll()
  const ending: RunInFolder = { place, record, isPart, isBeside, close }
  const commit = async (): Promise<string | undefined> => {
    const warning = isContinued ? undefined : await replaceRecord(root, request, { ...ending, unfinished })
    if (!isContinued) await openAll()
    // Last, because the record of a complete run is ignored while that of an unfinished run exists.
    await mayReplace(state, request.outputs)
    if (isPart) await setAside(state, [...request.outputs, REPORT])
    else if (!isBeside) await forgetWhole(state)
    return warning
  }
  const end = <T>(act: () => Promise<T>): Observable<T> =>
    defer(act).pipe(catchError((error: unknown) => throwError(() => storageErrorOf(error, 'written', place.record))))
  return {
    record,
    isContinued,
    ...(isContinued ? { drift: driftNoted(place.journals) } : {}),
    ...(unfinished === undefined || unfinished.endedAt !== undefined || isContinued ? {} : { givenUp: unfinished.run }),
    journals: new Map(streams.map(({ stream }) => [stream, opensLater(() => journals.get(stream)?.journal)])),
    noteDrift: (found) => (journals.size > 0 && !isClosed ? noteDrift(place.journals, found) : undefined),
    commit: () => end(commit),
    leave: (endedAt, report) => end(() => leaveRun(root, request, { ...ending, endedAt, report })),
    finish: (report) => end(() => finishRun(root, request, { ...ending, report })),
  }
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
