import { defer, filter, map, race, Subject, take, tap, throwIfEmpty } from 'rxjs'
import { callbackStorage } from '../../../sinks/memory.js'
import type { StreamDefinition } from '../../engine/define-stream.js'
import { describeWrongSymbol } from '../../market/symbols.js'
import { UsageError } from '../../model/errors.js'
import type { RunEvent } from '../../model/event.js'
import { isLost } from '../../model/outcome.js'
import { defineCommand, type Input } from '../command.js'
import {
  asOfOption,
  configFlags,
  readStreams,
  readSymbols,
  simulateOption,
  symbolsOption,
} from '../options.js'
import { withProvider } from '../provider.js'
import { OUTCOME_CODES } from '../run/ending.js'
import { clean } from '../terminal/text.js'
import { writeRecords } from './records.js'

/**
 * Writes the records of one stream to stdout as they arrive, one line of JSON each, and failures to stderr. A
 * slow reader slows down the requests; a reader that closes the pipe ends the command, which is no failure.
 */
export const addStream = defineCommand({
  name: 'stream',
  about: 'Writes the records of one stream to stdout as NDJSON, as they arrive; stores nothing.',
  args: [['<stream>', 'name of the stream']],
  flags: ({ io }) => ({
    symbols: symbolsOption(),
    asOf: asOfOption(io),
    ...configFlags(),
    simulate: simulateOption(),
  }),
  examples: [
    ['scripstream stream market-news --symbols TCS', 'the news of one stock, one record per line'],
    [
      'scripstream stream all-ohlcv --symbols INFY | jq \'select(.Date > "2026-01")\'',
      'candles, filtered by another program',
    ],
    [
      'scripstream stream circuit-stocks --simulate | head -3',
      'simulated records; stops when the reader stops',
    ],
  ],
  exits: { 3: 'something is missing; stderr has one line for each stock' },
  endsBySignal: 'at once',
  run: ({ symbols, asOf, simulate }, { io, dependencies, settings: load, typed: [given = ''] }) =>
    defer(() => {
      const { streams } = dependencies
      const [name = given, another] = readStreams('stream', given, streams)
      if (another !== undefined)
        throw new UsageError(`stream: give one stream, not several: ${name}, ${another}`)
      return withProvider({ simulate, asOf }, { settings: load(), dependencies }, ({ settings, variant }) => {
        const stream = streams.find((one) => one.name === name) as StreamDefinition
        const closed$ = new Subject<number>()
        const storage = callbackStorage(stream.outputs[0], (item) =>
          writeRecords(io.stdout, stream, item, () => closed$.next(0)),
        )
        const collector = dependencies.createCollector({
          settings,
          streams,
          storage,
          clock: () => io.scheduler.now(),
        })
        const run = { ...readSymbols(symbols, settings), ...(asOf === undefined ? {} : { asOf }) }
        const code$ = collector.events({ ...run, only: [name], ...variant }).pipe(
          tap((event) => printEvent(event, name, io)),
          filter((event) => event.type === 'run-finished'),
          map(({ report }) => OUTCOME_CODES[report.outcome]),
          throwIfEmpty(() => new Error('the stream ended without a report')),
        )
        return race(code$, closed$).pipe(take(1))
      })
    }),
})

/** One line for each lost or incomplete item, and for a failure of the stream or the run. */
const printEvent = (event: RunEvent, name: string, { stderr }: Input['io']): void => {
  const say = (text: string, kind: 'error' | 'warning' = 'error'): void =>
    void stderr.write(`${kind}: ${clean(text)}\n`)
  if (event.type === 'warning') say(`${event.stream}: ${event.text}`, 'warning')
  if (event.type === 'wrong-symbols')
    for (const wrong of event.symbols) say(`not listed, or renamed: ${describeWrongSymbol(wrong)}`)
  if (event.type === 'item-finished' && event.stream === name) {
    if (isLost(event)) say(`${event.item}: ${event.status}: ${event.reason ?? 'unknown reason'}`)
    else if (event.degraded !== undefined)
      say(`${event.item}: may be incomplete: ${event.degraded}`, 'warning')
  }
  if (event.type === 'stream-finished' && event.stream === name && event.error !== undefined)
    say(`${name} failed: ${event.error}`)
  if (event.type === 'run-finished' && event.report.error !== undefined) say(event.report.error)
}
