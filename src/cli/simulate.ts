import { catchError, defer, map, NEVER, type Observable, throwError } from 'rxjs'
import { z } from 'zod'
import { UsageError } from '../model/errors.js'
import { listEndpointHosts } from '../model/settings.js'
import { createLimitsSchema, Fault } from '../simulator/conditions.js'
import type { Simulator } from '../simulator/index.js'
import type { Command, ProcessIo } from './dependencies.js'
import { formatQuantity } from './format.js'
import { whileServing } from './serving.js'
import { toExitCode, untilSignal } from './signals.js'
import { readJsonFile } from './values.js'

export interface SimulateFlags {
  readonly port: number
  readonly stocks: number
  readonly seed: number
  readonly latencyMs: number
  /** Path of a JSON file with a list of faults. */
  readonly faults: string | undefined
  /** Path of a JSON file with the limits of hosts. */
  readonly limits: string | undefined
  readonly asOf: number | undefined
}

/** Runs the simulator until a signal; prints the environment variables that point to it on stdout. */
export const simulateCommand: Command<SimulateFlags> = (
  { port, stocks, seed, latencyMs, faults, limits: limitsFile, asOf },
  io,
  dependencies,
) =>
  defer(() => {
    const { exchange } = dependencies.loadSettings({ flags: {}, env: io.env, streams: dependencies.streams })
    const endpoints = dependencies.streams.flatMap((stream) => stream.endpoints)
    const faultList = faults === undefined ? [] : readFaults(faults, new Set(endpoints.map(({ name }) => name)))
    const limits = limitsFile === undefined ? {} : readJsonFile('--limits', limitsFile, createLimitsSchema(listEndpointHosts(endpoints)))
    const options = { endpoints, stocks, seed, latencyMs, faults: faultList, limits, port, asOf, exchange }
    return whileServing(
      () => dependencies.serveSimulator(options),
      (simulator) => printEnvironment(simulator, stocks, io),
    )
  }).pipe(
    catchError((error: unknown) => throwError(() => toPortError(error, port))),
    untilSignal(io.signal$),
    map(toExitCode),
  )

const printEnvironment = ({ environment, origin }: Simulator, stocks: number, { stdout, stderr }: ProcessIo): Observable<never> => {
  stdout.write(environment.map((line) => `export ${line}\n`).join(''))
  stderr.write(`Serving ${formatQuantity(stocks, 'simulated stock')} at ${origin}; press Ctrl+C to stop.\n`)
  return NEVER
}

const toPortError = (error: unknown, port: number): unknown => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') return new UsageError(`--port: port ${port} is in use; choose another one, or 0 for any free port`)
  return code === 'EACCES' ? new UsageError(`--port: port ${port} is not allowed; choose 1024 or higher`) : error
}

const readFaults = (path: string, names: ReadonlySet<string>): readonly Fault[] => {
  const faults = readJsonFile('--faults', path, z.array(Fault))
  const unknown = faults.find(({ on }) => on !== '*' && !names.has(on))
  if (unknown) throw new UsageError(`--faults: unknown endpoint "${unknown.on}" in ${path}; use ${[...names].join(', ')}, or * for all`)
  return faults
}
