import { setFlagsFromString } from 'node:v8'
import { defer, type Observable, of } from 'rxjs'
import type { Engine } from '../engine/run.js'
import { StorageError, UsageError } from '../model/errors.js'
import type { FleetState } from '../model/report.js'
import type { Dependencies, ProcessIo } from './dependencies.js'
import { clean, formatCount, formatQuantity, formatRate } from './terminal/text.js'

export interface FleetFlags {
  readonly engine?: string | undefined
  readonly blobs?: string | undefined
  readonly allowVolatile?: boolean | undefined
}

/** Used instead of the flags: an address with a password need not be typed. */
export const FLEET_ENV = { engine: 'SCRIPSTREAM_ENGINE', blobs: 'SCRIPSTREAM_BLOBS' } as const

/** The fleet chosen by flags or the environment; undefined without a fleet. */
export const resolveFleet = ({ engine, blobs, allowVolatile = false }: FleetFlags, env: ProcessIo['env']) => {
  const address = engine ?? env[FLEET_ENV.engine]
  const folder = blobs ?? env[FLEET_ENV.blobs]
  if (engine === '')
    throw new UsageError(
      '--engine: the address is empty; give redis://host:6379, or leave it out to run on this machine only',
    )
  if (!address) {
    const alone = blobs !== undefined ? '--blobs' : allowVolatile ? '--allow-volatile' : undefined
    if (alone !== undefined)
      throw new UsageError(`${alone}: needs a fleet; add --engine, or set ${FLEET_ENV.engine}`)
    return undefined
  }
  if (!folder)
    throw new UsageError(
      `--engine: a fleet needs a folder shared by all machines; add --blobs, or set ${FLEET_ENV.blobs}`,
    )
  return { address, blobs: folder, allowVolatile }
}

/**
 * The engine of a run; none if the run uses only this process. Reports an unreachable fleet before the run
 * starts.
 */
export const createRunEngine = (
  flags: FleetFlags,
  env: ProcessIo['env'],
  { fleet: load, version }: Dependencies,
): Observable<{ readonly engine?: Engine }> =>
  defer(() => {
    const location = resolveFleet(flags, env)
    if (location === undefined) return of({})
    return load().then(async ({ fleet, reachFleet }) => {
      // A driver waits for all items at once, and their results would pile up until V8 runs a major GC, late
      // on a machine with much memory. With this flag it runs when the heap is 1.7 times the live data. A run
      // that sends its own requests would lose a tenth of its time by it.
      setFlagsFromString('--heap-growing-percent=70')
      await reachFleet({ ...location, version }).catch(rethrowAsUsageError)
      return { engine: fleet({ ...location, version }) }
    })
  })

/** An unusable Redis is a configuration error: nothing has started yet, and the user can fix it. */
export const rethrowAsUsageError = (error: unknown): never => {
  throw error instanceof StorageError ? new UsageError(error.message, { cause: error }) : error
}

export const fleetText = (fleet: FleetState | undefined, gap: string): string => {
  if (fleet === undefined) return ''
  if (fleet.isAway) return 'Redis is down: waiting for it'
  if (fleet.refusal !== undefined) return `Redis refuses commands (${clean(fleet.refusal)}): waiting for it`
  const active = fleet.workers.filter(({ isThere }) => isThere)
  const others = othersLines(fleet)
  if (active.length === 0)
    return others[0] ?? 'no worker: start "scripstream worker" with this --engine and --blobs'
  const total =
    active.length > 1 ? ` ${formatPace(active.reduce((sum, { perSecond }) => sum + perSecond, 0))}` : ''
  const named = active
    .slice(0, MAX_WORKERS_NAMED)
    .map(({ name, perSecond }) => `${clean(name)} ${formatPace(perSecond)}`)
  return [
    `${formatQuantity(active.length, 'worker')}${total}`,
    ...(fleet.stalled > 0 ? [`${formatQuantity(fleet.stalled, 'item')} reassigned`] : []),
    ...named,
    ...(active.length > MAX_WORKERS_NAMED ? [`${formatCount(active.length - MAX_WORKERS_NAMED)} more`] : []),
    ...others,
  ].join(gap)
}

const othersLines = ({ others }: Pick<FleetState, 'others'>): readonly string[] => {
  if (others === undefined) return []
  const names = others.workers.slice(0, MAX_WORKERS_NAMED).map(clean).join(', ')
  return [
    `${formatQuantity(others.workers.length, 'worker')} of another build, install the same on both: ${names}; driver ${others.build}`,
  ]
}

const MAX_WORKERS_NAMED = 8

const formatPace = (perSecond: number): string => formatRate(perSecond, 1_000) || '0/s'

export const fleetLines = (
  { workers, stalled, ...rest }: Pick<FleetState, 'workers' | 'stalled' | 'others'> = {
    workers: [],
    stalled: 0,
  },
): readonly string[] => [
  ...workers.map(
    ({ name, items, perSecond, isThere }) =>
      `${clean(name)}: ${formatQuantity(items, 'item')}, ${formatPace(perSecond)}${isThere ? '' : ', gone'}`,
  ),
  ...(stalled > 0 ? [`${formatQuantity(stalled, 'item')} reassigned from lost or stalled workers`] : []),
  ...othersLines(rest),
]
