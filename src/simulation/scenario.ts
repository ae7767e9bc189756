import type { StreamDefinition } from '../engine/define-stream.js'
import { listDaysBetween } from '../market/calendar.js'
import { getOrAdd } from '../model/map.js'
import type { PlantedEvent, SampleMarket } from '../model/market.js'
import { listEndpointHosts } from '../model/settings.js'
import {
  addDays,
  type Day,
  isWeekday,
  SESSION_END,
  SESSION_START,
  toDayEnd,
  toInstant,
} from '../model/trading-day.js'
import { createTimeline, toSheetOptions } from '../simulator/market.js'
import { createRandom } from '../simulator/random.js'
import { type DiffAndRecord, readDiffAndRecord } from './diff-and-record.js'
import { createAnswers, createNetwork, type Network, type NetworkOptions } from './network.js'
import type { VirtualTime } from './virtual-time.js'
import { createWorld, describeRunEnd, type Files, ROOT, SIMULATED_EXCHANGE, type World } from './world.js'

const MARKET_SEED = 1
/** A Friday before a session on a Sunday. */
const FIRST_SESSION: Day = '2026-01-30'

/** What a run without faults leaves at the end of a session: its files, and what diff and the record say. */
export interface ExpectedDay extends DiffAndRecord {
  readonly files: Files
  /** Why it did not complete the folder. */
  readonly problem?: string
}

/** The market, and what the daily runs of a simulation have in common. */
export type Scenario = ReturnType<typeof createScenario>

interface ScenarioOptions {
  readonly time: VirtualTime
  readonly streams: readonly StreamDefinition[]
  readonly days: number
  readonly stocks: number
}

/** What is odd about a session. */
export interface OddSession {
  /** Its hours in India, if they are others, */
  readonly hours?: readonly [opens: string, ends: string]
  /**
   * and whether it is known from the beginning when it ends: one whose candles come late looks like one in
   * the evening.
   */
  readonly isNamed?: boolean
  /** When its candles appear, if not with its first trade. */
  readonly candlesFrom?: string
  /** When its lists appear, if that is before they are published. */
  readonly listsFrom?: string
}

export const USUAL_HOURS: readonly [opens: string, ends: string] = [SESSION_START, SESSION_END]
/** The last minute before any session. */
const BEFORE_SESSION = '09:14'

/** When the daily run of a session begins: all lists are published. */
export const instantOf = (day: Day): number => toInstant(day, '20:30')
export const FIRST_INSTANT = instantOf(FIRST_SESSION)

interface SessionConditions extends Pick<NetworkOptions, 'random' | 'kinds' | 'share'> {
  readonly odd?: OddSession | undefined
}

/** Builds the market and its daily runs without faults, each when it is first needed. */
export const createScenario = ({ time, streams, days, stocks }: ScenarioOptions) => {
  const options = {
    seed: MARKET_SEED,
    stocks,
    exchange: SIMULATED_EXCHANGE,
    indices: 4,
    candleDays: 40,
    asOf: FIRST_INSTANT,
  }
  const marketAt = createTimeline({ ...options, events: days > 1 })
  const sessions = marketAt(toInstant('2030-01-01')).tradingDays(FIRST_SESSION, '2029-12-31').slice(0, days)
  const hosts = listEndpointHosts(streams.flatMap((stream) => stream.endpoints))
  const urls = Object.fromEntries(hosts.map((host) => [host, `http://${host}`]))
  const settings = { hosts: urls, options: toSheetOptions(marketAt(FIRST_INSTANT).sheet) }
  const limits = countWorkers(streams)
  const last = sessions.at(-1) ?? FIRST_SESSION
  const unsteady = listUnsteady(marketAt.plan('2026-01-01', last))
  const answersAt = createAnswersAt(streams, marketAt, sessions)
  const open = (session: number, { odd, ...conditions }: SessionConditions): Network =>
    createNetwork({
      ...conditions,
      hosts,
      limits,
      stored: { isFollowing: session > 0, unsteady },
      answersAt: (now) => answersAt(session, now, odd),
    })
  const create = (delayMs: number) => {
    const world = createWorld({ time, random: createRandom(0, 'fault-free'), streams, settings })
    const expectedDays: ExpectedDay[] = []
    return async (session: number) => {
      for (let next = expectedDays.length; next <= session; next += 1) {
        world.disk.settle()
        time.setClock(instantOf(sessions[next] as Day) + delayMs)
        const network = open(next, {
          random: createRandom(0, 'fault-free', next),
          kinds: new Set(),
          share: 0,
        })
        expectedDays.push(await runWithoutFaults(world, network, sessions[next]))
      }
      return expectedDays[session] as ExpectedDay
    }
  }
  return {
    time,
    streams,
    sessions,
    settings,
    /** The weekdays between them. */
    holidays: listDaysBetween(FIRST_SESSION, last).filter((day) => isWeekday(day) && !sessions.includes(day)),
    /** What was planted, by the day from which on the answers show it. */
    planted: marketAt.plan(FIRST_SESSION, last),
    open,
    expect: create(0),
    /** The same of runs that begin after midnight: outputs of a period end a day later. */
    expectLate: create(4 * 3_600_000),
  }
}

const runWithoutFaults = async (world: World, network: Network, day?: Day): Promise<ExpectedDay> => {
  const end = await world.run(network)
  const isWhole = end.report?.outcome === 'complete' || end.report?.stale !== undefined
  const known = isWhole
    ? await readDiffAndRecord(world, day)
    : { changes: [], record: new Map(), early: [], problem: describeRunEnd(end) }
  return { files: filesOf(world), ...known }
}

/**
 * From the end of the session on the market stands still, but each list is that of the day before until it is
 * published.
 */
const createAnswersAt = (
  streams: readonly StreamDefinition[],
  marketAt: ReturnType<typeof createTimeline>,
  sessions: readonly Day[],
) => {
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  const publishedAt = new Map(
    streams.flatMap((stream) =>
      stream.endpoints.map(({ name }) => [name, stream.publishedAt ?? '00:00'] as const),
    ),
  )
  const ofCandles = streams
    .filter(({ outputs }) => outputs[0].shape === 'candles-per-item')
    .flatMap((stream) => stream.endpoints)
  const candleNames = new Set(ofCandles.map(({ name }) => name))
  const begin = (session: number) => ({
    session,
    answer: createAnswers(endpoints),
    markets: new Map<number, SampleMarket>(),
  })
  // All daily runs of a session have the same answers.
  let last = begin(0)
  return (
    session: number,
    now: number,
    { hours = USUAL_HOURS, candlesFrom = '00:00', listsFrom = '23:59' }: OddSession = {},
  ) => {
    if (last.session !== session) last = begin(session)
    const day = sessions[session] as Day
    const toMarket = (at: number) => getOrAdd(last.markets, at, () => marketAt(at))
    const isBefore = (time = '00:00') => now < toInstant(day, time)
    const [opens, ends] = hours.map((time) => toInstant(day, time)) as [number, number]
    const [usualOpens, usualEnds] = USUAL_HOURS.map((time) => toInstant(day, time)) as [number, number]
    const during = Math.round(usualOpens + ((now - opens) / (ends - opens)) * (usualEnds - usualOpens))
    const market = toMarket(
      now < opens ? Math.min(now, toInstant(day, BEFORE_SESSION)) : now < ends ? during : instantOf(day),
    )
    const earlier = toMarket(toDayEnd(addDays(day, -1)))
    const isUnpublished = (name: string) => isBefore(publishedAt.get(name)) && isBefore(listsFrom)
    const isLate = (name: string) => isUnpublished(name) || (candleNames.has(name) && isBefore(candlesFrom))
    return last.answer((name) => (now < instantOf(day) && isLate(name) ? earlier : market))
  }
}

/**
 * The symbols of stocks whose earlier candles change, or that have none, with the symbols that they get
 * later.
 */
const listUnsteady = (events: readonly PlantedEvent[]): ReadonlySet<string> => {
  const symbols = new Set<string>()
  for (const event of events) {
    if (['split', 'bonus', 'rewritten-history', 'listing'].includes(event.kind) && 'symbol' in event)
      symbols.add(event.symbol)
    if (event.kind === 'rename' && symbols.has(event.symbol)) symbols.add(event.newSymbol)
  }
  return symbols
}

/**
 * The most requests of an endpoint at once: the workers of the streams that use it. A stream with one worker
 * may ask for two lists at once.
 */
const countWorkers = (streams: readonly StreamDefinition[]): ReadonlyMap<string, number> => {
  const limits = new Map<string, number>()
  for (const { endpoints, workers } of streams)
    for (const { name } of endpoints) limits.set(name, (limits.get(name) ?? 0) + Math.max(2, workers))
  return limits
}

export const filesOf = ({ disk }: World): Files => disk.files(ROOT)
