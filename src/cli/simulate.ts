import { catchError, defer, map, NEVER, type Observable, throwError } from 'rxjs'
import { createFaultsSchema, createLimitsSchema, Fault, faultModes } from '../simulator/conditions.js'
import type { Simulator } from '../simulator/index.js'
import { readAsOf } from './as-of.js'
import type { AddCommand, Command, ProcessIo } from './dependencies.js'
import { exampleText, integerOption, readJsonFile, stocksOption } from './options.js'
import { whileServing } from './provider.js'
import { toPortError } from './serve/page-server.js'
import { toExitCode, untilSignal } from './signals.js'
import { formatQuantity } from './terminal/format.js'
import { readSize } from './terminal/terminal.js'
import { wrap } from './terminal/text.js'

interface SimulateFlags {
  readonly port: number
  readonly stocks: number
  readonly seed: number
  readonly latency: number
  /** Path of a JSON file with a list of faults. */
  readonly faults?: string
  /** Path of a JSON file with the limits of hosts. */
  readonly limits?: string
  readonly asOf?: number
  readonly events?: boolean
}

const examples = [
  ['scripstream simulate --port 8080 --stocks 2775', 'a whole market on port 8080'],
  ['scripstream simulate --faults faults.json', 'with faults, such as [{"on":"news","mode":"hang","times":1}]'],
  ['scripstream simulate > simulator.env', 'then, in another terminal: . ./simulator.env && scripstream run'],
] as const

export const addSimulate: AddCommand = (program, { io, dependencies, act }) => {
  program
    .command('simulate')
    .description('Starts the simulator and prints the environment variables that point to it.')
    .addOption(integerOption('--port <n>', 'port on 127.0.0.1; 0 for any free port', [0, 65_535]).default(0))
    .addOption(stocksOption('--stocks <n>', 'number of stocks').default(500))
    .addOption(integerOption('--seed <n>', 'the same seed gives the same market', [0, 2 ** 31 - 1]).default(1))
    .addOption(integerOption('--latency <ms>', 'delay before each answer', [0, 60_000]).default(0))
    .option('--faults <file>', 'JSON file with a list of faults')
    .option('--limits <file>', 'JSON file with the rate limit of each host (or *): {"news": {"perSecond": 50, "burst": 10}}')
    .option('--as-of <iso>', '"now" of the market: a day (its end in India) or a timestamp with offset', readAsOf)
    .option('--events', 'a market with events: splits, renames, listings, late filings, frozen candles and others')
    .addHelpText('after', () => exampleText(examples) + faultsText(readSize(io.stdout).columns))
    .action((flags: SimulateFlags) => act(simulateCommand(flags, io, dependencies)))
}

/** Runs the simulator until a signal; prints the environment variables that point to it on stdout. */
const simulateCommand: Command<SimulateFlags> = ({ latency, faults, limits, ...flags }, io, dependencies) =>
  defer(() => {
    const { exchange } = dependencies.loadSettings({ flags: {}, env: io.env, streams: dependencies.streams })
    const endpoints = dependencies.streams.flatMap((stream) => stream.endpoints)
    const options = {
      ...{ ...flags, endpoints, exchange, latencyMs: latency },
      faults: faults === undefined ? [] : readJsonFile('--faults', faults, createFaultsSchema(endpoints)),
      limits: limits === undefined ? {} : readJsonFile('--limits', limits, createLimitsSchema(endpoints)),
    }
    return whileServing(
      () => dependencies.serveSimulator(options),
      (simulator) => printEnvironment(simulator, flags.stocks, io),
    )
  }).pipe(
    catchError((error: unknown) => throwError(() => toPortError(error, '--port', flags.port))),
    untilSignal(io.signal$),
    map(toExitCode),
  )

const printEnvironment = ({ environment, origin }: Simulator, stocks: number, { stdout, stderr }: ProcessIo): Observable<never> => {
  stdout.write(environment.map((line) => `export ${line}\n`).join(''))
  stderr.write(`Serving ${formatQuantity(stocks, 'simulated stock')} at ${origin}; press Ctrl+C to stop.\n`)
  return NEVER
}

/** The fields of an entry of a `--faults` file. */
const faultsText = (columns: number): string =>
  [
    '',
    'Fields of a fault in a --faults file:',
    ...Object.entries(Fault.shape).flatMap(([name, schema]) =>
      wrap(`  ${name}: ${name === 'mode' ? `one of ${faultModes.join(', ')}` : (schema.description ?? '')}`, columns),
    ),
    '',
  ].join('\n')
