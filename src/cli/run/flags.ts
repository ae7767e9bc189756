import type { RunOptions } from '../../collector.js'
import { refusalCodes } from '../../market/refusal-policy.js'
import { omitUndefined } from '../../model/row.js'
import { NOTIFY_CONDITIONS, type Settings } from '../../model/settings.js'
import type { FlagValues } from '../command.js'
import type { CommandContext } from '../dependencies.js'
import { targetsFlag } from '../export/targets.js'
import * as options from '../options.js'
import { progressModes } from '../terminal/progress.js'

const { choiceOption, flag, integerOption } = options

const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug', 'trace'] as const

const underTitle = <All extends options.Flags>(title: string, flags: All): All => {
  for (const one of Object.values(flags)) one.helpGroup(title)
  return flags
}

/** Flags that "scripstream help settings" shows: most have a setting. */
const rareFlags = () => {
  const flags = underTitle('More:', {
    recordLate: flag(
      '--record-late',
      'also record what is of today if --as-of names an earlier session',
    ).conflicts('history'),
    patience: flag(
      '--patience <time>',
      'how long to wait for a host that is down or refuses: 90s, 10m, 1h (default: 5m)',
    ),
    history: flag('--no-history', 'do not keep this day for queries as of a day'),
    progress: choiceOption('--progress <how>', 'how progress is shown on stderr', progressModes).default(
      'auto',
    ),
    allowVolatile: options.volatileOption(),
    logLevel: choiceOption('--log-level <level>', 'logs as NDJSON on stderr', LOG_LEVELS).default('silent'),
    notifyOn: choiceOption(
      '--notify-on <when>',
      'when to notify; each includes the ones before',
      NOTIFY_CONDITIONS,
    ),
    metricsFile: flag(
      '--metrics-file <file>',
      'write the metrics to this file at the end, for node_exporter: FILE.prom',
    ),
  })
  for (const one of Object.values(flags)) one.hideHelp()
  return flags
}

export const runFlags = ({ io, dependencies: { streams } }: CommandContext) => ({
  ...underTitle('What is collected:', {
    ...options.selectionFlags(streams, io),
    fresh: flag('--fresh', 'start from scratch: resume nothing, download again'),
    accept: options.namesOption('--accept', `store what these rules refuse: ${refusalCodes.join(', ')}`, {
      what: 'rule',
      known: refusalCodes,
      listedBy: '"scripstream run --help"',
    }),
    simulate: options.simulateOption(),
  }),
  ...underTitle('Where it goes:', {
    ...options.folderFlags(),
    sink: targetsFlag('--sink <target>', 'then load it: market.duckdb, postgres://…; repeatable'),
    engine: options.engineOption(),
    blobs: options.blobsOption(),
  }),
  ...underTitle('What is shown:', {
    dryRun: flag('--dry-run', 'say what the run would request and take, and send nothing').conflicts('quiet'),
    quiet: flag('-q, --quiet', 'print nothing if all is well, and the summary if not').conflicts('json'),
    json: options.jsonFlag('print only the run report, as JSON, on stdout'),
    serve: integerOption(
      '--serve [port]',
      'serve the page of the run; on a terminal until Ctrl+C',
      [0, 65_535],
    ) as options.Flag<number | true | undefined>,
    metrics: integerOption(
      '--metrics <port>',
      'serve Prometheus metrics at 127.0.0.1:<port>/metrics',
      [1, 65_535],
    ),
    notify: flag('--notify <whom>', 'notify a command, or an http(s) address, at the end'),
    logFile: flag('--log-file <file>', 'also write the log to this file'),
  }),
  ...rareFlags(),
})

export type RunFlags = Partial<FlagValues<ReturnType<typeof runFlags>>>

export const toRunOptions = (flags: RunFlags, settings: Settings): RunOptions => {
  const { only, skip, asOf, recordLate, fresh, accept } = flags
  const given = omitUndefined({ only, skip, asOf, recordLate, fresh, accept })
  return { ...given, ...options.readSymbols(flags.symbols, settings) }
}
