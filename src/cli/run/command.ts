import { Option, type Command as Program } from 'commander'
import type { SettingRow } from '../../config.js'
import { refusalCodes } from '../../market/refusal-policy.js'
import { NOTIFY_CONDITIONS } from '../../model/settings.js'
import { asOfOption } from '../as-of.js'
import type { AddCommand } from '../dependencies.js'
import { readTarget, type Target } from '../export/targets.js'
import {
  blobsOption,
  engineOption,
  exampleText,
  integerOption,
  readAccept,
  readDuration,
  simulateOption,
  streamsOption,
  volatileOption,
  withFolderOptions,
} from '../options.js'
import { symbolsOption } from '../symbols.js'
import { progressModes } from '../terminal/progress.js'
import { readSize } from '../terminal/terminal.js'
import { wrap } from '../terminal/text.js'
import { type RunInput, toRunFlags } from './flags.js'
import { runCommand } from './run.js'

const LEVELS = ['silent', 'error', 'warn', 'info', 'debug', 'trace']

const examples = [
  ['scripstream run --simulate=50', '50 simulated stocks, to ./data'],
  ['scripstream run --out /srv/market', 'the provider that the environment sets'],
  ['scripstream run --only market-news --symbols INFY,TCS', 'one stream, two stocks'],
  ['scripstream run --symbols @watchlist.txt', 'one symbol per line, # starts a comment'],
  ['scripstream run --symbols @mine', 'the watchlist "mine" of the settings file'],
  ['scripstream run --as-of 2026-02-12', 'as if it were the end of that day in India'],
  ['scripstream run --retry-failed', 'retry exactly what failed last time'],
  ['scripstream run --metrics 9464', 'then, in another terminal: curl http://127.0.0.1:9464/metrics'],
  ['scripstream run --serve', 'watch the run in a browser; prints the address'],
  ['scripstream run --quiet', 'for schedulers: prints only what needs attention'],
  ['scripstream run --notify https://hooks.example/me --log-file run.log', 'posts there if something fails, and keeps a log'],
  ['scripstream run --json > report.json', 'the report as JSON; progress stays on stderr'],
] as const

const RUN_EXIT_CODES = `
Exit codes:
  0              complete
  1              the master list failed, the outputs could not be written, or
                 another run has locked the folder or the fleet
  2              wrong usage or configuration, or an unusable Redis
  3              finished, but something is missing, or answers have changed
  130, 143, 129  interrupted by Ctrl+C, TERM or a closed terminal; run the same
                 command to resume
`

export const addRun: AddCommand = (program, { args, io, dependencies, act }) => {
  const command = withFolderOptions(program.command('run').description('Runs all streams once and writes the outputs.'))
    .addOption(streamsOption('--only', 'only these streams and those that they need', dependencies.streams))
    .addOption(streamsOption('--skip', 'all streams except these', dependencies.streams))
    .addOption(symbolsOption('only these stocks, other records stay'))
    .addOption(asOfOption(io))
    .addOption(
      new Option('--record-late', 'also record what is of today if --as-of names an earlier session, marked as late').conflicts('history'),
    )
    .option('--patience <time>', 'how long to wait for a host that is down: 90s, 10m, 1h (default: 5m)', (text) =>
      readDuration('--patience', text, 86_400_000),
    )
    .addOption(new Option('--retry-failed', 'retry exactly what failed last time, of each stream').conflicts('fresh'))
    .option('--fresh', 'start from scratch: resume no unfinished run, download again after a complete one')
    .option('--no-history', 'do not keep this day for queries as of a day')
    .option('--accept <rules>', `store answers that a rule refuses: ${refusalCodes.join(', ')}`, readAccept)
    .addOption(new Option('--accept-shrink', 'the same as --accept shrink').hideHelp())
    .addOption(simulateOption())
    .option(
      '--sink <target>',
      'then load the outputs into market.duckdb, parquet:DIR, screener.xlsx or postgres://…; repeatable',
      (text: string, before: readonly Target[] = []) => [...before, readTarget('--sink', text)],
    )
    .addOption(new Option('--progress <how>', 'how progress is shown on stderr').choices(progressModes).default('auto'))
    .addOption(engineOption())
    .addOption(blobsOption())
    .addOption(volatileOption())
    .addOption(new Option('--quiet', 'print nothing if all is well, and the brief if not').conflicts(['json', 'verbose']))
    .addOption(new Option('--verbose', 'name the files of each stream in the summary').conflicts('json'))
    .option('--json', 'print only the run report, as JSON, on stdout')
  addObservers(command)
    .addHelpText(
      'after',
      () => exampleText(examples) + settingsText(dependencies.settingRows, readSize(io.stdout).columns) + RUN_EXIT_CODES,
    )
    .action((input: RunInput) => act(runCommand(toRunFlags(input, args), io, dependencies)))
}

/** The options of what follows the run. */
const addObservers = (command: Program): Program =>
  command
    .addOption(new Option('--log-level <level>', 'logs as NDJSON on stderr').choices(LEVELS).default('silent'))
    .option('--log-file <file>', 'also write the log to this file; 5 files of 10 MB are kept')
    .option('--notify <whom>', 'notify a command, or an http(s) address, when the run ends')
    .addOption(
      new Option('--notify-on <when>', 'when to notify; each includes the ones before (default: failure)').choices(NOTIFY_CONDITIONS),
    )
    .addOption(integerOption('--metrics <port>', 'serve Prometheus metrics at 127.0.0.1:<port>/metrics', [1, 65_535]))
    .option('--metrics-file <file>', 'write the metrics to this file at the end, for node_exporter: FILE.prom')
    .option('--metrics-push <url>', 'push the metrics to this Pushgateway at the end')
    .addOption(
      integerOption('--serve [port]', 'serve the page of the run, see "scripstream serve"; on a terminal until Ctrl+C', [0, 65_535]),
    )

/** All settings, with their variables and defaults. */
const settingsText = (rows: readonly SettingRow[], columns: number): string =>
  [
    '',
    ...wrap('Settings (precedence: flag, environment, file, default):', columns),
    ...rows.flatMap(({ name, env, default: usual, description }) => [
      `  ${name}${env === '' ? '' : `  (${env})`}`,
      ...wrap(`      ${description}${usual === '' ? '' : `; default ${usual}`}`, columns),
    ]),
    '',
  ].join('\n')
