import { hostname } from 'node:os'
import type { Job, Worker } from 'bullmq'
import { filter, firstValueFrom, interval, merge, mergeMap, NEVER, Observable, Subject, scan, throwError } from 'rxjs'
import { messageOf, StorageError, UsageError } from '../model/errors.js'
import type { Host, Settings } from '../model/settings.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import { addressOf } from '../provider/gate/gates.js'
import { readFleetAddress } from './address.js'
import { blobsIn } from './blobs.js'
import { type Held, holdsOn } from './hold.js'
import { itemJob, nothingTold } from './item-job.js'
import type { Outcome, Work } from './outcome.js'
import { loadPackages } from './packages.js'
import { createPulse } from './pulse.js'
import { LOCK_MS, queuesOn } from './queues.js'
import { connect } from './redis.js'
import { shareCaps } from './shares.js'
import { sitesOf, type WorkerSite } from './site.js'

/** For whom a worker works, and with what. */
export interface WorkerOptions {
  /** `redis://host:6379`, with `?prefix=` where several fleets share a server. */
  readonly address: string
  /** The folder that all machines of the fleet share. */
  readonly blobs: string
  /** The streams that it works for: those of the driver, or items would be left lying. */
  readonly streams: readonly StreamDefinition[]
  /** What this machine sends with its requests. */
  readonly headers: Settings['headers']
  /** As in the report; no two workers may have the same. */
  readonly name: string
  /** Items of one stream at a time, at most; without it a fair share of what the whole fleet may have. */
  readonly concurrency?: number | undefined
  readonly version: string
  /** Also on a server that may forget what it holds. */
  readonly allowVolatile?: boolean
  /** Once it emits, no further item is taken, those in work are ended, and the worker completes. */
  readonly stop?: Observable<unknown>
}

/** What a worker tells. */
export type WorkerNews =
  | { readonly type: 'joined'; readonly name: string; readonly shown: string }
  | { readonly type: 'run'; readonly run: string }
  | { readonly type: 'settled'; readonly stream: string }

/** A name that no other worker has. */
export const workerName = (): string => `${hostname()}-${process.pid}`

/** An event loop does not stand still for so long by itself, and a lock that was renewed does not run out before. */
const STOOD_MS = LOCK_MS * 0.4
/** What an item came to is with the server by then, unless it is away: then others will have it. */
const TELL_MS = 3_000

/**
 * Works on what the driver of a fleet hands out, for one run after the other, until it is told to stop or unsubscribed; both let the items
 * in work end. Errors with a `UsageError` or a `StorageError` where it cannot: its items are then given to others.
 */
export const fleetWorker = (options: WorkerOptions): Observable<WorkerNews> =>
  new Observable((subscriber) => {
    let hasFailed = false
    const fail = (error: unknown): void => {
      hasFailed = true
      subscriber.error(error)
    }
    const opened = open(options, (news) => subscriber.next(news), fail)
    opened.catch(fail)
    subscriber.add(
      (options.stop ?? NEVER).subscribe(() => {
        opened.then((end) => end(false)).then(() => subscriber.complete(), fail)
      }),
    )
    // A worker that could not be opened was told of.
    return () => void opened.then((end) => end(hasFailed)).catch(() => undefined)
  })

const open = async (options: WorkerOptions, tell: (news: WorkerNews) => void, fail: (error: unknown) => void) => {
  const { streams, headers, name, concurrency = Number.POSITIVE_INFINITY, allowVolatile = false } = options
  if (!/^[!-~]{1,100}$/.test(name))
    throw new UsageError(`a worker cannot be called ${JSON.stringify(name)}: give it a --name of letters, digits and signs, without spaces`)
  const address = readFleetAddress(options.address)
  const packages = await loadPackages()
  const redis = await connect(address, packages, { allowVolatile })
  const queues = queuesOn(redis, address, options.version, packages)
  const blobs = blobsIn(options.blobs)
  const sites = sitesOf({ blobs, streams, headers })
  const holds = holdsOn(redis, queues.prefix)
  const stood$ = new Subject<void>()
  const lost$ = new Subject<readonly string[]>()
  const pulse = createPulse(
    STOOD_MS,
    () => redis.status === 'ready',
    () => stood$.next(),
  )
  let run = ''
  let inWork = 0
  let recalled: readonly [WorkerSite, Promise<unknown>] | undefined

  const takeUp = async (given: string, isStillThere: () => Promise<boolean>): Promise<WorkerSite> => {
    const site = await sites.of(given).catch(async (error: unknown) => {
      // Another driver clears away what the one before has left, and the folder of its run.
      if (!(await isStillThere())) throw new Elsewhere('cleared away')
      fail(error)
      throw error
    })
    if (run !== given) {
      run = given
      tell({ type: 'run', run })
    }
    if (recalled?.[0] !== site) {
      const addresses = new Set(hostsOf(streams).map((host) => addressOf(site.settings, host)))
      const recall = Promise.all([...addresses].map(holds.recall))
      recalled = [site, recall]
      // The next item recalls them anew.
      recall.catch(() => {
        if (recalled?.[1] === recall) recalled = undefined
      })
    }
    await recalled[1]
    return site
  }
  const pausing =
    ({ settings }: WorkerSite) =>
    async ({ address: held, ms }: Held): Promise<void> => {
      const asking = streams.filter((stream) => hostsOf([stream]).some((host) => addressOf(settings, host) === held))
      await Promise.all(asking.map((stream) => queues.queue(stream.name).rateLimit(Math.ceil(ms))))
    }
  const workerFor = (stream: StreamDefinition): Worker<Work, Outcome, string> => {
    let told = nothingTold()
    let toldOf = ''
    const settled = async (job: Job<Work, Outcome, string>): Promise<Outcome> => {
      const site = await takeUp(job.data.run, async () => (await queues.queue(stream.name).getJob(job.id ?? ''))?.data.run === job.data.run)
      if (toldOf !== site.run) told = nothingTold()
      toldOf = site.run
      // What was handed out before this process stood still may be another's by now.
      if (site.clock() - (job.processedOn ?? 0) > STOOD_MS) throw new Elsewhere('handed out too long ago')
      const tools = { by: name, blobs, told, holds, pulse, pause: pausing(site), givenBack: () => new packages.bullmq.RateLimitError() }
      const taken$ = merge(stood$, lost$.pipe(mergeMap((ids) => (ids.includes(job.id ?? '') ? [undefined] : [])))).pipe(
        mergeMap(() => throwError(() => new Elsewhere('given to another worker'))),
      )
      const outcome = await firstValueFrom(merge(itemJob(stream, job.data, site, tools), taken$)).catch((error: unknown) => {
        throw mayPass(error) ? error : new packages.bullmq.UnrecoverableError(site.redact(messageOf(error)))
      })
      tell({ type: 'settled', stream: stream.name })
      return outcome
    }
    const counted = (job: Job<Work, Outcome, string>): Promise<Outcome> => {
      inWork += 1
      return settled(job).finally(() => (inWork -= 1))
    }
    const worker = queues.worker<Work, Outcome>(stream.name, counted, { name, concurrency: Math.min(concurrency, stream.workers) })
    worker.on('lockRenewalFailed', (ids) => lost$.next(ids))
    return worker
  }
  const workers = new Map(streams.map((stream) => [stream, workerFor(stream)]))
  const sharing = shareCaps(workers, queues, concurrency)
  tell({ type: 'joined', name, shown: address.shown })
  return async (isHurried: boolean): Promise<void> => {
    sharing.unsubscribe()
    // A connection that is away when it is closed would be waited for for ever.
    await firstValueFrom(
      merge(
        queues.close(isHurried),
        quiet(() => inWork === 0),
      ),
    )
    pulse.stop()
    holds.close()
    await sites.close()
    redis.disconnect()
  }
}

/** Emits once something has held for as long as it takes to tell the server what became of an item. */
const quiet = (holds: () => boolean): Observable<unknown> =>
  interval(TELL_MS / 10).pipe(
    scan((times) => (holds() ? times + 1 : 0), 0),
    filter((times) => times > 10),
  )

const hostsOf = (streams: readonly StreamDefinition[]): readonly Host[] =>
  streams.flatMap(({ endpoints }) => endpoints.map(({ host }) => host))

/** What the item does not end with: it is worked on elsewhere by now. */
class Elsewhere extends Error {}

/** Whether another try may go well, here or on another machine: of what a disk, a network or the queue said, not of a bug. */
const mayPass = (error: unknown): boolean =>
  error instanceof Elsewhere ||
  error instanceof StorageError ||
  (error instanceof Error && ('code' in error || error.name === 'ReplyError' || error.name === 'RateLimitError'))
