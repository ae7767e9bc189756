import { filter } from 'rxjs'
import type { Change } from '../model/change.js'
import type { PlantedEvent } from '../model/market.js'
import { type Day, isWeekday, toInstant } from '../model/trading-day.js'
import { createRandom } from '../simulator/random.js'
import { readDiffAndRecord } from './diff-and-record.js'
import { noteEnd, simulateHours } from './hours.js'
import { type DailyRun, findLosses, invariants, listChangedFiles, listLateCandles } from './invariants.js'
import type { Network } from './network.js'
import { type ExpectedDay, filesOf, instantOf, type Scenario } from './scenario.js'
import {
  countRun,
  createSeedContext,
  increase,
  planKill,
  SETTLE_MS,
  type SeedContext,
  type Simulation,
  SimulationError,
} from './seed.js'
import { describeRunEnd, type Kill, SIMULATED_EXCHANGE, type SimulatedRun, type World } from './world.js'

/** Simulates all daily runs of a seed. @throws SimulationError */
export const simulateDailyRuns = async (seed: number, simulation: Simulation): Promise<void> => {
  const context = createSeedContext(seed, simulation)
  simulation.log?.(`seed ${seed}: ${[...context.kinds].join(', ')}; ${context.share * 100} % of the requests`)
  for (const session of simulation.scenario.sessions.keys())
    await simulateDailyRun(session, context, simulation)
}

const RENAMED_FILE = 'master_data_response.json'

/** The starts of a daily run so far, and its checks. */
const openChecks = (
  day: Day,
  { expectedDays, network }: { readonly expectedDays: readonly ExpectedDay[]; readonly network: Network },
  { seed, world }: SeedContext,
  { scenario: { streams }, totals, check }: Simulation,
) => {
  const [runs, kills]: [SimulatedRun[], DailyRun['kills'][number][]] = [[], []]
  let before = filesOf(world)
  const describe = (): DailyRun => ({
    day,
    before,
    after: filesOf(world),
    runs,
    kills,
    streams,
    exchange: SIMULATED_EXCHANGE,
    expected: expectedDays.map(({ files }) => files),
    violations: network.violations,
  })
  const assert = (name: string, wrong: readonly string[]) => {
    increase(totals.checks, name)
    if (wrong.length > 0) throw new SimulationError(seed, describe(), name, wrong)
  }
  assert(
    'a run without faults is complete',
    expectedDays.flatMap(({ problem = [] }) => problem),
  )
  return {
    runs,
    assert,
    assertAll: () => {
      const dailyRun = describe()
      for (const [name, find] of invariants) assert(name, find(dailyRun))
      if (check) assert('the check of the caller holds', check(dailyRun))
    },
    begin: () => {
      before = filesOf(world)
    },
    add: (run: SimulatedRun, kill?: Kill) => {
      runs.push(run)
      kills.push(run.end === 'killed' ? (kill?.kind ?? 'process') : undefined)
      // What was not synced may be lost in a power cut, and a renamed column is stored, but reported.
      const losses = findLosses(describe()).filter(
        (loss) => !(network.faults.has('renamed') && loss.startsWith(RENAMED_FILE)),
      )
      if (kills.at(-1) !== 'power') assert('nothing good is replaced by worse', losses)
    },
  }
}

/** A daily run under way. */
const openDailyRun = async (session: number, context: SeedContext, simulation: Simulation) => {
  const { seed, world, plan, kinds, share, odd } = context
  const { scenario, totals, log } = simulation
  const { time } = scenario
  const day = scenario.sessions[session] as Day
  world.disk.settle()
  const expectedDays: readonly ExpectedDay[] = [
    await scenario.expect(session),
    ...(kinds.has('midnight') ? [await scenario.expectLate(session)] : []),
  ]
  const network = scenario.open(session, {
    random: createRandom(seed, 'network', session),
    kinds,
    share,
    odd: odd.get(day),
  })
  const { begin, add, ...checks } = openChecks(day, { expectedDays, network }, context, simulation)
  const { runs, assert } = checks
  let clock = kinds.has('midnight')
    ? toInstant(day, '23:59') + 50_000
    : instantOf(day) + plan.int(0, 90) * 60_000
  return {
    day,
    expectedDays,
    network,
    ...checks,
    start: async (kill?: Kill, waitMs = 0): Promise<SimulatedRun> => {
      clock += waitMs
      time.setClock(clock)
      network.begin()
      begin()
      const seconds: string[] = []
      const pauseMs = plan.int(1, 600) * 1_000
      const run = await world.run(network, {
        kill,
        pauseMs,
        interventions: planInterventions(context, scenario, { network, seconds }),
      })
      countRun(totals, run)
      context.reports.push(run.report)
      log?.(`seed ${seed} ${day}: ${describeRunEnd(run)}, ${run.requests} requests`)
      assert('a folder is used by one run at a time', seconds)
      add(run, kill)
      // The clock is right again before the next start.
      clock = Math.max(clock + pauseMs, time.now())
      if (pauseMs > SETTLE_MS) world.disk.settle()
      return run
    },
    isComplete: () => runs.at(-1)?.report?.outcome === 'complete',
    /** Whether the provider stands still, so that a run has something to ask each time. */
    isStale: () => runs.at(-1)?.report?.stale !== undefined,
  }
}

/**
 * One daily run: the command is started up to four times while things go wrong, then once more if the last
 * start did not end, and, once all is quiet, until the folder is complete.
 */
const simulateDailyRun = async (
  session: number,
  context: SeedContext,
  simulation: Simulation,
): Promise<void> => {
  const { scenario } = simulation
  const { streams } = scenario
  const { world, plan } = context
  context.reports.length = 0
  await simulateHours(session, context, simulation)
  const opened = await openDailyRun(session, context, simulation)
  const { day, network, runs, assert, assertAll, start, isComplete, isStale } = opened
  context.setDiskFaults(true)
  for (let starts = plan.int(1, 4); starts > 0 && !isComplete(); starts -= 1) await start(planKill(context))
  context.setDiskFaults(false)
  if (runs.at(-1)?.end !== 'finished') await start()
  // What a run has of a session whose end nobody named may be replaced by a later one.
  const mayChange = !isWeekday(day) || context.odd.get(day)?.isNamed === false
  if (!mayChange) assertAll()
  network.stopFaults()
  for (let tries = 3; tries > 0 && !isComplete(); tries -= 1) await start()
  assert(
    'a quiet daily run completes the folder',
    isComplete() || isStale() ? [] : [describeRunEnd(runs.at(-1))],
  )
  if (!mayChange) assertAll()
  // A run that was begun at an earlier hour is as of that hour: the next one requests what is due since.
  if (Date.parse(runs.at(-1)?.report?.asOf ?? '') < instantOf(day)) await start()
  // It is over once its candle stands still.
  for (let tries = 4; tries > 0 && mayChange; tries -= 1)
    if ((await start(undefined, UNCHANGED_MS)).requests <= 1) break
  assertAll()
  assert(
    'the evening of a session has its candles',
    isStale() ? [] : listLateCandles(runs.at(-1), day, scenario.streams),
  )
  await checkKnown(session, opened, { context, scenario })
  const wasStale = isStale()
  let [files, again] = [filesOf(world), await start()]
  // One request may have looked whether the session is over.
  if (again.requests === 1) [files, again] = [filesOf(world), await start()]
  const wrong = again.requests > 0 ? [`${again.requests} requests`] : listChangedFiles(files, filesOf(world))
  if (!wasStale) assert('a complete folder is left as it is', wrong)
  noteEnd(
    runs.findLast(({ requests }) => requests > 1) ?? again,
    { at: instantOf(day), day, streams },
    context,
  )
  context.endedAt = scenario.time.now()
  simulation.totals.hash.update(network.digest())
  for (const [kind, count] of network.faults) increase(simulation.totals.faults, kind, count)
}

interface Simulated {
  readonly context: SeedContext
  readonly scenario: Scenario
}

/** Checks what readers of the folder say of the day. */
const checkKnown = async (
  session: number,
  { day, expectedDays, runs, assert }: Awaited<ReturnType<typeof openDailyRun>>,
  { context, scenario }: Simulated,
): Promise<void> => {
  const { world, unrecorded } = context
  const known = await readDiffAndRecord(world, day)
  // A run does not fail because its day cannot be recorded, or what diff compares with cannot be saved: it
  // says so.
  const isWhole = runs.every(({ diskFaults }) => diskFaults === 0)
  if (!isWhole) unrecorded.add(day)
  const isBefore = scenario.sessions
    .slice(Math.max(0, session - 1), session + 1)
    .every((one) => !unrecorded.has(one))
  // On the first day, diff compares with the first run that ended.
  const isDiffed =
    session > 0 ||
    (!context.kinds.has('hours') &&
      runs.find(({ end }) => end === 'finished')?.report?.outcome === 'complete')
  if (isBefore && isDiffed) {
    assert('diff says what it says without faults', compareChanges(known.changes, expectedDays))
    const shown = scenario.planted.filter((event) => isShownOn(event, session, scenario))
    if (shown.length > 0)
      assert(
        'each planted event is in diff once',
        shown.flatMap((event) => checkPlantedEvent(event, known.changes)),
      )
    // It was announced on an earlier day.
    const effective = scenario.planted.filter((event) => event.day === day)
    assert(
      'a split or bonus is the reason for a new history',
      effective.flatMap((event) => checkReason(event, context.reports)),
    )
  }
  const early = known.early.filter((name) => name.startsWith(day))
  if (isWhole) assert('the record of a list that answers was collected after it was published', early)
  // Past midnight the border between past and coming actions moves: both files may be right, but not of one
  // instant.
  const isSplit = (name: string) => context.kinds.has('midnight') && name.endsWith(' corporate_actions')
  const wrongLists = compareWithExpected(known.record, expectedDays, day).filter((name) => !isSplit(name))
  if (isWhole) assert('each list is recorded as it is without faults', wrongLists)
}

const planInterventions = (
  { world, plan, kinds }: SeedContext,
  { time }: Scenario,
  { network, seconds }: { readonly network: Parameters<World['run']>[0]; readonly seconds: string[] },
) => {
  const jump = () => time.setClock(time.now() + plan.int(-600, 600) * 1_000)
  const startAgain = (): void =>
    void world
      .open(network)
      .events()
      .pipe(filter(({ type }) => type === 'requested'))
      .subscribe({
        next: () => seconds.push('a second start sent a request while the first one ran'),
        error: () => undefined,
      })
  return [
    ...(kinds.has('clock') ? [[jump, plan.int(1, 5_000)] as const] : []),
    ...(kinds.has('two-starts') ? [[startAgain, plan.int(1, 900)] as const] : []),
  ]
}

const UNCHANGED_MS = 15 * 60_000

/** The lists of a day that are recorded otherwise than without faults. */
const compareWithExpected = (
  record: ReadonlyMap<string, string>,
  expectedDays: readonly ExpectedDay[],
  day: Day,
): readonly string[] => {
  const names = [
    ...new Set(
      [record, ...expectedDays.map((expectedDay) => expectedDay.record)].flatMap((one) => [...one.keys()]),
    ),
  ]
  return names.filter(
    (name) =>
      name.startsWith(day) &&
      !expectedDays.some((expectedDay) => expectedDay.record.get(name) === record.get(name)),
  )
}

/** The changes that only one of both has, with a sign as in a patch. */
const compareChanges = (
  changes: readonly string[],
  expectedDays: readonly ExpectedDay[],
): readonly string[] => {
  if (expectedDays.some((expectedDay) => expectedDay.changes.join() === changes.join())) return []
  const [expected = []] = expectedDays.map((expectedDay) => expectedDay.changes)
  return [
    ...changes.filter((one) => !expected.includes(one)).map((one) => `+ ${one}`),
    ...expected.filter((one) => !changes.includes(one)).map((one) => `- ${one}`),
  ]
}

/** The section and the kind of the change that shows an event; undefined: only candles show it. */
const CHANGE_OF_EVENT: Readonly<
  Partial<Record<PlantedEvent['kind'], readonly [Change['section'], Change['change']]>>
> = {
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

/** Whether the changes of a session show an event. */
const isShownOn = (event: PlantedEvent, session: number, { sessions }: Scenario): boolean =>
  session > 0 && sessions[session] === ('announcedOn' in event ? event.announcedOn : event.day)

/** A split or bonus of which no report says that the history of the stock was fetched again for it. */
const checkReason = (event: PlantedEvent, reports: SeedContext['reports']): readonly string[] => {
  if (event.kind !== 'split' && event.kind !== 'bonus') return []
  const rewritten = reports.flatMap((report) => report?.scripts['all-ohlcv']?.rewritten ?? [])
  const isNamed = rewritten.some(({ item, reason }) => item === event.symbol && reason.includes(event.kind))
  return isNamed ? [] : [`${event.kind} of ${event.symbol}`]
}

/** What is wrong with how the changes show an event: nothing if one of them does. */
const checkPlantedEvent = (event: PlantedEvent, changes: readonly string[]): readonly string[] => {
  const [section, kind] = CHANGE_OF_EVENT[event.kind] ?? []
  if (section === undefined) return []
  const { symbol, ...more } = event as Extract<PlantedEvent, { readonly symbol: string }>
  const now = 'newSymbol' in more ? more.newSymbol : symbol
  const found = changes
    .map((change) => JSON.parse(change) as Change)
    .filter(
      (change) =>
        change.section === section && change.change === kind && [symbol, now].includes(change.symbol),
    )
    .filter(({ detail }) => section !== 'actions' || detail.startsWith(event.kind))
  return found.length === 1 ? [] : [`${event.kind} of ${symbol} is in diff ${found.length} times`]
}
