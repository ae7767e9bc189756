import { resolve } from 'node:path'
import { CONFIG_FILE, type SettingRow } from '../config.js'
import { UsageError } from '../model/errors.js'
import { disk } from '../storage/disk.js'
import { describeFileError } from '../storage/file-system.js'
import { defineCommand } from './command.js'
import { configFlags } from './options.js'
import { clean, wrap } from './terminal/text.js'

export const addInit = defineCommand({
  name: 'init',
  about: 'Writes a settings file with every setting explained. Never overwrites one.',
  flags: () => ({
    ...configFlags(`the file to write, or - for stdout (default: ${CONFIG_FILE})`),
  }),
  examples: [
    ['scripstream init', `writes ${CONFIG_FILE}, with every setting explained`],
    ['scripstream init --config -', 'shows the file and writes nothing'],
  ],
  run: ({ config = CONFIG_FILE }, { dependencies }) => {
    const text = configTemplate(dependencies.settingRows(dependencies.streams))
    if (config === '-') return [{ text }]
    const path = resolve(config)
    writeNewFile(path, text)
    const lines = [
      `Wrote ${clean(path)}.`,
      'Set the addresses of your provider in it, then run "scripstream doctor".',
    ]
    return [{ lines: () => lines }]
  },
})

const writeNewFile = (path: string, text: string): void => {
  try {
    disk.writeFileSync(path, text, { flag: 'wx' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST')
      throw new UsageError(
        `${path} exists and was not changed; delete it first, or choose another file with --config`,
      )
    throw new UsageError(
      `${path} cannot be written: ${describeFileError(error)}; choose another file with --config`,
    )
  }
}

const COMMENT_COLUMNS = 100

const SETTING_EXAMPLES: Readonly<Record<string, string>> = {
  'hosts.<name>':
    '{ "news": { "headers": { "authorization": "Bearer …" }, "maxRate": 50 }, "options": "https://…" }',
  sessions: '{ "2026-11-08": "18:00-19:15" }',
  with: '["exchange-daily"]',
  streams: '["./my-streams.js"]',
  workers: '{ "market-news": 15 }',
  timeoutsMs: '{ "market-news": 10000 }',
  headers: '{ "authorization": "Bearer …" }',
  watchlists: '{ "mine": ["TCS", "INFY"], "banks": "@banks.txt" }',
  watch: '[{ "name": "costly", "query": "select symbol from screener where pe > 100", "key": ["symbol"] }]',
  verify: '{ "large-moves": 500 }',
  notify: '"https://…"',
  notifySecret: '"a long random text"',
  logFile: '"./scripstream.log"',
  metricsFile: '"/var/lib/prometheus/node-exporter/scripstream.prom"',
}

/**
 * A settings file with every setting: its description, its variable, and its default or an example as a
 * comment.
 */
export const configTemplate = (rows: readonly SettingRow[]): string => {
  const entry = (row: SettingRow, indent: string): string =>
    `${indent}// ${JSON.stringify(row.name.replace(/^urls\./, '').replace(/\.<name>$/, ''))}: ${describeExample(row)},`
  const addresses = rows.filter(({ name }) => name.startsWith('urls.'))
  const others = rows.filter(({ name }) => !/^(urls|options)\./.test(name))
  const own = rows.filter(({ name }) => name.startsWith('options.'))
  const owners = [...new Set(own.map(({ name }) => name.split('.')[1] ?? ''))]
  return [
    '// Settings of scripstream. Comments and trailing commas are allowed.',
    '// An option of the command goes before an environment variable, and that before this file.',
    '{',
    '  // The base address of each service of your provider; an address may include a path.',
    '  "urls": {',
    ...addresses.map((row) => entry(row, '    ')),
    '  },',
    ...others.flatMap((row) => [
      '',
      ...wrap(`${row.description}${row.env === '' ? '' : ` (${row.env})`}`, COMMENT_COLUMNS).map(
        (line) => `  // ${line.trim()}`,
      ),
      entry(row, '  '),
    ]),
    '',
    '  // Settings of single streams.',
    '  "options": {',
    ...owners.flatMap((stream) => {
      const some = own.filter(({ name }) => name.startsWith(`options.${stream}.`))
      const values = some.map((row) => `"${toLastName(row.name)}": ${describeExample(row)}`)
      return [
        ...some.map(({ name, env, description }) => `    // ${toLastName(name)}: ${description} (${env})`),
        `    // "${stream}": { ${values.join(', ')} },`,
      ]
    }),
    '  },',
    '}',
    '',
  ].join('\n')
}

const toLastName = (path: string): string => path.replace(/.*\./, '')

const describeExample = ({ name, default: usual }: SettingRow): string =>
  SETTING_EXAMPLES[name] ??
  (name.startsWith('urls.')
    ? '"https://…"'
    : usual === ''
      ? '"…"'
      : /^(\d+|true|false)$/.test(usual)
        ? usual
        : JSON.stringify(usual))
