import type { Random } from '../model/market.js'
import { type Day, toInstant } from '../model/trading-day.js'
import { createRandom } from '../simulator/random.js'
import { type DailyRun, type Files, invariants } from './invariants.js'
import { NETWORK_FAULTS } from './network.js'
import { isShownOn, listMisses } from './planted.js'
import { readKnown } from './read-known.js'
import { filesOf, instantOf, type Scenario, type Truth } from './scenario.js'
import type { Totals } from './totals.js'
import { createWorld, describeEnd, type Kill, SIMULATED_EXCHANGE, type SimulatedRun, type World } from './world.js'

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
] as const
/** One of the kinds of faults of a simulation. */
export type SimulatedFault = (typeof SIMULATED_FAULTS)[number]

/** An invariant does not hold. The same options, with this seed alone, repeat it. */
export class SimulationError extends Error {
  override readonly name = 'SimulationError'
  constructor(
    readonly seed: number,
    readonly dailyRun: Pick<DailyRun, 'day'> & Partial<DailyRun>,
    readonly invariant: string,
    readonly details: readonly string[],
  ) {
    const more = details.length > 5 ? [`and ${details.length - 5} more`] : []
    super(`seed ${seed}, ${dailyRun.day}: it is not true that ${invariant}: ${[...details.slice(0, 5), ...more].join('; ')}`)
  }
}

interface Simulation {
  readonly scenario: Scenario
  readonly check?: ((dailyRun: DailyRun) => readonly string[]) | undefined
  readonly log?: ((line: string) => void) | undefined
  readonly faults: readonly SimulatedFault[]
  readonly totals: Totals
}

/** The machine of a seed, and what can happen to it. */
interface Machine {
  readonly seed: number
  readonly world: World
  readonly plan: Random
  readonly kinds: ReadonlySet<SimulatedFault>
  /** The share of requests that something happens to. */
  readonly share: number
  /** Days that may lack a record; later ones may then differ. */
  readonly unrecorded: Set<Day>
  readonly setDiskFaults: (areOn: boolean) => void
}

/** Simulates all daily runs of a seed. @throws SimulationError */
export const simulateDailyRuns = async (seed: number, simulation: Simulation): Promise<void> => {
  const machine = createMachine(seed, simulation)
  simulation.log?.(`seed ${seed}: ${[...machine.kinds].join(', ')}; ${machine.share * 100} % of the requests`)
  for (const session of simulation.scenario.sessions.keys()) await simulateDailyRun(session, machine, simulation)
}

/** After this time a system has written what it holds back. */
const SETTLE_MS = 30_000

const DISK_ERRORS = ['ENOSPC', 'EIO', 'EMFILE', 'EACCES'] as const

const createMachine = (seed: number, { scenario, faults, totals }: Simulation): Machine => {
  const [plan, random] = [createRandom(seed, 'plan'), createRandom(seed, 'disk')]
  const kinds = new Set(faults.filter(() => plan.chance(0.5)))
  let areOn = false
  const fault = (call: string): string | undefined => {
    // A close that fails closes all the same.
    if (!areOn || call.startsWith('close')) return undefined
    const isShort = kinds.has('short-write') && call.startsWith('write') && random.chance(1 / 500)
    if (!isShort && !(kinds.has('disk') && random.chance(1 / 1_500))) return undefined
    totals.countFault(isShort ? 'short-write' : 'disk')
    return isShort ? 'short' : random.pick(DISK_ERRORS)
  }
  const { time, streams, settings } = scenario
  const latencyMs = (call: string): number => (call === 'fdatasync' ? random.int(0, 8) : 0)
  return {
    ...{ seed, plan, kinds },
    world: createWorld({ time, random, streams, settings, fault, latencyMs }),
    unrecorded: new Set(),
    share: plan.pick([0.02, 0.1, 0.3]),
    setDiskFaults: (on) => {
      areOn = on && (kinds.has('disk') || kinds.has('short-write'))
    },
  }
}

/** A daily run under way: the starts so far, and its checks. */
const openDailyRun = async (session: number, machine: Machine, simulation: Simulation) => {
  const { seed, world, plan, kinds, share } = machine
  const { scenario, totals, check, log } = simulation
  const { time, streams } = scenario
  const day = scenario.sessions[session] as Day
  world.disk.settle()
  const truths: readonly Truth[] = [await scenario.expect(session), ...(kinds.has('midnight') ? [await scenario.expectLate(session)] : [])]
  const network = scenario.open(session, { random: createRandom(seed, 'network', session), kinds, share })
  const [runs, kills]: [SimulatedRun[], DailyRun['kills'][number][]] = [[], []]
  const dailyRun = {
    day,
    before: filesOf(world),
    expected: truths.map(({ files }) => files),
    runs,
    kills,
    streams,
    exchange: SIMULATED_EXCHANGE,
  }
  const assert = (name: string, wrong: readonly string[]): void => {
    totals.countCheck(name)
    if (wrong.length > 0) throw new SimulationError(seed, { ...dailyRun, after: filesOf(world) }, name, wrong)
  }
  assert(
    'a run without faults is complete',
    truths.flatMap(({ problem = [] }) => problem),
  )
  let clock = kinds.has('midnight') ? toInstant(day, '23:59') + 50_000 : instantOf(day) + plan.int(0, 90) * 60_000
  return {
    ...{ day, truths, network, runs, assert },
    assertAll: (): void => {
      const left = { timers: time.pending(), descriptors: world.disk.openDescriptors() }
      const whole: DailyRun = { ...dailyRun, left, after: filesOf(world), violations: network.violations }
      for (const [name, find] of invariants) assert(name, find(whole))
      if (check) assert('the check of the caller holds', check(whole))
    },
    start: async (kill?: Kill): Promise<SimulatedRun> => {
      time.setClock(clock)
      network.begin()
      const seconds: string[] = []
      const run = await world.run(network, kill, planMeanwhile(machine, scenario, { network, seconds }))
      totals.countRun(run)
      log?.(`seed ${seed} ${day}: ${describeEnd(run)}, ${run.requests} requests`)
      assert('a folder is used by one run at a time', seconds)
      runs.push(run)
      kills.push(run.end === 'killed' ? (kill?.kind ?? 'process') : undefined)
      // The clock is right again before the next start.
      const pauseMs = plan.int(1, 600) * 1_000
      clock = Math.max(clock, time.now()) + pauseMs
      await world.pass(pauseMs)
      if (pauseMs > SETTLE_MS) world.disk.settle()
      return run
    },
    isComplete: (): boolean => runs.at(-1)?.report?.outcome === 'complete',
    /** Whether the provider stands still, so that a run has something to ask each time. */
    isStale: (): boolean => runs.at(-1)?.report?.stale !== undefined,
  }
}

/**
 * One daily run: the command is started up to four times while things go wrong, then once more if the last start did not end, and, once all is
 * quiet, until the folder is complete.
 */
const simulateDailyRun = async (session: number, machine: Machine, simulation: Simulation): Promise<void> => {
  const { scenario } = simulation
  const { world, plan, unrecorded } = machine
  const { day, truths, network, runs, assert, assertAll, start, isComplete, isStale } = await openDailyRun(session, machine, simulation)
  machine.setDiskFaults(true)
  for (let starts = plan.int(1, 4); starts > 0 && !isComplete(); starts -= 1) {
    await start(planKill(machine))
  }
  machine.setDiskFaults(false)
  if (runs.at(-1)?.end !== 'finished') await start()
  assertAll()
  network.calm()
  for (let tries = 3; tries > 0 && !isComplete(); tries -= 1) await start()
  assert('a quiet daily run completes the folder', isComplete() || isStale() ? [] : [describeEnd(runs.at(-1))])
  assertAll()
  const known = await readKnown(world, day)
  // A run does not fail because its day cannot be recorded, or what diff compares with cannot be saved: it says so.
  const isWhole = runs.every(({ diskFaults }) => diskFaults === 0)
  if (!isWhole) unrecorded.add(day)
  // A session on a weekend is compared with the one before the session before.
  const isBefore = scenario.sessions.slice(Math.max(0, session - 2), session + 1).every((one) => !unrecorded.has(one))
  if (isBefore) {
    assert('diff says what it says without faults', listOtherChanges(known.changes, truths))
    const shown = scenario.planted.filter((event) => isShownOn(event, session, scenario))
    if (shown.length > 0)
      assert(
        'each planted event is in diff once',
        shown.flatMap((event) => listMisses(event, known.changes)),
      )
  }
  if (unrecorded.size === 0) assert('each list is recorded as it is without faults', listOther(known.record, truths, day))
  const [files, wasStale, again] = [filesOf(world), isStale(), await start()]
  const wrong = again.requests > 0 ? [`${again.requests} requests`] : listChanged(files, filesOf(world))
  if (!wasStale) assert('a complete folder is left as it is', wrong)
  simulation.totals.digest(network.digest())
  for (const [kind, count] of network.faults) simulation.totals.countFault(kind, count)
}

/** What happens while a run lasts. */
const planMeanwhile = (
  { world, plan, kinds }: Machine,
  { time }: Scenario,
  { network, seconds }: { readonly network: Parameters<World['run']>[0]; readonly seconds: string[] },
): Parameters<World['run']>[2] => {
  const jump = (): void => time.setClock(time.now() + plan.int(-600, 600) * 1_000)
  const startAgain = (): void =>
    world.startAgain(network, () => {
      seconds.push('a second start sent a request while the first one ran')
    })
  return [
    ...(kinds.has('clock') ? [[jump, plan.int(1, 5_000)] as const] : []),
    ...(kinds.has('two-starts') ? [[startAgain, plan.int(1, 900)] as const] : []),
  ]
}

const planKill = ({ kinds, plan }: Machine): Kill | undefined => {
  const possible = (['kill', 'power-cut'] as const).filter((kind) => kinds.has(kind))
  if (possible.length === 0 || plan.chance(0.3)) return undefined
  const kind = possible[plan.int(0, possible.length - 1)] === 'kill' ? 'process' : 'power'
  return plan.chance(0.7) ? { kind, afterCalls: plan.int(1, 1_500) } : { kind, afterMs: plan.int(1, 5_000) }
}

const listChanged = (before: Files, after: Files): readonly string[] =>
  [...new Set([...before.keys(), ...after.keys()])].filter((file) => {
    const [one, other] = [before.get(file), after.get(file)]
    return !(one && other?.equals(one))
  })

/** The lists of a day that are recorded otherwise than without faults. */
const listOther = (record: ReadonlyMap<string, string>, truths: readonly Truth[], day: Day): readonly string[] => {
  const names = [...new Set([record, ...truths.map((truth) => truth.record)].flatMap((one) => [...one.keys()]))]
  return names.filter((name) => name.startsWith(day) && !truths.some((truth) => truth.record.get(name) === record.get(name)))
}

/** The changes that only one of both has, with a sign as in a patch. */
const listOtherChanges = (changes: readonly string[], truths: readonly Truth[]): readonly string[] => {
  if (truths.some((truth) => truth.changes.join() === changes.join())) return []
  const [expected = []] = truths.map((truth) => truth.changes)
  return [
    ...changes.filter((one) => !expected.includes(one)).map((one) => `+ ${one}`),
    ...expected.filter((one) => !changes.includes(one)).map((one) => `- ${one}`),
  ]
}
