import { from, interval, lastValueFrom, merge, mergeMap, Observable, race, Subscription, tap, timer, toArray } from 'rxjs'
import { codeOf } from '../../sinks/file-error.js'
import { messageOf, StorageError } from '../model/errors.js'
import { hosts } from '../model/settings.js'
import type { Engine, Hands } from '../pipeline/engine.js'
import type { Planned } from '../pipeline/plan.js'
import type { Run } from '../pipeline/run.js'
import { addressOf } from '../provider/gate/gates.js'
import { type FleetAddress, readFleetAddress } from './address.js'
import { BARRIERS, barriersOn } from './barriers.js'
import { blobsIn } from './blobs.js'
import { createCensus } from './census.js'
import { readable, share } from './earlier.js'
import { holdsOn } from './hold.js'
import { loadPackages } from './packages.js'
import { queuesOn, type WorkQueue } from './queues.js'
import { connect } from './redis.js'
import { takeReins } from './reins.js'
import { tellRun } from './run-file.js'
import { settledByFleet } from './stage.js'

/** Where a run meets its workers. */
export interface FleetOptions {
  /** `redis://host:6379`, with `?prefix=` where several fleets share a server. */
  readonly address: string
  /** The folder that all machines of the fleet share. */
  readonly blobs: string
  /** Of this program: only workers of the same one understand its items. */
  readonly version: string
  /** Also on a server that may forget what it holds. */
  readonly allowVolatile?: boolean
}

const LOOK_MS = 1_000
const LETS_GO_MS = 5_000

/** Whether a fleet can be had: errors as `fleet` would, with nothing begun. */
export const reachFleet = async ({ address, allowVolatile = false }: FleetOptions): Promise<void> => {
  const redis = await connect(readFleetAddress(address), await loadPackages(), { allowVolatile })
  redis.disconnect()
}

/**
 * Hands the items of a run out to the workers of a fleet (`fleetWorker`), through queues on Redis; outputs go to the folder that the
 * settings name, as ever. The same run begun again, by the same command, goes on where it was broken off. Throws a `UsageError` for a wrong
 * address; the run errors with a `StorageError` where the server cannot be used.
 */
export const fleet = (options: FleetOptions): Engine => {
  const address = readFleetAddress(options.address)
  return {
    begin: (run, plan) =>
      new Observable((subscriber) => {
        const opened = open({ ...options, address }, run, plan, (error) => subscriber.error(error))
        opened.then(
          ({ hands }) => subscriber.next(hands),
          (error: unknown) => subscriber.error(error),
        )
        // A driver that could not be opened was told of, and has let go of everything.
        return () => void opened.then(({ close }) => close()).catch(() => undefined)
      }),
  }
}

/** Where the answer was broken off, the client asks again, and a queue of which half is gone already is refused: it is no longer paused. */
const cleared = async (queue: WorkQueue): Promise<void> => {
  const clear = (): Promise<void> => queue.obliterate({ force: true })
  await clear().catch((error: unknown) => (/non-paused/.test(messageOf(error)) ? clear() : Promise.reject(error)))
}

interface Opening extends Omit<FleetOptions, 'address'> {
  readonly address: FleetAddress
}

const open = async ({ address, ...options }: Opening, run: Run, plan: readonly Planned[], fail: (error: unknown) => void) => {
  const packages = await loadPackages()
  const redis = await connect(address, packages, { allowVolatile: options.allowVolatile ?? false })
  const queues = queuesOn(redis, address, options.version, packages)
  const blobs = blobsIn(options.blobs)
  const census = createCensus(run.clock)
  const watching = new Subscription()
  const { record } = run.session
  const names = plan.flatMap(({ stream, state }) => (state === 'waiting' ? [stream.name] : []))
  let isOver = false

  const holds = holdsOn(redis, queues.prefix, ({ address: held, ms }) => {
    const there = hosts.filter((host) => run.settings.urls[host] !== undefined && addressOf(run.settings, host) === held)
    const at = run.clock()
    if (there.length === 0) return
    run.emit(
      ms > 0 ? { type: 'host-held', at, hosts: there, why: 'refuses', since: at, until: at + ms } : { type: 'host-open', at, hosts: there },
    )
  })
  const clear = async (streams: readonly string[]): Promise<void> => {
    await Promise.all(streams.map((stream) => cleared(queues.queue(stream))))
  }
  const letGo = async (): Promise<void> => {
    // Nobody would take back what workers have not begun.
    if (!isOver) await Promise.all(names.map((stream) => queues.queue(stream).drain()))
    await reins?.drop()
    await queues.close(true)
  }
  const close = async (): Promise<void> => {
    watching.unsubscribe()
    barriers?.stop()
    // A server that is away is not waited for.
    await lastValueFrom(race(from(letGo()), timer(LETS_GO_MS)), { defaultValue: undefined })
    holds.close()
    redis.disconnect()
  }
  let reins: Awaited<ReturnType<typeof takeReins>> | undefined
  let barriers: ReturnType<typeof barriersOn> | undefined
  try {
    reins = await takeReins(redis, { prefix: queues.prefix, run: record.run, shown: address.shown }, fail)
    if (reins.before !== undefined && reins.before !== record.run) {
      // Also of streams that this run does not have: workers would end over items of a run that is gone.
      await clear(plan.map(({ stream }) => stream.name))
      await blobs.drop(reins.before)
    }
    // Not before: a driver that was broken off here would take what is left for its own.
    await reins.begin()
    // Those of a driver that was broken off would wait for it.
    await clear([BARRIERS])
    await share(run.settings.out, readable(plan, run.settings.exchange), blobs.folderOf(record.run))
    await tellRun({ run: record.run, asOf: record.asOf, accept: [...run.accept], settings: run.settings }, blobs)
    // Their connections, while there is time.
    for (const stream of names) queues.events(stream)
    barriers = barriersOn(queues, record.run, packages, address.shown)
  } catch (error) {
    isOver = true
    await close()
    throw codeOf(error) === undefined
      ? error
      : new StorageError(`the shared folder ${options.blobs} cannot be used: ${messageOf(error)}`, { cause: error })
  }
  const driving = { run, plan, queues, barriers, blobs, census }
  let connected: readonly string[] | undefined
  const tellCensus = (): void => run.emit({ type: 'fleet', at: run.clock(), fleet: census.state(connected) })
  const look = async (): Promise<void> => {
    const [first = ''] = names
    connected = undefined
    if (redis.status === 'ready') {
      const workers = await queues.queue(first).getWorkers()
      connected = workers.map(({ rawname = '' }) => rawname.slice(rawname.indexOf(':w:') + 3))
      await queues.tellWorkers(workers.length)
    }
    tellCensus()
  }
  // Who is there is only shown: a look that fails is made up for by the next one.
  await look().catch(() => undefined)
  watching.add(interval(LOOK_MS).subscribe(() => void look().catch(() => undefined)))
  const hands: Hands = {
    work: (stage) => (item$) =>
      item$.pipe(
        // A list has to end before it is handed out.
        toArray(),
        mergeMap((items) => {
          const earlier = items.map((item) => stage.earlier(item))
          const fresh = items.filter((_, place) => earlier[place] === undefined)
          return merge(
            from(earlier.filter((settled) => settled !== undefined)),
            settledByFleet(stage, fresh, driving).pipe(tap({ complete: tellCensus })),
          )
        }),
      ),
    finish: () =>
      from(
        (async () => {
          watching.unsubscribe()
          await Promise.all([clear([...names, BARRIERS]), blobs.drop(record.run)])
          await queues.forgetWorkers()
          isOver = true
          await reins.end()
          // A program that makes one run after another begins the next one at once.
          await reins.drop()
        })(),
      ),
  }
  return { hands, close }
}
