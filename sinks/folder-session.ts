import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { catchError, defer, Observable, throwError } from 'rxjs'
import { isRow } from '../src/model/row.js'
import type { Beginning, RunRecord, Session } from '../src/pipeline/session.js'
import { isTemporary, writeWhole } from './atomic-file.js'
import { codeOf, storageErrorOf } from './file-error.js'
import { type OpenJournal, openJournal } from './folder-journal.js'
import { isLockOnItsWay, takeLock } from './lock.js'

const STATE = '.scripstream'

/** Takes a folder for one run: locks it, sweeps it, and finds the unfinished run or begins anew. Unsubscribing gives it back. */
export const folderSession = (root: string, beginning: Beginning): Observable<Session> =>
  new Observable((subscriber) => {
    const opened: (() => void)[] = []
    const giveBack = (): void => {
      for (const close of opened.splice(0).reverse()) close()
    }
    begun(root, beginning, opened).then(
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

const begun = async (root: string, { folders, streams, choose }: Beginning, opened: (() => void)[]): Promise<Session> => {
  const state = join(root, STATE)
  await mkdir(state, { recursive: true })
  opened.push(await takeLock(join(state, 'lock'), Date.now()))
  for (const folder of [STATE, ...folders]) await sweep(join(root, folder))
  const path = join(state, 'run.json')
  const journals = join(state, 'journals')
  const unfinished = await recordIn(path)
  const record = choose(unfinished)
  const isContinued = unfinished !== undefined && record === unfinished
  if (!isContinued) {
    // The record first: without it no journal is believed.
    await rm(path, { force: true })
    await rm(journals, { recursive: true, force: true })
    await writeWhole(path, [`${JSON.stringify(record, null, 2)}\n`])
  }
  await mkdir(journals, { recursive: true })
  const openJournals = new Map<string, OpenJournal>()
  const close = async (): Promise<void> => void (await Promise.allSettled([...openJournals.values()].map((journal) => journal.close())))
  opened.push(() => void close())
  for (const facts of streams) openJournals.set(facts.stream, await openJournal(join(journals, `${facts.stream}.ndjson`), facts, root))
  const finish = async (): Promise<void> => {
    await close()
    // What was moved into place must be there after a power cut too, before the journals that could mend it go.
    for (const folder of [STATE, ...folders]) await synced(join(root, folder))
    await rm(path, { force: true })
    await rm(journals, { recursive: true, force: true })
  }
  return {
    record,
    isContinued,
    ...(unfinished === undefined || isContinued ? {} : { givenUp: unfinished.run }),
    journals: new Map([...openJournals].map(([stream, { journal }]) => [stream, journal])),
    finish: () => defer(finish).pipe(catchError((error: unknown) => throwError(() => storageErrorOf(error, 'written', path)))),
  }
}

/** Takes away what broken-off writes left behind. */
const sweep = async (folder: string): Promise<void> => {
  const names = await readdir(folder).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return []
    throw error
  })
  for (const name of names) if (isTemporary(name) && !isLockOnItsWay(name)) await rm(join(folder, name), { force: true })
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

const recordIn = async (path: string): Promise<RunRecord | undefined> => {
  try {
    const record: unknown = JSON.parse(await readFile(path, 'utf8'))
    return isRecord(record) ? record : undefined
  } catch (error) {
    if (error instanceof SyntaxError || codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

const isRecord = (value: unknown): value is RunRecord & Record<string, unknown> =>
  isRow(value) && typeof value.run === 'string' && Number.isInteger(value.asOf) && typeof value.configuration === 'string'
