import { asyncScheduler } from 'rxjs'
import { folder } from '../../sinks/folder.js'
import type { StreamDefinition } from '../engine/define-stream.js'
import { createRunDriftWatch } from '../engine/drift.js'
import { oncePerRun, oncePerSecondPass } from '../engine/once-per-run.js'
import type { ItemContext } from '../engine/run.js'
import { countConnections } from '../engine/run-services.js'
import { openConnections } from '../http/connections.js'
import { createLimiters } from '../limiter/limiter-registry.js'
import { createRedactor, type Redact } from '../model/redact.js'
import type { BlobStore } from './blobs.js'
import { ignoreError } from './ignore-error.js'
import { NO_EDITION, type OwnHeaders, readEdition, readRunFile, toEarlierFolder } from './shared-run.js'

/** A run on a worker: everything that its items need. */
export interface WorkerRun extends ItemContext {
  readonly run: string
  /** Removes the credentials of this machine from texts. The driver does not know them. */
  readonly redact: Redact
  /** Shared requests of items in second passes. */
  readonly sharedInSecondPass: ItemContext['shared']
  readonly close: () => void
}

export interface WorkerRunOptions {
  readonly blobs: BlobStore
  readonly streams: readonly StreamDefinition[]
  readonly own: OwnHeaders
}

interface OpenedRun {
  readonly run: string
  readonly edition: number
  readonly workerRun: Promise<WorkerRun>
}

const EDITION_CHECK_MS = 1_000

/** Opens the runs of a worker. The current one is the latest, in the latest edition of its file. */
export const createWorkerRuns = (options: WorkerRunOptions) => {
  let current: OpenedRun | undefined
  /** Its items may still be active. */
  let previous: OpenedRun | undefined
  let checkedAt = Number.NEGATIVE_INFINITY
  let checking: Promise<unknown> = Promise.resolve()
  const close = async (one: OpenedRun | undefined) => {
    // A run that failed to open has nothing to close, and its items have reported the error.
    await one?.workerRun.then((run) => run.close()).catch(ignoreError(`close run ${one.run}`))
  }
  const checkEdition = async (run: string) => {
    const edition = await readEdition(run, options.blobs)
    if (edition === NO_EDITION || (current?.run === run && current.edition === edition)) return
    void close(previous)
    previous = current
    current = { run, edition, workerRun: openWorkerRun(run, options) }
  }
  return {
    open: async (run: string) => {
      const now = performance.now()
      if (current?.run !== run || now - checkedAt > EDITION_CHECK_MS) {
        checkedAt = now
        checking = checking.then(() => checkEdition(run))
      }
      await checking
      return current?.run === run ? current.workerRun : openWorkerRun(run, options)
    },
    close: async () => {
      await Promise.all([close(previous), close(current)])
    },
  }
}

const openWorkerRun = async (run: string, { blobs, streams, own }: WorkerRunOptions): Promise<WorkerRun> => {
  const { asOf, accept, settings } = await readRunFile(run, blobs, own)
  const plan = streams.map((stream) => ({ stream, state: 'waiting' as const }))
  const connections = openConnections({ settings, maxConnections: countConnections(plan, settings) })
  const shared = oncePerRun()
  return {
    run,
    asOf,
    accept,
    settings,
    redact: createRedactor(settings),
    storage: { stored: folder(toEarlierFolder(blobs.toFolder(run))).stored },
    transport: connections.send,
    limiters: createLimiters(settings),
    drift: createRunDriftWatch(accept),
    shared,
    sharedInSecondPass: oncePerSecondPass(shared),
    // The driver hands out the items of a stream only after the streams that it depends on.
    ended: new Map(),
    emit: () => undefined,
    watch: undefined,
    clock: () => asyncScheduler.now(),
    random: Math.random,
    close: connections.close,
  }
}
