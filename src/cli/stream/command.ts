import { defer, switchMap } from 'rxjs'
import { UsageError } from '../../model/errors.js'
import { asOfOption } from '../as-of.js'
import type { AddCommand } from '../dependencies.js'
import { exampleText, readStreams, simulateOption } from '../options.js'
import { symbolsOption } from '../symbols.js'

interface StreamInput {
  readonly config?: string
  readonly symbols?: string
  readonly asOf?: number
  readonly simulate?: number
}

const examples = [
  ['scripstream stream market-news --symbols TCS', 'the news of one stock, one record per line'],
  ['scripstream stream all-ohlcv --symbols INFY | jq \'select(.Date > "2026-01")\'', 'candles, filtered by another program'],
  ['scripstream stream circuit-stocks --simulate | head -3', 'simulated records; stops when the reader stops'],
] as const

const STREAM_HELP_EXIT_CODES = `
Exit codes:
  0    everything was fetched, or the reader closed the pipe
  1    the master list could not be fetched
  2    wrong usage or configuration
  3    something is missing; stderr has one line for each stock
  130  stopped by Ctrl+C
`

export const addStream: AddCommand = (program, { io, dependencies, act }) => {
  program
    .command('stream')
    .description('Writes the records of one stream to stdout as NDJSON, as they arrive; stores nothing.')
    .argument('<stream>', 'name of the stream')
    .addOption(symbolsOption())
    .addOption(asOfOption(io))
    .option('--config <file>', 'settings file (default: scripstream.config.json, if present)')
    .addOption(simulateOption())
    .addHelpText('after', exampleText(examples) + STREAM_HELP_EXIT_CODES)
    .action((given: string, { config, simulate, symbols, asOf }: StreamInput) => {
      const [name = given, another] = readStreams('stream', given, dependencies.streams)
      if (another !== undefined) throw new UsageError(`stream: give one stream, not several: ${name}, ${another}`)
      const flags = { name, symbols, asOf, config, simulate }
      return act(defer(() => import('./stream.js')).pipe(switchMap(({ streamCommand }) => streamCommand(flags, io, dependencies))))
    })
}
