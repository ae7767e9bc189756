import type { SettingRow } from '../config.js'
import { Fault, faultModes } from '../simulator/faults.js'
import { wrap } from './text.js'

export const examples = {
  program: [
    ['scripstream run --simulate', 'the whole graph on made-up data, nothing to set up'],
    ['scripstream run', 'the whole graph on the provider that is set'],
    ['scripstream run --help', 'options and settings of a run'],
  ],
  run: [
    ['scripstream run --simulate=50', '50 made-up stocks, to ./data'],
    ['scripstream run --out /srv/market', 'ask the provider that the environment names'],
    ['scripstream run --only market-news --symbols INFY,TCS', 'two stocks of one stream'],
    ['scripstream run --symbols @watchlist.txt', 'one symbol per line, # starts a comment'],
    ['scripstream run --as-of 2026-02-12', 'as if it were the end of that day in India'],
    ['scripstream run --json > report.json', 'the report for programs; progress stays on stderr'],
  ],
  simulate: [
    ['scripstream simulate --port 8080 --stocks 2775', 'a whole market on a port of your choice'],
    ['scripstream simulate --faults faults.json', 'with faults, such as [{"on":"news","mode":"hang","times":1}]'],
    ['scripstream simulate > simulator.env', 'then, elsewhere: . ./simulator.env && scripstream run'],
  ],
  list: [
    ['scripstream list', 'every stream, what it asks and what it writes'],
    ['scripstream list --json', 'the same for programs'],
  ],
  graph: [['scripstream graph > graph.mmd', 'a picture of the graph for any Mermaid viewer']],
} as const

export const exampleText = (list: readonly (readonly [command: string, note: string])[]): string =>
  ['', 'Examples:', ...list.flatMap(([command, note]) => [`  ${command}`, `      ${note}`]), ''].join('\n')

export const EXIT_CODES = `
Exit codes:
  0        complete
  1        the critical step failed, or the outputs could not be written
  2        wrong usage or configuration
  3        finished, but something is missing
  130 143  interrupted by Ctrl+C or TERM; the same command continues
`

/** What an entry of a `--faults` file may hold. */
export const faultsText = (columns: number): string =>
  [
    '',
    'A fault in a --faults file:',
    ...Object.entries(Fault.shape).flatMap(([name, schema]) =>
      wrap(`  ${name}: ${name === 'mode' ? `one of ${faultModes.join(', ')}` : (schema.description ?? '')}`, columns),
    ),
    '',
  ].join('\n')

/** Everything that can be set, with its variable and default. */
export const settingsText = (rows: readonly SettingRow[], columns: number): string =>
  [
    '',
    ...wrap('Settings (a flag wins over the environment, that over the file, that over the default):', columns),
    ...rows.flatMap(({ name, env, default: usual, description }) => [
      `  ${name}${env === '' ? '' : `  (${env})`}`,
      ...wrap(`      ${description}${usual === '' ? '' : `; default ${usual}`}`, columns),
    ]),
    '',
  ].join('\n')
