import { defer, switchMap } from 'rxjs'
import { UsageError } from '../../model/errors.js'
import { exampleText } from '../help.js'
import { stocksOption } from '../options.js'
import { simulatedStocks } from '../provider.js'
import { readAsOf, readStreams, readSymbols } from '../values.js'
import type { AddCommand } from './context.js'

interface StreamInput {
  readonly config?: string
  readonly symbols?: readonly string[]
  readonly asOf?: number
  readonly simulate?: number | true
}

const examples = [
  ['scripstream stream market-news --symbols TCS', 'the news of one stock, a record a line'],
  ['scripstream stream all-ohlcv --symbols INFY | jq \'select(.Date > "2026-01")\'', 'candles, picked by another program'],
  ['scripstream stream circuit-stocks --simulate | head -3', 'made-up records; it ends when its reader does'],
] as const

const NOTES = `
Exit codes:
  0    everything was had, or the reader went away
  1    the master list could not be had
  2    wrong usage or configuration
  3    something is missing: one line on stderr for each stock says why
  130  stopped by Ctrl+C
`

export const addStream: AddCommand = (program, { shell, parts, act }) => {
  const names = parts.streams.map(({ name }) => name)
  program
    .command('stream')
    .description('Writes the records of one stream to stdout as NDJSON, as they come in; keeps nothing.')
    .argument('<stream>', 'name of the stream')
    .option('--symbols <symbols>', 'only these stocks: A,B or @FILE', readSymbols)
    .option('--as-of <iso>', '"now": a day (its evening in India) or an instant with its offset', readAsOf)
    .option('--config <file>', 'settings file (default: scripstream.config.json, if it is there)')
    .addOption(stocksOption('--simulate [stocks]', 'ask the embedded provider; 500 stocks if no number is given'))
    .addHelpText('after', exampleText(examples) + NOTES)
    .action((given: string, { config, simulate, ...run }: StreamInput) => {
      const [name = given, another] = readStreams('stream', given, names)
      if (another !== undefined) throw new UsageError(`stream: one at a time: ${name} or ${another}`)
      const flags = { name, run, config, simulate: simulatedStocks(simulate) }
      return act(defer(() => import('../stream/stream.js')).pipe(switchMap(({ streamCommand }) => streamCommand(flags, shell, parts))))
    })
}
