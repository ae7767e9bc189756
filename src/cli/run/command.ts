import { Option } from 'commander'
import { refusalCodes } from '../../market/refusal-policy.js'
import { NOTIFY_CONDITIONS } from '../../model/settings.js'
import { asOfOption } from '../as-of.js'
import { defineCommand } from '../command.js'
import { targetsFlag } from '../export/command.js'
import {
  blobsOption,
  choiceOption,
  engineOption,
  type Flag,
  flag,
  folderFlags,
  integerOption,
  jsonFlag,
  namesOption,
  readDuration,
  simulateOption,
  streamsOption,
  volatileOption,
} from '../options.js'
import { symbolsOption } from '../symbols.js'
import { progressModes } from '../terminal/progress.js'
import { type RunInput, toRunFlags } from './flags.js'
import { runCommand } from './run.js'

const LEVELS = ['silent', 'error', 'warn', 'info', 'debug', 'trace']
const MAX_PATIENCE_MS = 86_400_000

/** The flags under a title of the help. */
const underTitle = <All extends Readonly<Record<string, Flag<unknown>>>>(title: string, flags: All): All => {
  for (const one of Object.values(flags)) one.helpGroup(title)
  return flags
}

/** Flags that "scripstream help settings" shows: most have a setting. */
const rareFlags = () => {
  const flags = underTitle('More:', {
    recordLate: flag('--record-late', 'also record what is of today if --as-of names an earlier session').conflicts('history'),
    patience: new Option('--patience <time>', 'how long to wait for a host that is down: 90s, 10m, 1h (default: 5m)').argParser((text) =>
      readDuration('--patience', text, MAX_PATIENCE_MS),
    ) as Flag<number | undefined>,
    history: flag('--no-history', 'do not keep this day for queries as of a day'),
    progress: choiceOption('--progress <how>', 'how progress is shown on stderr', progressModes).default('auto'),
    allowVolatile: volatileOption(),
    logLevel: choiceOption('--log-level <level>', 'logs as NDJSON on stderr', LEVELS).default('silent'),
    notifyOn: choiceOption('--notify-on <when>', 'when to notify; each includes the ones before', NOTIFY_CONDITIONS),
    metricsFile: flag('--metrics-file <file>', 'write the metrics to this file at the end, for node_exporter: FILE.prom'),
  })
  for (const one of Object.values(flags)) one.hideHelp()
  return { ...flags, acceptShrink: flag('--accept-shrink', 'the same as --accept shrink').hideHelp() }
}

export const addRun = defineCommand({
  name: 'run',
  about: 'Runs all streams once and writes the outputs.',
  flags: ({ io, dependencies: { streams } }) => ({
    ...underTitle('What is collected:', {
      only: streamsOption('--only', 'only these streams and those that they need', streams),
      skip: streamsOption('--skip', 'all streams except these', streams),
      symbols: symbolsOption(),
      asOf: asOfOption(io),
      retryFailed: flag('--retry-failed', 'retry exactly what failed last time, of each stream').conflicts('fresh'),
      fresh: flag('--fresh', 'start from scratch: resume nothing, download again'),
      accept: namesOption('--accept', `store what these rules refuse: ${refusalCodes.join(', ')}`, {
        ...{ what: 'rule', known: refusalCodes, listedBy: '"scripstream run --help"' },
      }),
      simulate: simulateOption(),
    }),
    ...underTitle('Where it goes:', {
      ...folderFlags(),
      sink: targetsFlag('--sink <target>', 'then load it: market.duckdb, postgres://…; repeatable'),
      engine: engineOption(),
      blobs: blobsOption(),
    }),
    ...underTitle('What is shown:', {
      quiet: flag('--quiet', 'print nothing if all is well, and the brief if not').conflicts(['json', 'verbose']),
      verbose: flag('--verbose', 'name the files of each stream in the summary').conflicts('json'),
      json: jsonFlag('print only the run report, as JSON, on stdout'),
      serve: integerOption('--serve [port]', 'serve the page of the run; on a terminal until Ctrl+C', [0, 65_535]),
      metrics: integerOption('--metrics <port>', 'serve Prometheus metrics at 127.0.0.1:<port>/metrics', [1, 65_535]),
      notify: flag('--notify <whom>', 'notify a command, or an http(s) address, at the end'),
      logFile: flag('--log-file <file>', 'also write the log to this file (5 of 10 MB are kept)'),
    }),
    ...rareFlags(),
  }),
  examples: [
    ['scripstream run --simulate=50', '50 simulated stocks, to ./data'],
    ['scripstream run --only market-news --symbols INFY,TCS', 'one stream'],
    ['scripstream run --retry-failed', 'exactly what failed last time'],
  ],
  notes: () => ['More flags and all settings: scripstream help settings'],
  exits: { 3: 'something is missing, or answers have changed' },
  run: (input, { args, io, dependencies }) => runCommand(toRunFlags(input as RunInput, args), io, dependencies),
})
