import { setFlagsFromString } from 'node:v8'
import {
  catchError,
  defer,
  distinctUntilChanged,
  endWith,
  filter,
  finalize,
  from,
  ignoreElements,
  last,
  merge,
  type Observable,
  of,
  scan,
  share,
  switchMap,
  takeLast,
  takeUntil,
  tap,
  throttleTime,
} from 'rxjs'
import { misspelt } from '../config.js'
import { StorageError, UsageError } from '../model/errors.js'
import type { FleetState } from '../model/report.js'
import type { Engine } from '../pipeline/engine.js'
import { count, counted, rate } from './format.js'
import type { Command, Parts, Shell } from './parts.js'
import { settingsFor } from './provider.js'
import { clean } from './text.js'

/** Which fleet a command belongs to. */
export interface FleetFlags {
  readonly engine: string | undefined
  readonly blobs: string | undefined
  readonly allowVolatile: boolean
}

/** Stand in for the options: an address with a password need not be typed. */
export const FLEET_ENV = { engine: 'SCRIPSTREAM_ENGINE', blobs: 'SCRIPSTREAM_BLOBS' } as const

interface FleetPlace {
  readonly address: string
  readonly blobs: string
  readonly allowVolatile: boolean
}

/** The fleet that was asked for, by options or the environment; nothing if none was. */
export const fleetOf = ({ engine, blobs, allowVolatile }: FleetFlags, env: Shell['env']): FleetPlace | undefined => {
  const address = engine ?? env[FLEET_ENV.engine]
  const folder = blobs ?? env[FLEET_ENV.blobs]
  if (engine === '') throw new UsageError('--engine: it is empty: give redis://host:6379, or leave it out to run on this machine alone')
  if (!address) {
    const alone = blobs !== undefined ? '--blobs' : allowVolatile ? '--allow-volatile' : undefined
    if (alone !== undefined) throw new UsageError(`${alone}: it belongs to a fleet: give its --engine too, or set ${FLEET_ENV.engine}`)
    return undefined
  }
  if (!folder)
    throw new UsageError(`--engine: a fleet needs a folder that all its machines share: give it with --blobs, or in ${FLEET_ENV.blobs}`)
  return { address, blobs: folder, allowVolatile }
}

/** The engine of a run; none for this process alone. */
export const engineOf = (flags: FleetFlags, env: Shell['env'], { fleet, version }: Parts): Observable<{ readonly engine?: Engine }> =>
  defer(() => {
    const place = fleetOf(flags, env)
    return place === undefined ? of({}) : from(engineAt({ ...place, version }, fleet))
  })

/**
 * A driver waits for all its items at once, and what it hears of them would pile up until the engine, on a machine with much memory, looks
 * for garbage: it looks when the heap is 1.7 times what is held. A run that asks for itself would pay a tenth of its time for that.
 */
const calmHeap = (): void => setFlagsFromString('--heap-growing-percent=70')

/** A fleet that cannot be had is told before anything is begun. */
const engineAt = async (options: FleetPlace & { readonly version: string }, load: Parts['fleet']): Promise<{ readonly engine: Engine }> => {
  const { fleet, reachFleet } = await load()
  calmHeap()
  await reachFleet(options).catch(unusable)
  return { engine: fleet(options) }
}

/** A Redis that cannot be used is part of how a fleet is set up: nothing was begun, and whoever set it up can help. */
const unusable = (error: unknown): never => {
  throw error instanceof StorageError ? new UsageError(error.message, { cause: error }) : error
}

/** Who works for a run, on one line; nothing where no fleet does. */
export const fleetText = (fleet: FleetState | undefined, gap: string): string => {
  if (fleet === undefined) return ''
  if (fleet.isAway) return 'Redis is away: waiting for it'
  const there = fleet.workers.filter(({ isThere }) => isThere)
  if (there.length === 0) return 'no worker is there: start "scripstream worker" with this --engine and --blobs'
  const together = there.length > 1 ? ` ${paceOf(there.reduce((sum, { perSecond }) => sum + perSecond, 0))}` : ''
  const named = there.slice(0, MOST_NAMED).map(({ name, perSecond }) => `${clean(name)} ${paceOf(perSecond)}`)
  return [
    `${counted(there.length, 'worker')}${together}`,
    ...(fleet.stalled > 0 ? [`${counted(fleet.stalled, 'item')} taken over`] : []),
    ...named,
    ...(there.length > MOST_NAMED ? [`${count(there.length - MOST_NAMED)} more`] : []),
  ].join(gap)
}

const MOST_NAMED = 8

const paceOf = (perSecond: number): string => rate(perSecond, 1_000) || '0/s'

/** Who worked for a run, a line for each. */
export const fleetLines = (fleet: FleetState | undefined): readonly string[] =>
  fleet === undefined
    ? []
    : [
        ...fleet.workers.map(
          ({ name, items, perSecond, isThere }) =>
            `${clean(name)}: ${counted(items, 'item')}, ${paceOf(perSecond)}${isThere ? '' : ', gone'}`,
        ),
        ...(fleet.stalled > 0 ? [`${counted(fleet.stalled, 'item')} taken from workers that were gone or stood still`] : []),
      ]

export interface WorkerFlags extends FleetFlags {
  readonly name: string | undefined
  readonly concurrency: number | undefined
  readonly config: string | undefined
}

const TOLD_EVERY_MS = 10_000

/** Works for a fleet until a signal comes; then ends what it has in work. A second signal ends it at once. */
export const workerCommand: Command<WorkerFlags> = (flags, shell, parts) =>
  defer(() => {
    const place = fleetOf(flags, shell.env)
    if (place === undefined) throw new UsageError(`--engine: which fleet? Give its address, or set ${FLEET_ENV.engine}`)
    for (const line of misspelt(shell.env)) shell.stderr.write(`scripstream: ${clean(line)}\n`)
    const { headers } = settingsFor({ config: flags.config }, shell, parts)
    const say = (text: string): void => void shell.stderr.write(`${clean(text)}\n`)
    const signal$ = shell.signal$.pipe(share())
    let signals = 0
    const hearing = signal$.subscribe(() => {
      signals += 1
      if (signals === 1) say('Stopping: what is in work is ended first; once more stops at once, and others take it over.')
      else shell.exit(130)
    })
    return from(parts.fleet()).pipe(
      switchMap(({ fleetWorker, workerName }) => {
        const { concurrency } = flags
        const name = flags.name ?? workerName()
        const news$ = fleetWorker({
          ...place,
          headers,
          name,
          concurrency,
          version: parts.version,
          streams: parts.streams,
          stop: signal$,
        }).pipe(share())
        const items$ = news$.pipe(
          filter(({ type }) => type === 'settled'),
          scan((items) => items + 1, 0),
        )
        const nowAndThen$ = items$.pipe(throttleTime(TOLD_EVERY_MS, shell.scheduler, { leading: false, trailing: true }))
        // A worker that has ended does not wait until it is time to tell of it.
        const told$ = merge(nowAndThen$.pipe(takeUntil(news$.pipe(last(undefined, undefined)))), items$.pipe(takeLast(1))).pipe(
          distinctUntilChanged(),
          tap((items) => say(`${counted(items, 'item')} ended since it joined`)),
        )
        const lines$ = news$.pipe(
          tap((news) => {
            if (news.type === 'joined') say(`${news.name} works for the fleet at ${news.shown}; Ctrl+C ends it.`)
            if (news.type === 'run') say(`Working for run ${news.run}.`)
          }),
        )
        return merge(lines$, told$).pipe(ignoreElements(), endWith(0), catchError(unusable))
      }),
      finalize(() => hearing.unsubscribe()),
    )
  })
