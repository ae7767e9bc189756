import { createHash } from 'node:crypto'
import type { Random } from '../model/market.js'
import { type Day, isWeekday } from '../model/trading-day.js'
import { createRandom } from '../simulator/random.js'
import type { DailyRun } from './invariants.js'
import { NETWORK_FAULTS } from './network.js'
import type { OddSession, Scenario } from './scenario.js'
import { createWorld, type Kill, type SimulatedRun } from './world.js'

/** Everything that can go wrong: with requests, with the disk, and with the process. */
export const SIMULATED_FAULTS = [
  ...NETWORK_FAULTS,
  'disk', // a call fails: no space, an input or output error, too many open files, no permission
  'short-write', // a call writes only a part
  'kill', // the process ends between two calls of the disk, or at any instant
  'power-cut', // so does the machine: what was not synced may be lost, in any order
  'clock', // the clock is set, forwards or backwards
  'midnight', // the run begins just before midnight
  'two-starts', // the command is started once more while it runs
  'hours', // the command is also started at other hours of the day
] as const
/** One of the kinds of faults of a simulation. */
export type SimulatedFault = (typeof SIMULATED_FAULTS)[number]

/** An invariant does not hold. The same options, with this seed alone, repeat it. */
export class SimulationError extends Error {
  override readonly name = 'SimulationError'
  constructor(
    readonly seed: number,
    readonly dailyRun: DailyRun,
    readonly invariant: string,
    readonly details: readonly string[],
    hour = '',
  ) {
    const more = details.length > 5 ? [`and ${details.length - 5} more`] : []
    super(
      `seed ${seed}, ${dailyRun.day}${hour && ` ${hour}`}: it is not true that ${invariant}: ${[...details.slice(0, 5), ...more].join('; ')}`,
    )
  }
}

export interface Simulation {
  readonly scenario: Scenario
  readonly check?: ((dailyRun: DailyRun) => readonly string[]) | undefined
  readonly log?: ((line: string) => void) | undefined
  readonly faults: readonly SimulatedFault[]
  readonly totals: Totals
}

/** What is counted over all daily runs. */
export const createTotals = () => ({
  runs: 0,
  kills: 0,
  requests: 0,
  hash: createHash('sha256'),
  faults: {} as Record<string, number>,
  codes: {} as Record<string, number>,
  checks: {} as Record<string, number>,
})
type Totals = ReturnType<typeof createTotals>

export const increase = (counts: Record<string, number>, name: string, by = 1): void => {
  counts[name] = (counts[name] ?? 0) + by
}

export const countRun = (totals: Totals, { end, requests, report }: SimulatedRun): void => {
  totals.runs += 1
  totals.kills += end === 'killed' ? 1 : 0
  totals.requests += requests
  const problems = Object.values(report?.scripts ?? {}).flatMap((script) => script.problems)
  for (const { code = 'none' } of problems) increase(totals.codes, code)
}

/** The machine of a seed, and what can happen to it. */
export type SeedContext = ReturnType<typeof createSeedContext>

/** After this time a system has written what it holds back. */
export const SETTLE_MS = 30_000

const DISK_ERRORS = ['ENOSPC', 'EIO', 'EMFILE', 'EACCES'] as const

export const createSeedContext = (seed: number, { scenario, faults, totals }: Simulation) => {
  const [plan, random] = [createRandom(seed, 'plan'), createRandom(seed, 'disk')]
  const kinds = new Set(faults.filter(() => plan.chance(0.5)))
  let areOn = false
  const fault = (call: string, path: string): string | undefined => {
    // A close that fails closes all the same. All processes have one id here: only their start times tell
    // which of them was killed.
    if (!areOn || call.startsWith('close') || path.startsWith('/proc/')) return undefined
    const isShort = kinds.has('short-write') && call.startsWith('write') && random.chance(1 / 500)
    if (!isShort && !(kinds.has('disk') && random.chance(1 / 1_500))) return undefined
    increase(totals.faults, isShort ? 'short-write' : 'disk')
    return isShort ? 'short' : random.pick(DISK_ERRORS)
  }
  const { time, streams } = scenario
  const latencyMs = (call: string) => (call === 'fdatasync' ? random.int(0, 8) : 0)
  const odd = kinds.has('hours') ? planOddSessions(plan, kinds, scenario) : new Map<Day, OddSession>()
  const named = [...odd].flatMap(([day, { hours, isNamed }]) =>
    hours && isNamed ? [[day, hours.join('-')]] : [],
  )
  const areHolidaysNamed = kinds.has('hours') && plan.chance(0.5)
  const calendar = {
    sessions: Object.fromEntries(named),
    ...(areHolidaysNamed && { holidays: HOLIDAYS }),
  }
  const settings = { ...scenario.settings, ...calendar }
  const world = createWorld({ time, random, streams, settings, fault, latencyMs })
  world.disk.disk.writeFileSync(HOLIDAYS, scenario.holidays.join('\n'))
  world.disk.settle()
  return {
    seed,
    plan,
    kinds,
    world,
    odd,
    /**
     * What the folder is complete with: the instant of that run, which a resumed one keeps, and when it
     * began; NaN if that is unknown.
     */
    completed: { asOf: Number.NEGATIVE_INFINITY, at: Number.NEGATIVE_INFINITY },
    /** Of the runs since the last daily run. */
    reports: [] as (SimulatedRun['report'] | undefined)[],
    /** When the last run ended. */
    endedAt: Number.NEGATIVE_INFINITY,
    /** Days that may lack a record; later ones may then differ. */
    unrecorded: new Set<Day>(),
    /** The share of requests that something happens to. */
    share: plan.pick([0.02, 0.1, 0.3]),
    setDiskFaults: (on: boolean) => {
      areOn = on
    },
  }
}

const HOLIDAYS = '/holidays.txt'
const MUHURAT = ['18:00', '19:15'] as const

/**
 * At most one session is in the evening of what else is a holiday; the candles of some come late, and the
 * lists of some early.
 */
const planOddSessions = (
  plan: Random,
  kinds: ReadonlySet<string>,
  { sessions, planted }: Scenario,
): ReadonlyMap<Day, OddSession> => {
  const maySpecial =
    sessions.length > 1 && !kinds.has('midnight') && planted.every(({ kind }) => kind !== 'frozen-provider')
  const special = maySpecial && plan.chance(0.7) ? sessions[plan.int(1, sessions.length - 1)] : undefined
  return new Map(
    sessions.flatMap((day): readonly (readonly [Day, OddSession])[] => {
      if (day === special && isWeekday(day)) return [[day, { hours: MUHURAT, isNamed: plan.chance(0.5) }]]
      if (plan.chance(0.3)) return [[day, { listsFrom: '17:00' }]]
      return plan.chance(0.3)
        ? [[day, { candlesFrom: plan.pick(['15:40', '17:00', '19:00']), isNamed: false }]]
        : []
    }),
  )
}

export const planKill = ({ kinds, plan }: SeedContext): Kill | undefined => {
  const possible = (['kill', 'power-cut'] as const).filter((kind) => kinds.has(kind))
  if (possible.length === 0 || plan.chance(0.3)) return undefined
  const kind = possible[plan.int(0, possible.length - 1)] === 'kill' ? 'process' : 'power'
  return plan.chance(0.7) ? { kind, afterCalls: plan.int(1, 1_500) } : { kind, afterMs: plan.int(1, 5_000) }
}
