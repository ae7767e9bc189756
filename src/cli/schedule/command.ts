import { dirname, resolve, sep } from 'node:path'
import { CONFIG_FILE } from '../../config.js'
import { readEnvironment } from '../../model/environment.js'
import { UsageError } from '../../model/errors.js'
import { isRow } from '../../model/row.js'
import { environmentNames, toAddressVariable } from '../../model/settings.js'
import { disk } from '../../storage/disk.js'
import { defineCommand, type Input } from '../command.js'
import { readTarget } from '../export/targets.js'
import { choiceOption, flag, folderFlags } from '../options.js'
import { printWarning } from '../terminal/terminal.js'
import { schedulers } from './entries.js'

const NETWORK_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS']
const EARLIEST_MINUTE = 18 * 60
/** The second attempt is on the same day. */
const LATEST_MINUTE = 23 * 60 - 1

export const addSchedule = defineCommand({
  name: 'schedule',
  about: 'Prints an entry for a scheduler: run, verify and export on each session. Installs nothing.',
  flags: () => ({
    print: choiceOption('--print <scheduler>', 'for which scheduler', Object.keys(schedulers)).makeOptionMandatory(),
    at: flag('--at <time>', 'time of day in India, 18:00 to 22:59; a second attempt follows at 20:30 or an hour later').default('18:30'),
    ...folderFlags('output folder (default: the folder in the settings)'),
    exportTo: flag('--export-to <target>', 'also load the outputs there: market.duckdb, parquet:DIR or postgres://…'),
  }),
  examples: [
    ['scripstream schedule --print cron', 'a line for crontab: the daily run on Monday to Friday after 18:30 in India'],
    ['scripstream schedule --print systemd --out /srv/market', 'a service and a timer'],
  ],
  run: ({ print = '', at = '', config: given, exportTo }, { io, dependencies, settings }) => {
    const { out } = settings()
    const config = resolve(given ?? CONFIG_FILE)
    const command = resolve(process.argv[1] ?? 'scripstream')
    warnOfSettings(config, io, dependencies)
    if (command.includes(`${sep}_npx${sep}`))
      printWarning(`${command} is in the cache of npx, which may be emptied; install scripstream and run this command again`, io.stderr)
    const year = new Date(io.scheduler.now()).getFullYear()
    const entry = schedulers[print]?.({
      ...{ program: [process.execPath, command], folder: dirname(config), out: resolve(out), config },
      variables: readNetworkVariables(io.env),
      exportTo: exportTo === undefined ? undefined : toAbsoluteTarget(exportTo),
      minuteOfDay: readTimeOfDay(at),
      // In January and in July.
      offsets: [0, 6].map((month) => -new Date(year, month, 1).getTimezoneOffset()),
    })
    return [{ text: entry ?? '' }]
  },
})

/** Warns if the file is missing, or if settings are only in variables, which the scheduler does not have. */
const warnOfSettings = (file: string, { env, stderr }: Input['io'], { streams }: Input['dependencies']): void => {
  const { urls, hosts, out: _out, ...others } = readEnvironment(env, streams)
  const set = [
    ...Object.keys({ ...(isRow(urls) ? urls : {}), ...(isRow(hosts) ? hosts : {}) }).map(toAddressVariable),
    ...Object.keys(others).flatMap((name) => environmentNames[name] ?? []),
  ]
  if (!disk.existsSync(file))
    printWarning(`${file} does not exist; the entry needs it for the addresses of the provider: run "scripstream init" first`, stderr)
  if (set.length > 0) printWarning(`the scheduler will not have these variables; set them in ${file}: ${set.join(', ')}`, stderr)
}

const readNetworkVariables = (env: NodeJS.ProcessEnv): Readonly<Record<string, string>> =>
  Object.fromEntries(
    NETWORK_VARIABLES.flatMap((name) => {
      const value = env[name] ?? env[name.toLowerCase()] ?? ''
      return value === '' ? [] : [[name, value.replace(/^(\w+:\/\/)?.*@/s, '$1…@')]]
    }),
  )

/** A file or folder with its whole path; a database as it is. */
const toAbsoluteTarget = (text: string): string => {
  const { kind, location } = readTarget('--export-to', text)
  if (kind === 'postgres') return text
  return kind === 'file' ? resolve(location) : `${kind}:${resolve(location)}`
}

const readTimeOfDay = (text: string): number => {
  const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? []
  const value = Number(hour) * 60 + Number(minute)
  if (!(value >= EARLIEST_MINUTE && value <= LATEST_MINUTE))
    throw new UsageError(
      `--at: ${JSON.stringify(text)} is not a time from 18:00 to 22:59, such as 18:30; the second attempt is an hour later`,
    )
  return value
}
