import { createHash } from 'node:crypto'
import { streams as allStreams } from '../../streams/registry.js'
import type { Random } from '../model/market.js'
import { listEndpointHosts } from '../model/settings.js'
import { type Day, toInstant } from '../model/trading-day.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import { createTimeline } from '../simulator/market.js'
import { createRandom } from '../simulator/random.js'
import { type Evening, type Files, invariants } from './invariants.js'
import { createAnswers, createNetwork, NETWORK_FAULTS, type Network } from './network.js'
import { startVirtualTime, type VirtualTime } from './virtual-time.js'
import { createWorld, type Kill, ROOT, type RunEnd, type World } from './world.js'

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
export type SimulatedFault = (typeof SIMULATED_FAULTS)[number]

export interface SimulationOptions {
  /** Everything that happens follows from it: latencies, order, faults, kills. The market is the same for all seeds. */
  readonly seed: number
  /** How many seeds, from `seed` on. Default 1. */
  readonly seeds?: number | undefined
  /** How many sessions in a row, one evening each. Default 1. */
  readonly days?: number | undefined
  /** How many stocks are listed. Default 12. */
  readonly stocks?: number | undefined
  /** The streams. Default: all built-in ones. Those of your own need a `sample` at each endpoint. */
  readonly streams?: readonly StreamDefinition[] | undefined
  /** What can go wrong; of these, each seed leaves out some. Default: everything. */
  readonly faults?: readonly SimulatedFault[] | undefined
  /** A check of your own: returns what is wrong with an evening, if anything. */
  readonly check?: ((evening: Evening) => readonly string[]) | undefined
  /** Receives a line about each run. */
  readonly log?: ((line: string) => void) | undefined
}

/** What a simulation did. */
export interface SimulationResult {
  readonly seeds: number
  readonly runs: number
  readonly kills: number
  readonly requests: number
  /** How many faults of each kind there were. */
  readonly faults: Readonly<Record<string, number>>
  /** How often each invariant was checked. */
  readonly checks: Readonly<Record<string, number>>
  readonly virtualMs: number
  /** Of every request with its instant: two simulations with the same options have the same one. */
  readonly digest: string
}

/** An invariant does not hold. The message has the command that repeats it. */
export class SimulationError extends Error {
  override readonly name = 'SimulationError'
  constructor(
    readonly seed: number,
    readonly day: Day,
    readonly invariant: string,
    readonly details: readonly string[],
    repeat: string,
  ) {
    const more = details.length > 5 ? [`and ${details.length - 5} more`] : []
    super(
      `seed ${seed}, ${day}: it is not true that ${invariant}: ${[...details.slice(0, 5), ...more].join('; ')}\nRepeat it with: ${repeat}`,
    )
  }
}

const MARKET_SEED = 1
const FIRST_DAY: Day = '2026-02-12'
const EXCHANGE = 'NSE'

/**
 * Runs whole evenings of the command on virtual time: requests, retries, limits, the disk, kills and the clock are real code on a simulated
 * network, disk and process. After each evening it checks every invariant, `invariants.ts` lists them. While it runs, the timers, the clock
 * and the disk of this process are replaced; run one simulation at a time, and nothing beside it.
 *
 * @throws SimulationError if an invariant does not hold, with the command that repeats it
 * @example
 * // A stream of your own survives a hundred evenings with everything that can go wrong.
 * await simulate({ seed: 1, seeds: 100, streams: [masterData, optionChains] })
 */
export const simulate = async (options: SimulationOptions): Promise<SimulationResult> => {
  const { seed, seeds = 1, days = 1, stocks = 12, streams = allStreams, faults = SIMULATED_FAULTS } = options
  // A package that is loaded while time is virtual would take a moment of real time.
  await import('ndjson')
  const time = startVirtualTime(toInstant(FIRST_DAY, '20:30'))
  const totals = createTotals()
  try {
    const stage = createStage({ ...options, days, stocks, streams, faults, time })
    for (let one = seed; one < seed + seeds; one += 1) await simulateSeed(one, stage, totals)
    return totals.result(seeds, time.elapsed())
  } finally {
    time.restore()
  }
}

interface Scenery extends Pick<SimulationOptions, 'check' | 'log'> {
  readonly days: number
  readonly stocks: number
  readonly streams: readonly StreamDefinition[]
  readonly faults: readonly SimulatedFault[]
  readonly time: VirtualTime
}

interface Stage extends Scenery {
  readonly sessions: readonly Day[]
  /** The provider of a session. */
  readonly open: (session: number, conditions: Pick<Parameters<typeof createNetwork>[0], 'random' | 'kinds' | 'share'>) => Network
  /** The files at the end of a session without faults. */
  readonly expect: (session: number) => Promise<Files>
  /** The same of runs that begin after midnight: outputs of a period end a day later. */
  readonly expectLate: (session: number) => Promise<Files>
  readonly settings: Parameters<typeof createWorld>[0]['settings']
}

const filesOf = ({ disk }: World): Files =>
  new Map(
    [...disk.files()].flatMap(([path, bytes]) => (path.startsWith(`${ROOT}/`) ? [[path.slice(ROOT.length + 1), bytes] as const] : [])),
  )

const eveningOf = (day: Day): number => toInstant(day, '20:30')

const createStage = (options: Scenery): Stage => {
  const { days, stocks, streams, time } = options
  const marketAt = createTimeline({
    seed: MARKET_SEED,
    stocks,
    exchange: EXCHANGE,
    indices: 8,
    candleDays: 60,
    asOf: eveningOf(FIRST_DAY),
    events: days > 1,
  })
  const sessions = marketAt(toInstant('2030-01-01')).tradingDays(FIRST_DAY, '2029-12-31').slice(0, days)
  const { sheet } = marketAt(time.now())
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  const hosts = listEndpointHosts(endpoints)
  const settings = {
    hosts: Object.fromEntries(hosts.map((host) => [host, `http://${host}`])),
    sheetId: sheet.id,
    asmTabId: sheet.asmTabId,
    gsmTabId: sheet.gsmTabId,
  }
  const answers = new Map<number, ReturnType<typeof createAnswers>>()
  const open: Stage['open'] = (session, conditions) => {
    const answer = answers.get(session) ?? createAnswers(endpoints, marketAt(eveningOf(sessions[session] as Day)))
    if (answers.size > 1) answers.clear()
    answers.set(session, answer)
    return createNetwork({ ...conditions, hosts, answer })
  }
  const create = (delayMs: number): Stage['expect'] => {
    const world = createWorld({ time, random: createRandom(0, 'calm'), streams, settings })
    const snapshots: Files[] = []
    return async (session) => {
      for (let next = snapshots.length; next <= session; next += 1) {
        time.setClock(eveningOf(sessions[next] as Day) + delayMs)
        const end = await world.run(open(next, { random: createRandom(0, 'calm', next), kinds: new Set(), share: 0 }))
        if (end.report?.outcome !== 'complete') throw new Error(`a run without faults is not complete: ${describeEnd(end)}`)
        snapshots.push(filesOf(world))
      }
      return snapshots[session] as Files
    }
  }
  return { ...options, sessions, open, settings, expect: create(0), expectLate: create(4 * 3_600_000) }
}

const simulateSeed = async (seed: number, stage: Stage, totals: Totals): Promise<void> => {
  const { time, sessions, streams, settings, faults, days, stocks } = stage
  const plan = createRandom(seed, 'plan')
  const kinds = new Set(faults.filter(() => plan.chance(0.5)))
  let hasDiskFaults = false
  const onDisk = createRandom(seed, 'disk')
  const world = createWorld({
    time,
    random: onDisk,
    streams,
    settings,
    fault: (call) => {
      // A close that fails closes all the same.
      if (!hasDiskFaults || call.startsWith('close') || !onDisk.chance(1 / 1_500)) return undefined
      const fault =
        kinds.has('short-write') && call.startsWith('write') && onDisk.chance(0.3)
          ? 'short'
          : kinds.has('disk')
            ? onDisk.pick(DISK_ERRORS)
            : undefined
      if (fault) totals.count('disk')
      return fault
    },
    latencyMs: (call) => (call === 'fdatasync' ? onDisk.int(0, 8) : 0),
  })
  const share = plan.pick([0.02, 0.1, 0.3])
  for (const [session, day] of sessions.entries()) {
    const expected = [await stage.expect(session), ...(kinds.has('midnight') ? [await stage.expectLate(session)] : [])]
    const network = stage.open(session, { random: createRandom(seed, 'network', session), kinds, share })
    const check = (name: string, wrong: readonly string[]): void => {
      totals.check(name)
      if (wrong.length > 0) throw new SimulationError(seed, day, name, wrong, formatCommand({ seed, days, stocks }))
    }
    const before = filesOf(world)
    time.setClock(kinds.has('midnight') ? toInstant(day, '23:59') + 50_000 : eveningOf(day) + plan.int(0, 90) * 60_000)
    const evening = { before, expected, streams, exchange: EXCHANGE }
    const checkAll = (runs: readonly RunEnd[], kills: Evening['kills']): void => {
      const left = { timers: time.pending(), descriptors: world.disk.openDescriptors() }
      const whole: Evening = { ...evening, runs, kills, left, after: filesOf(world) }
      for (const [name, find] of invariants) check(name, find(whole))
      if (stage.check) check('the check of the caller holds', stage.check(whole))
    }
    const [runs, kills]: [RunEnd[], Evening['kills'][number][]] = [[], []]
    let latest = time.now()
    const start = async (kill?: Kill): Promise<RunEnd> => {
      const others: string[] = []
      const again = (): void =>
        world.startAgain(network, (error) => {
          others.push(error === undefined ? RAN : String(error))
        })
      const jump = (): void => time.setClock(time.now() + plan.int(-600, 600) * 1_000)
      const meanwhile = [
        ...(kinds.has('clock') ? [[jump, plan.int(1, 5_000)] as const] : []),
        ...(kinds.has('two-starts') ? [[again, plan.int(1, 900)] as const] : []),
      ]
      const run = await world.run(network, kill, meanwhile)
      check(
        'a folder is used by one run at a time',
        others.filter((message) => message === RAN),
      )
      totals.add(run)
      stage.log?.(`seed ${seed} ${day}: ${describeEnd(run)}, ${run.requests} requests`)
      ;(stage as any).onRun?.(run, world.disk.files())
      runs.push(run)
      kills.push(run.end === 'killed' ? (kill?.kind ?? 'process') : undefined)
      // The clock is right again before the next start.
      latest = Math.max(latest, time.now()) + plan.int(1, 600) * 1_000
      time.setClock(latest)
      return run
    }
    hasDiskFaults = kinds.has('disk') || kinds.has('short-write')
    for (let starts = plan.int(1, 4); starts > 0; starts -= 1) {
      network.begin()
      const { end, report } = await start(planKill(kinds, plan))
      if (end === 'finished' && report?.outcome === 'complete') break
    }
    hasDiskFaults = false
    if (runs.at(-1)?.end !== 'finished') await start()
    checkAll(runs, kills)
    // The next start on a quiet evening brings everything.
    network.calm()
    for (let tries = 3; tries > 0 && runs.at(-1)?.report?.outcome !== 'complete'; tries -= 1) await start()
    check('a quiet evening completes the folder', runs.at(-1)?.report?.outcome === 'complete' ? [] : [describeEnd(runs.at(-1))])
    checkAll(runs, kills)
    const [whole, again] = [filesOf(world), await start()]
    check('a complete folder is left as it is', again.requests > 0 && again.report?.stale === undefined ? [`${again.requests} requests`] : listChanged(whole, filesOf(world)))
    totals.digest(network.digest())
    for (const [kind, count] of network.faults) totals.count(kind, count)
  }
}

const RAN = 'a second start ran while the first one did'

const DISK_ERRORS = ['ENOSPC', 'EIO', 'EMFILE', 'EACCES'] as const

const planKill = (kinds: ReadonlySet<SimulatedFault>, plan: Random): Kill | undefined => {
  const possible = (['kill', 'power-cut'] as const).filter((kind) => kinds.has(kind))
  if (possible.length === 0 || plan.chance(0.3)) return undefined
  const kind = possible[plan.int(0, possible.length - 1)] === 'kill' ? 'process' : 'power'
  return plan.chance(0.7) ? { kind, afterCalls: plan.int(1, 3_000) } : { kind, afterMs: plan.int(1, 20_000) }
}

const describeEnd = ({ error, report, end }: Partial<RunEnd> = {}): string => {
  const problems = Object.entries(report?.scripts ?? {}).flatMap(([name, { problems }]) =>
    problems.map(({ reason }) => `${name}: ${reason}`),
  )
  return [end, report?.outcome, error === undefined ? undefined : String(error), report?.error, ...problems].filter(Boolean).join(' ')
}

const listChanged = (before: Files, after: Files): readonly string[] =>
  [...new Set([...before.keys(), ...after.keys()])].filter(
    (file) => !(before.get(file) && after.get(file)?.equals(before.get(file) as Buffer)),
  )

const formatCommand = ({ seed, days, stocks }: Pick<Stage, 'days' | 'stocks'> & { readonly seed: number }): string =>
  `npm run simulate -- --seed ${seed}${days === 1 ? '' : ` --days ${days}`}${stocks === 12 ? '' : ` --stocks ${stocks}`}`

type Totals = ReturnType<typeof createTotals>

const createTotals = () => {
  const [faults, checks] = [new Map<string, number>(), new Map<string, number>()]
  const hash = createHash('sha256')
  let [runs, kills, requests] = [0, 0, 0]
  const increase = (counts: Map<string, number>, name: string, by: number): void => void counts.set(name, (counts.get(name) ?? 0) + by)
  return {
    count: (kind: string, by = 1) => increase(faults, kind, by),
    check: (name: string) => increase(checks, name, 1),
    digest: (text: string) => void hash.update(text),
    add: (run: RunEnd) => {
      runs += 1
      kills += run.end === 'killed' ? 1 : 0
      requests += run.requests
    },
    result: (seeds: number, virtualMs: number): SimulationResult => ({
      seeds,
      runs,
      kills,
      requests,
      faults: Object.fromEntries(faults),
      checks: Object.fromEntries(checks),
      virtualMs,
      digest: hash.digest('hex'),
    }),
  }
}
