import { catchError, defer, NEVER, throwError } from 'rxjs'
import { createFaultsSchema, createLimitsSchema, Fault, faultModes } from '../simulator/conditions.js'
import { defineCommand } from './command.js'
import { type Flag, flag, integerOption, parseAsOf, readJsonFile, stocksOption } from './options.js'
import { whileServing } from './provider.js'
import { toPortError } from './serve.js'
import { formatQuantity } from './terminal/text.js'

export const addSimulate = defineCommand({
  name: 'simulate',
  about: 'Serves simulated data, and prints the environment variables that point to it.',
  flags: () => ({
    port: integerOption('--port <n>', 'port on 127.0.0.1; 0 for any free port', [0, 65_535], 0),
    stocks: stocksOption('--stocks <n>', 'number of stocks', 500),
    seed: integerOption('--seed <n>', 'the same seed gives the same market', [0, 2 ** 31 - 1], 1),
    latency: integerOption('--latency <ms>', 'delay before each answer', [0, 60_000], 0),
    faults: flag('--faults <file>', 'JSON file with a list of faults'),
    limits: flag(
      '--limits <file>',
      'JSON file with the rate limit of each host (or *): {"news": {"perSecond": 50, "burst": 10}}',
    ),
    asOf: flag(
      '--as-of <iso>',
      '"now" of the market: a day (its end in India) or a timestamp with offset',
    ).argParser(parseAsOf) as Flag<unknown> as Flag<number | undefined>,
    events: flag(
      '--events',
      'a market with events: splits, renames, listings, late filings, frozen candles and others',
    ),
  }),
  examples: [
    ['scripstream simulate --port 8080 --stocks 2775', 'a whole market on port 8080'],
    [
      'scripstream simulate --faults faults.json',
      'with faults, such as [{"on":"news","mode":"hang","times":1}]',
    ],
    [
      'scripstream simulate > simulator.env',
      'then, in another terminal: . ./simulator.env && scripstream run',
    ],
  ],
  notes: [
    'Fields of a fault in a --faults file:',
    ...Object.entries(Fault.shape).map(
      ([name, schema]) =>
        `  ${name}: ${name === 'mode' ? `one of ${faultModes.join(', ')}` : (schema.description ?? '')}`,
    ),
    '',
  ],
  endsBySignal: true,
  /** Runs until a signal; prints the environment variables that point to the simulator on stdout. */
  run: (
    { latency: latencyMs, faults, limits, ...flags },
    { io, dependencies: { streams, loadSettings, serveSimulator } },
  ) =>
    defer(() => {
      const { exchange } = loadSettings({ flags: {}, env: io.env, streams })
      const endpoints = streams.flatMap((stream) => stream.endpoints)
      const options = {
        ...flags,
        endpoints,
        exchange,
        latencyMs,
        faults: faults === undefined ? [] : readJsonFile('--faults', faults, createFaultsSchema(endpoints)),
        limits: limits === undefined ? {} : readJsonFile('--limits', limits, createLimitsSchema(endpoints)),
      }
      return whileServing(
        () => serveSimulator(options),
        ({ environment, origin }) => {
          io.stdout.write(environment.map((line) => `export ${line}\n`).join(''))
          io.stderr.write(
            `Serving ${formatQuantity(flags.stocks, 'simulated stock')} at ${origin}; press Ctrl+C to stop.\n`,
          )
          return NEVER
        },
      )
    }).pipe(catchError((error: unknown) => throwError(() => toPortError(error, '--port', flags.port)))),
})
