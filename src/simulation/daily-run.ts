import { createHash } from 'node:crypto'
import { filter } from 'rxjs'
import type { PlantedEvent } from '../model/market.js'
import { type Day, toInstant } from '../model/trading-day.js'
import { createRandom } from '../simulator/random.js'
import type { Change } from '../tables/diff/change.js'
import { readDiffAndRecord } from './diff-and-record.js'
import { type DailyRun, findLosses, haveSameBytes, invariants } from './invariants.js'
import { NETWORK_FAULTS } from './network.js'
import { type ExpectedDay, filesOf, instantOf, type Scenario } from './scenario.js'
import { createWorld, describeRunEnd, type Files, type Kill, SIMULATED_EXCHANGE, type SimulatedRun, type World } from './world.js'

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
    readonly dailyRun: DailyRun,
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

/** What is counted over all daily runs. */
export const createTotals = () => ({
  ...{ runs: 0, kills: 0, requests: 0, hash: createHash('sha256') },
  faults: {} as Record<string, number>,
  codes: {} as Record<string, number>,
  checks: {} as Record<string, number>,
})
type Totals = ReturnType<typeof createTotals>

const increase = (counts: Record<string, number>, name: string, by = 1): void => {
  counts[name] = (counts[name] ?? 0) + by
}

const countRun = (totals: Totals, { end, requests, report }: SimulatedRun): void => {
  totals.runs += 1
  totals.kills += end === 'killed' ? 1 : 0
  totals.requests += requests
  const problems = Object.values(report?.scripts ?? {}).flatMap((script) => script.problems)
  for (const { code = 'none' } of problems) increase(totals.codes, code)
}

/** The machine of a seed, and what can happen to it. */
type SeedContext = ReturnType<typeof createSeedContext>

/** Simulates all daily runs of a seed. @throws SimulationError */
export const simulateDailyRuns = async (seed: number, simulation: Simulation): Promise<void> => {
  const context = createSeedContext(seed, simulation)
  simulation.log?.(`seed ${seed}: ${[...context.kinds].join(', ')}; ${context.share * 100} % of the requests`)
  for (const session of simulation.scenario.sessions.keys()) await simulateDailyRun(session, context, simulation)
}

/** After this time a system has written what it holds back. */
const SETTLE_MS = 30_000

const DISK_ERRORS = ['ENOSPC', 'EIO', 'EMFILE', 'EACCES'] as const

const createSeedContext = (seed: number, { scenario, faults, totals }: Simulation) => {
  const [plan, random] = [createRandom(seed, 'plan'), createRandom(seed, 'disk')]
  const kinds = new Set(faults.filter(() => plan.chance(0.5)))
  let areOn = false
  const fault = (call: string): string | undefined => {
    // A close that fails closes all the same.
    if (!areOn || call.startsWith('close')) return undefined
    const isShort = kinds.has('short-write') && call.startsWith('write') && random.chance(1 / 500)
    if (!isShort && !(kinds.has('disk') && random.chance(1 / 1_500))) return undefined
    increase(totals.faults, isShort ? 'short-write' : 'disk')
    return isShort ? 'short' : random.pick(DISK_ERRORS)
  }
  const { time, streams, settings } = scenario
  const latencyMs = (call: string): number => (call === 'fdatasync' ? random.int(0, 8) : 0)
  return {
    ...{ seed, plan, kinds },
    world: createWorld({ time, random, streams, settings, fault, latencyMs }),
    /** Days that may lack a record; later ones may then differ. */
    unrecorded: new Set<Day>(),
    /** The share of requests that something happens to. */
    share: plan.pick([0.02, 0.1, 0.3]),
    setDiskFaults: (on: boolean): void => {
      areOn = on
    },
  }
}

/** A daily run under way: the starts so far, and its checks. */
const openDailyRun = async (session: number, context: SeedContext, simulation: Simulation) => {
  const { seed, world, plan, kinds, share } = context
  const { scenario, totals, check, log } = simulation
  const { time, streams } = scenario
  const day = scenario.sessions[session] as Day
  world.disk.settle()
  const expectedDays: readonly ExpectedDay[] = [
    await scenario.expect(session),
    ...(kinds.has('midnight') ? [await scenario.expectLate(session)] : []),
  ]
  const network = scenario.open(session, { random: createRandom(seed, 'network', session), kinds, share })
  const [runs, kills]: [SimulatedRun[], DailyRun['kills'][number][]] = [[], []]
  let before = filesOf(world)
  const describe = (): DailyRun => ({
    ...{ day, before, after: filesOf(world), runs, kills, streams, exchange: SIMULATED_EXCHANGE },
    ...{ expected: expectedDays.map(({ files }) => files), violations: network.violations },
  })
  const assert = (name: string, wrong: readonly string[]): void => {
    increase(totals.checks, name)
    if (wrong.length > 0) throw new SimulationError(seed, describe(), name, wrong)
  }
  assert(
    'a run without faults is complete',
    expectedDays.flatMap(({ problem = [] }) => problem),
  )
  let clock = kinds.has('midnight') ? toInstant(day, '23:59') + 50_000 : instantOf(day) + plan.int(0, 90) * 60_000
  return {
    ...{ day, expectedDays, network, runs, assert },
    assertAll: (): void => {
      const dailyRun = describe()
      for (const [name, find] of invariants) assert(name, find(dailyRun))
      if (check) assert('the check of the caller holds', check(dailyRun))
    },
    start: async (kill?: Kill): Promise<SimulatedRun> => {
      time.setClock(clock)
      network.begin()
      before = filesOf(world)
      const seconds: string[] = []
      const pauseMs = plan.int(1, 600) * 1_000
      const run = await world.run(network, { kill, pauseMs, interventions: planInterventions(context, scenario, { network, seconds }) })
      countRun(totals, run)
      log?.(`seed ${seed} ${day}: ${describeRunEnd(run)}, ${run.requests} requests`)
      assert('a folder is used by one run at a time', seconds)
      runs.push(run)
      kills.push(run.end === 'killed' ? (kill?.kind ?? 'process') : undefined)
      // What was not synced may be lost in a power cut.
      if (kills.at(-1) !== 'power') assert('nothing good is replaced by worse', findLosses(describe()))
      // The clock is right again before the next start.
      clock = Math.max(clock + pauseMs, time.now())
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
const simulateDailyRun = async (session: number, context: SeedContext, simulation: Simulation): Promise<void> => {
  const { scenario } = simulation
  const { world, plan, unrecorded } = context
  const opened = await openDailyRun(session, context, simulation)
  const { day, expectedDays, network, runs, assert, assertAll, start, isComplete, isStale } = opened
  context.setDiskFaults(true)
  for (let starts = plan.int(1, 4); starts > 0 && !isComplete(); starts -= 1) await start(planKill(context))
  context.setDiskFaults(false)
  if (runs.at(-1)?.end !== 'finished') await start()
  assertAll()
  network.stopFaults()
  for (let tries = 3; tries > 0 && !isComplete(); tries -= 1) await start()
  assert('a quiet daily run completes the folder', isComplete() || isStale() ? [] : [describeRunEnd(runs.at(-1))])
  assertAll()
  const known = await readDiffAndRecord(world, day)
  // A run does not fail because its day cannot be recorded, or what diff compares with cannot be saved: it says so.
  const isWhole = runs.every(({ diskFaults }) => diskFaults === 0)
  if (!isWhole) unrecorded.add(day)
  // A session on a weekend is compared with the one before the session before.
  const isBefore = scenario.sessions.slice(Math.max(0, session - 2), session + 1).every((one) => !unrecorded.has(one))
  // On the first day, diff compares with the first run that ended.
  const isDiffed = session > 0 || runs.find(({ end }) => end === 'finished')?.report?.outcome === 'complete'
  if (isBefore && isDiffed) {
    assert('diff says what it says without faults', compareChanges(known.changes, expectedDays))
    const shown = scenario.planted.filter((event) => isShownOn(event, session, scenario))
    if (shown.length > 0)
      assert(
        'each planted event is in diff once',
        shown.flatMap((event) => checkPlantedEvent(event, known.changes)),
      )
  }
  if (isWhole) assert('each list is recorded as it is without faults', compareRecords(known.record, expectedDays, day))
  const [files, wasStale, again] = [filesOf(world), isStale(), await start()]
  const wrong = again.requests > 0 ? [`${again.requests} requests`] : listChangedFiles(files, filesOf(world))
  if (!wasStale) assert('a complete folder is left as it is', wrong)
  simulation.totals.hash.update(network.digest())
  for (const [kind, count] of network.faults) increase(simulation.totals.faults, kind, count)
}

const planInterventions = (
  { world, plan, kinds }: SeedContext,
  { time }: Scenario,
  { network, seconds }: { readonly network: Parameters<World['run']>[0]; readonly seconds: string[] },
) => {
  const jump = (): void => time.setClock(time.now() + plan.int(-600, 600) * 1_000)
  const startAgain = (): void =>
    void world
      .open(network)
      .events()
      .pipe(filter(({ type }) => type === 'requested'))
      .subscribe({ next: () => seconds.push('a second start sent a request while the first one ran'), error: () => undefined })
  return [
    ...(kinds.has('clock') ? [[jump, plan.int(1, 5_000)] as const] : []),
    ...(kinds.has('two-starts') ? [[startAgain, plan.int(1, 900)] as const] : []),
  ]
}

const planKill = ({ kinds, plan }: SeedContext): Kill | undefined => {
  const possible = (['kill', 'power-cut'] as const).filter((kind) => kinds.has(kind))
  if (possible.length === 0 || plan.chance(0.3)) return undefined
  const kind = possible[plan.int(0, possible.length - 1)] === 'kill' ? 'process' : 'power'
  return plan.chance(0.7) ? { kind, afterCalls: plan.int(1, 1_500) } : { kind, afterMs: plan.int(1, 5_000) }
}

const listChangedFiles = (before: Files, after: Files): readonly string[] =>
  [...new Set([...before.keys(), ...after.keys()])].filter((file) => !haveSameBytes(before.get(file), after.get(file)))

/** The lists of a day that are recorded otherwise than without faults. */
const compareRecords = (record: ReadonlyMap<string, string>, expectedDays: readonly ExpectedDay[], day: Day): readonly string[] => {
  const names = [...new Set([record, ...expectedDays.map((expectedDay) => expectedDay.record)].flatMap((one) => [...one.keys()]))]
  return names.filter(
    (name) => name.startsWith(day) && !expectedDays.some((expectedDay) => expectedDay.record.get(name) === record.get(name)),
  )
}

/** The changes that only one of both has, with a sign as in a patch. */
const compareChanges = (changes: readonly string[], expectedDays: readonly ExpectedDay[]): readonly string[] => {
  if (expectedDays.some((expectedDay) => expectedDay.changes.join() === changes.join())) return []
  const [expected = []] = expectedDays.map((expectedDay) => expectedDay.changes)
  return [
    ...changes.filter((one) => !expected.includes(one)).map((one) => `+ ${one}`),
    ...expected.filter((one) => !changes.includes(one)).map((one) => `- ${one}`),
  ]
}

/** The section and the kind of the change that shows an event; undefined: only candles show it. */
const CHANGE_OF_EVENT: Readonly<Partial<Record<PlantedEvent['kind'], readonly [Change['section'], Change['change']]>>> = {
  split: ['actions', 'new'],
  bonus: ['actions', 'new'],
  rename: ['renames', 'renamed'],
  'isin-change': ['renames', 'changed'],
  listing: ['listings', 'new'],
  delisting: ['listings', 'left'],
  'restated-quarter': ['results', 'changed'],
  'late-filing': ['filings', 'new'],
  'backdated-filing': ['filings', 'new'],
  'surveillance-entry': ['surveillance', 'entered'],
  'surveillance-exit': ['surveillance', 'left'],
}

const isWeekend = (day: Day): boolean => new Date(`${day}T00:00:00Z`).getUTCDay() % 6 === 0

/** Whether the changes of a session show an event. A run on a weekend requests nothing: it has the session before. */
const isShownOn = (event: PlantedEvent, session: number, { sessions }: Scenario): boolean => {
  const day = 'announcedOn' in event ? event.announcedOn : event.day
  const [today, before] = [sessions[session] as Day, sessions[session - 1]]
  if (session === 0 || isWeekend(today)) return false
  return day === today || (before !== undefined && isWeekend(before) && day === before)
}

/** What is wrong with how the changes show an event: nothing if one of them does. */
const checkPlantedEvent = (event: PlantedEvent, changes: readonly string[]): readonly string[] => {
  const [section, kind] = CHANGE_OF_EVENT[event.kind] ?? []
  if (section === undefined) return []
  const { symbol, ...more } = event as Extract<PlantedEvent, { readonly symbol: string }>
  const now = 'newSymbol' in more ? more.newSymbol : symbol
  const found = changes
    .map((change) => JSON.parse(change) as Change)
    .filter((change) => change.section === section && change.change === kind && [symbol, now].includes(change.symbol))
    .filter(({ detail }) => section !== 'actions' || detail.startsWith(event.kind))
  return found.length === 1 ? [] : [`${event.kind} of ${symbol} is in diff ${found.length} times`]
}
