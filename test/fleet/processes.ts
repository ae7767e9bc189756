import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { onTestFailed, onTestFinished } from 'vitest'
import type { RunReport } from '../../src/model/report.js'
import type { Simulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'
import { type Ended, endOf, provider, run, start } from '../e2e/command.js'
import { temporaryFolder } from '../support/folders.js'
import { createTestFleet, type TestFleet, waitUntil } from './support.js'

/** Number of stocks and latency; `npm run test:fleet` uses higher values. */
export const STOCKS = Number(process.env.STOCKS ?? 24)
export const LATENCY_MS = Number(process.env.LATENCY ?? 20)

export const FIRST_RUN_AT = '2026-02-12T20:00:00+05:30'
/** A stock split takes effect on this day. */
export const SECOND_RUN_AT = '2026-02-13T20:00:00+05:30'

export interface RunningProcess {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** Its stderr so far. */
  readonly stderr: () => string
}

export interface FleetPlace extends TestFleet {
  readonly simulator: Simulator
  readonly out: string
  readonly blobs: string
  readonly worker: (name: string, flags?: readonly string[]) => RunningProcess
  /** A driver, which starts or resumes a run. */
  readonly driver: (flags?: readonly string[]) => RunningProcess
  /** The same run in one process, into a separate folder. */
  readonly runInProcess: (flags?: readonly string[], out?: string) => Promise<string>
}

const startProcess = (
  args: readonly string[],
  place: { cwd: string; env: Record<string, string> },
): RunningProcess => {
  const child = start(args, place)
  let log = ''
  child.stderr.on('data', (text: Buffer) => {
    log += text.toString()
  })
  onTestFailed(() =>
    console.error(
      `${args.slice(0, 3).join(' ')} (${child.exitCode ?? child.signalCode ?? 'running'}):\n${log}`,
    ),
  )
  onTestFinished(() => {
    child.kill('SIGCONT')
    child.kill('SIGKILL')
  })
  return { child, ended: endOf(child), stderr: () => log }
}

/** A simulator, a fleet prefix and folders, all removed after the test. */
export const createFleetPlace = async (
  options: {
    readonly server?: string
    readonly latencyMs?: number
    readonly env?: Record<string, string>
  } = {},
): Promise<FleetPlace> => {
  const { simulator, env } = await provider({
    stocks: STOCKS,
    candleDays: 60,
    asOf: Date.parse(FIRST_RUN_AT),
    latencyMs: options.latencyMs ?? LATENCY_MS,
  })
  const [cwd, out, blobs] = [temporaryFolder(), temporaryFolder(), temporaryFolder()]
  const met = createTestFleet(options.server)
  const place = { cwd, env: { ...env, ...options.env } }
  const fleet = ['--engine', met.address, '--blobs', blobs, '--allow-volatile']
  return {
    ...met,
    simulator,
    out,
    blobs,
    worker: (name, flags = []) => startProcess(['worker', '--name', name, ...fleet, ...flags], place),
    driver: (flags = []) =>
      startProcess(['run', '--as-of', FIRST_RUN_AT, '--json', '--out', out, ...fleet, ...flags], place),
    runInProcess: async (flags = [], into = temporaryFolder()) => {
      const { code, stderr } = await run(['run', '--as-of', FIRST_RUN_AT, '--out', into, ...flags], place)
      if (code !== 0) throw new Error(stderr)
      return into
    },
  }
}

export const readReport = (out: string): RunReport =>
  JSON.parse(readFileSync(`${out}/.scripstream/report.json`, 'utf8')) as RunReport

/** Resolves once workers have joined. */
export const waitUntilJoined = (workers: readonly RunningProcess[]): Promise<void> =>
  waitUntil(() => workers.every(({ stderr: log }) => log().includes('works for the fleet')))

/** Number of requests to an endpoint so far. */
export const countRequests = ({ simulator }: Pick<FleetPlace, 'simulator'>, endpoint: string): number =>
  simulator.stats().endpoints[endpoint]?.requests ?? 0

/** Endpoints that had more requests in flight than their streams allow. */
export const findExceededLimits = ({ simulator }: Pick<FleetPlace, 'simulator'>): readonly string[] =>
  Object.entries(simulator.stats().endpoints).flatMap(([name, { maxInFlight }]) => {
    const cap = streams
      .filter(({ endpoints }) => endpoints.some((endpoint) => endpoint.name === name))
      .reduce((sum, { workers }) => sum + workers, 0)
    return maxInFlight > cap ? [`${name}: ${maxInFlight} instead of ${cap}`] : []
  })
