import { countWeekdays, PUBLISHED_AT } from '../market/calendar.js'
import { addDays, type Day, isWeekday, toInstant } from '../model/trading-day.js'
import { createRandom } from '../simulator/random.js'
import { listOutdatedAnswers } from './diff-and-record.js'
import { type DailyRun, listChangedFiles, listLateCandles } from './invariants.js'
import { filesOf, USUAL_HOURS } from './scenario.js'
import {
  countRun,
  increase,
  planKill,
  SETTLE_MS,
  type SeedContext,
  type Simulation,
  SimulationError,
} from './seed.js'
import { describeRunEnd, SIMULATED_EXCHANGE, type SimulatedRun } from './world.js'

/**
 * When the command is started besides the daily run: around midnight, the hours of sessions, and those at
 * which lists are published.
 */
const HOURS = '00:10 08:50 09:20 12:00 15:25 15:29 15:31 15:45 18:00 18:30 19:20 19:45 20:05 23:50'.split(' ')

/** The request that looks whether there is a session. */
const MAX_LOOKS = 1

const LAST_RECORD_ANSWERS = 'of a session under way, the last record answers'

/** A day on which the command is started at some hours, and the session whose data there is. */
interface PlannedDay {
  readonly day: Day
  readonly session: number
  /** Whether it has no session, or that one is over. */
  readonly isRest: boolean
}

/** Starts the command at some hours between two daily runs, without any fault but kills. */
export const simulateHours = async (
  session: number,
  context: SeedContext,
  simulation: Simulation,
): Promise<void> => {
  if (!context.kinds.has('hours')) return
  const { sessions } = simulation.scenario
  const day = sessions[session] as Day
  for (let rest = sessions[session - 1] ?? day; rest < day; rest = addDays(rest, 1))
    await simulateDay({ day: rest, session: session - 1, isRest: true }, context, simulation)
  await simulateDay({ day, session, isRest: false }, context, simulation)
}

const simulateDay = async (
  planned: PlannedDay,
  context: SeedContext,
  simulation: Simulation,
): Promise<void> => {
  const { day, session, isRest } = planned
  const { seed, world, plan, odd } = context
  const { scenario, totals, log } = simulation
  const { time, streams } = scenario
  const sessionDay = scenario.sessions[session] as Day
  const network = scenario.open(session, {
    random: createRandom(seed, 'hours', day),
    kinds: new Set(),
    share: 0,
    odd: odd.get(day),
  })
  for (const hour of HOURS.filter(() => plan.chance(isRest ? 0.15 : 0.3))) {
    // One run, of about a second, begins before the end of the session and ends after it.
    const at = toInstant(day, hour) + (hour === '15:29' ? 59_500 : plan.int(0, 4) * 60_000)
    if (at <= context.endedAt || (!isRest && at >= toInstant(day, '20:30'))) continue
    time.setClock(at)
    network.begin()
    // A run that is killed later has no candles either: the one after it has, which is not simulated.
    const areCandlesLate = hour < (odd.get(day)?.candlesFrom ?? '')
    const kill = plan.chance(0.3) && !areCandlesLate ? planKill(context) : undefined
    const before = filesOf(world)
    const run = await world.run(network, { kill, pauseMs: SETTLE_MS })
    world.disk.settle()
    context.endedAt = time.now()
    countRun(totals, run)
    context.reports.push(run.report)
    increase(totals.faults, 'hours')
    log?.(`seed ${seed} ${day} ${hour}: ${describeRunEnd(run)}, ${run.requests} requests`)
    const started: DailyRun = {
      day,
      before,
      after: filesOf(world),
      expected: [],
      runs: [run],
      kills: [kill?.kind],
      streams,
      exchange: SIMULATED_EXCHANGE,
      violations: network.violations,
    }
    const outdated = await listOutdatedAnswers(world, day)
    const checks = [
      ...checkHour(started, { ...planned, at, context, sessionDay }),
      [LAST_RECORD_ANSWERS, outdated] as const,
    ]
    for (const [name, wrong] of checks) {
      increase(totals.checks, name)
      if (wrong.length > 0) throw new SimulationError(seed, started, name, wrong, hour)
    }
    noteEnd(run, { at, day: sessionDay, streams }, context)
  }
}

interface Ended {
  readonly at: number
  /** Its session. */
  readonly day: Day
  readonly streams: DailyRun['streams']
}

/** Keeps what the folder is complete with. */
export const noteEnd = (run: SimulatedRun, { at, day, streams }: Ended, context: SeedContext): void => {
  const { end, requests, report } = run
  // A run may have been killed after its end.
  if (end === 'killed') context.completed = { asOf: Number.NaN, at }
  else if (requests > MAX_LOOKS) {
    const isComplete =
      report?.outcome === 'complete' &&
      report.stale === undefined &&
      listLateCandles(run, day, streams).length === 0
    context.completed = { asOf: isComplete ? Date.parse(report.asOf) : Number.NEGATIVE_INFINITY, at }
  }
}

interface Hour extends PlannedDay {
  readonly at: number
  readonly sessionDay: Day
  readonly context: SeedContext
}

/** What must be true of a run at any hour. */
const checkHour = (started: DailyRun, { day, isRest, at, context, sessionDay }: Hour) => {
  const [{ end, requests, left }] = started.runs as readonly [SimulatedRun]
  const { completed, odd } = context
  const { hours = USUAL_HOURS, isNamed = isWeekday(day) } = odd.get(day) ?? {}
  const isAfter = (instant: number, time: string) => instant >= toInstant(day, time)
  const isDue = (time: string, since: number) => isAfter(at, time) && !isAfter(since, time)
  const own = started.streams.flatMap(({ optional, publishedAt }) =>
    optional || publishedAt === undefined ? [] : [publishedAt],
  )
  const isOpen = isAfter(at, hours[0]) && !isAfter(at, hours[1])
  const hasBegun = !isRest && isAfter(at, hours[0])
  const isDueNow =
    hasBegun &&
    (isOpen ||
      [...hours, PUBLISHED_AT].some((time) => isDue(time, completed.asOf)) ||
      own.some((time) => isDue(time, completed.at)))
  const isFirst = completed.asOf === Number.NEGATIVE_INFINITY
  const isWell = end === 'killed' || (end === 'finished' && left.timers + left.descriptors === 0)
  const isJudged = end === 'finished' && !Number.isNaN(completed.asOf) && !isFirst
  // That a session with hours of its own is over shows only after some looks at it; after two unnamed
  // holidays in a row, everything is due.
  const isUnknown = isRest ? countWeekdays(addDays(sessionDay, 1), addDays(day, 1)) > 1 : hasBegun && !isNamed
  return [
    ['a run at any hour ends', isWell ? [] : [end]],
    [
      'no run says that nothing is due while something is',
      isJudged && isDueNow && !isUnknown && requests <= MAX_LOOKS ? [`${requests} requests`] : [],
    ],
    [
      'no more than one look is requested while nothing is due',
      isJudged && !isDueNow && !isUnknown && requests > MAX_LOOKS ? [`${requests} requests`] : [],
    ],
    [
      'a run that has nothing to do leaves each output as it is',
      isJudged && !isDueNow && requests <= MAX_LOOKS
        ? listChangedFiles(started.before, started.after).filter((file) => !file.startsWith('.scripstream/'))
        : [],
    ],
  ] as const
}
