import { createHash } from 'node:crypto'
import { filter } from 'rxjs'
import type { StreamDefinition } from '../engine/define-stream.js'
import { PUBLISHED_AT } from '../market/calendar.js'
import type { PlantedEvent } from '../model/market.js'
import { type Day, SESSION_END, SESSION_START, toInstant } from '../model/trading-day.js'
import { createRandom } from '../simulator/random.js'
import type { Change } from '../tables/diff/change.js'
import { readDiffAndRecord } from './diff-and-record.js'
import { type DailyRun, findLosses, haveSameBytes, invariants } from './invariants.js'
import { NETWORK_FAULTS } from './network.js'
import { type ExpectedDay, filesOf, instantOf, type Scenario } from './scenario.js'
import { createWorld, describeRunEnd, type Files, type Kill, SIMULATED_EXCHANGE, type SimulatedRun, type World } from './world.js'

/** When the command is started besides the daily run: before, in and after the session, and around the hours at which lists are published. */
const HOURS = ['00:10', '08:50', '09:20', '12:00', '15:25', '15:31', '15:45', '18:00', '18:30', '19:45'] as const

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
    /** When the last run began that requested something and left nothing missing, epoch milliseconds; NaN if that is unknown. */
    completedAt: Number.NEGATIVE_INFINITY,
    /** When the last run ended. */
    endedAt: Number.NEGATIVE_INFINITY,
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
  await simulateEarlierHours(session, context, simulation)
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
  // A run that was begun at an earlier hour is as of that hour: the next one requests what is due since.
  if (Date.parse(runs.at(-1)?.report?.asOf ?? '') < instantOf(day)) await start()
  const known = await readDiffAndRecord(world, day)
  // A run does not fail because its day cannot be recorded, or what diff compares with cannot be saved: it says so.
  const isWhole = runs.every(({ diskFaults }) => diskFaults === 0)
  if (!isWhole) unrecorded.add(day)
  // A session on a weekend is compared with the one before the session before.
  const isBefore = scenario.sessions.slice(Math.max(0, session - 2), session + 1).every((one) => !unrecorded.has(one))
  // On the first day, diff compares with the first run that ended.
  const isDiffed =
    session > 0 || (!context.kinds.has('hours') && runs.find(({ end }) => end === 'finished')?.report?.outcome === 'complete')
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
  const wasStale = isStale()
  let [files, again] = [filesOf(world), await start()]
  // One request may have looked whether the session is over.
  if (again.requests === 1) [files, again] = [filesOf(world), await start()]
  const wrong = again.requests > 0 ? [`${again.requests} requests`] : listChangedFiles(files, filesOf(world))
  if (!wasStale) assert('a complete folder is left as it is', wrong)
  context.completedAt = isStale() ? Number.NEGATIVE_INFINITY : instantOf(day)
  context.endedAt = scenario.time.now()
  simulation.totals.hash.update(network.digest())
  for (const [kind, count] of network.faults) increase(simulation.totals.faults, kind, count)
}

/** Starts the command at some hours before the daily run, without any fault but kills. */
const simulateEarlierHours = async (session: number, context: SeedContext, { scenario, totals, log }: Simulation): Promise<void> => {
  const { seed, world, plan, kinds } = context
  if (!kinds.has('hours')) return
  const { time, streams } = scenario
  const day = scenario.sessions[session] as Day
  const network = scenario.open(session, { random: createRandom(seed, 'hours', session), kinds: new Set(), share: 0 })
  for (const hour of HOURS.filter(() => plan.chance(0.3))) {
    const at = toInstant(day, hour) + plan.int(0, 4) * 60_000
    if (at <= context.endedAt) continue
    time.setClock(at)
    network.begin()
    // A run that is killed later takes over lists that were published since: known, and open.
    const kill = hour < SESSION_END && plan.chance(0.3) ? planKill(context) : undefined
    const before = filesOf(world)
    const run = await world.run(network, { kill, pauseMs: SETTLE_MS })
    world.disk.settle()
    context.endedAt = time.now()
    countRun(totals, run)
    increase(totals.faults, 'hours')
    log?.(`seed ${seed} ${day} ${hour}: ${describeRunEnd(run)}, ${run.requests} requests`)
    const started = { day, before, after: filesOf(world), expected: [], runs: [run], kills: [kill?.kind] }
    for (const [name, wrong] of checkHour(run, { at, day, streams, since: context.completedAt })) {
      increase(totals.checks, name)
      if (wrong.length > 0)
        throw new SimulationError(
          seed,
          { ...started, streams, exchange: SIMULATED_EXCHANGE, violations: network.violations },
          name,
          wrong,
          hour,
        )
    }
    // A run may have been killed after its end.
    if (run.end === 'killed') context.completedAt = Number.NaN
    else if (run.requests > MAX_LOOKS) context.completedAt = run.report?.outcome === 'complete' ? at : Number.NEGATIVE_INFINITY
  }
}

interface Hour {
  readonly at: number
  readonly day: Day
  readonly streams: readonly StreamDefinition[]
  /** When the folder was last made complete. */
  readonly since: number
}

/** The request that looks whether there is a session. */
const MAX_LOOKS = 1

/** What must be true of a run at any hour. */
const checkHour = ({ end, requests, left }: SimulatedRun, { at, day, streams, since }: Hour) => {
  const isOpen = at >= toInstant(day, SESSION_START) && at < toInstant(day, SESSION_END)
  const published = streams.filter(({ optional }) => !optional).map(({ publishedAt = PUBLISHED_AT }) => publishedAt)
  const changes = [SESSION_START, SESSION_END, ...published]
  const due = changes.filter((time) => since < toInstant(day, time) && toInstant(day, time) <= at)
  const isDue = isOpen || due.length > 0 || since < 0
  const isKnown = !Number.isNaN(since)
  const isWell = end === 'killed' || (end === 'finished' && left.timers + left.descriptors === 0)
  return [
    ['a run at any hour ends', isWell ? [] : [end]],
    [
      'no run says that nothing is due while something is',
      end === 'finished' && isKnown && isDue && requests === 0 ? ['nothing was requested'] : [],
    ],
    [
      'no more than one look is requested while nothing is due',
      end === 'finished' && isKnown && !isDue && requests > MAX_LOOKS ? [`${requests} requests`] : [],
    ],
  ] as const
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
