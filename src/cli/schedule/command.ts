import { dirname, posix, resolve, sep } from 'node:path'
import { Option } from 'commander'
import { CONFIG_FILE } from '../../config.js'
import { readEnvironment } from '../../model/environment.js'
import { UsageError } from '../../model/errors.js'
import { isRow } from '../../model/row.js'
import { environmentNames, toAddressVariable } from '../../model/settings.js'
import { disk } from '../../storage/disk.js'
import { type AddCommand, type Dependencies, type ProcessIo, succeed } from '../dependencies.js'
import { readTarget } from '../export/targets.js'
import { exampleText } from '../options.js'
import { resolveSettings } from '../provider.js'
import { printWarning } from '../terminal/print.js'
import { type DailyJob, schedulers } from './entries.js'

interface ScheduleInput {
  readonly print: string
  readonly at: string
  readonly out?: string
  readonly config?: string
  readonly exportTo?: string
}

/** Candles of a session are complete by then. */
const DEFAULT_TIME = '18:30'
const NETWORK_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS']
const EARLIEST_MINUTE = 18 * 60
/** The second attempt is on the same day. */
const LATEST_MINUTE = 23 * 60 - 1

const examples = [
  ['scripstream schedule --print cron', 'a line for crontab: the daily run on Monday to Friday after 18:30 in India'],
  ['scripstream schedule --print systemd --out /srv/market', 'a service and a timer'],
  ['scripstream schedule --print docker > Dockerfile', 'an image of the daily run'],
] as const

export const addSchedule: AddCommand = (program, { io, dependencies, act }) => {
  program
    .command('schedule')
    .description('Prints an entry for a scheduler: run, verify and export on each session. Installs nothing.')
    .addOption(new Option('--print <scheduler>', 'for which scheduler').choices(Object.keys(schedulers)).makeOptionMandatory())
    .option(
      '--at <time>',
      'time of day in India, 18:00 to 22:59; a second attempt follows an hour later, at 20:30 at the earliest',
      DEFAULT_TIME,
    )
    .option('--out <dir>', 'output folder (default: the folder in the settings)')
    .option('--config <file>', 'settings file (default: scripstream.config.json in this folder, if present)')
    .option('--export-to <target>', 'also load the outputs there: market.duckdb, parquet:DIR or postgres://…')
    .addHelpText('after', exampleText(examples))
    .action(({ print, at, out, config, exportTo }: ScheduleInput) =>
      act(
        succeed(() => {
          const settings = resolveSettings({ out, config }, io, dependencies)
          const isHosted = ['docker', 'github-actions'].includes(print)
          const file = resolve(config ?? CONFIG_FILE)
          const command = resolve(process.argv[1] ?? 'scripstream')
          if (!isHosted) warnOfSettings(file, io, dependencies)
          if (!isHosted && command.includes(`${sep}_npx${sep}`))
            printWarning(
              `${command} is in the cache of npx, which may be emptied; install scripstream and run this command again`,
              io.stderr,
            )
          const entry = schedulers[print]?.({
            program: [process.execPath, command],
            folder: dirname(file),
            out: resolve(settings.out),
            config: file,
            variables: readNetworkVariables(io.env),
            needed: listNeededVariables(dependencies.streams),
            exportTo: exportTo === undefined ? undefined : toAbsoluteTarget(exportTo, isHosted ? print : undefined),
            minuteOfDay: readTimeOfDay(at),
            offsets: readOffsets(new Date(io.scheduler.now()).getFullYear()),
          } satisfies DailyJob)
          io.stdout.write(entry ?? '')
        }),
      ),
    )
}

/** Warns if the file is missing, or if settings are only in variables, which the scheduler does not have. */
const warnOfSettings = (file: string, { env, stderr }: ProcessIo, { streams }: Dependencies): void => {
  const { urls, hosts, out: _out, ...others } = readEnvironment(env, streams)
  const set = [
    ...Object.keys({ ...(isRow(urls) ? urls : {}), ...(isRow(hosts) ? hosts : {}) }).map(toAddressVariable),
    ...Object.keys(others).flatMap((name) => environmentNames[name] ?? []),
  ]
  if (!disk.existsSync(file))
    printWarning(`${file} does not exist; the entry needs it for the addresses of the provider: run "scripstream init" first`, stderr)
  if (set.length > 0) printWarning(`the scheduler will not have these variables; set them in ${file}: ${set.join(', ')}`, stderr)
}

/** The proxy and the authorities of this shell, without credentials. */
const readNetworkVariables = (env: NodeJS.ProcessEnv): Readonly<Record<string, string>> =>
  Object.fromEntries(
    NETWORK_VARIABLES.flatMap((name) => {
      const value = env[name] ?? env[name.toLowerCase()] ?? ''
      return value === '' ? [] : [[name, value.replace(/^(\w+:\/\/)?.*@/s, '$1…@')]]
    }),
  )

/** The variables of the addresses and other settings that the streams need. */
const listNeededVariables = (streams: Dependencies['streams']): readonly string[] => {
  const hosts = streams.flatMap(({ endpoints }) => endpoints.map(({ host }) => toAddressVariable(host)))
  return [...new Set([...hosts, ...streams.flatMap(({ requires = [] }) => requires.flatMap((name) => environmentNames[name] ?? []))])]
}

/** A file or folder with its whole path, except on another machine (`hoster`); a database as it is. */
const toAbsoluteTarget = (text: string, hoster: string | undefined): string => {
  const { kind, location } = readTarget('--export-to', text)
  if (kind === 'postgres') return text
  if (hoster !== undefined && /^(\/|\.\.(\/|$))/.test(posix.normalize(location)))
    throw new UsageError(`--export-to: ${hoster} does not keep ${JSON.stringify(location)}; use a relative path such as market.duckdb`)
  if (hoster !== undefined) return text
  return kind === 'file' ? resolve(location) : `${kind}:${resolve(location)}`
}

/** Minutes after midnight of `HH:MM`. */
const readTimeOfDay = (text: string): number => {
  const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? []
  const value = Number(hour) * 60 + Number(minute)
  if (!(value >= EARLIEST_MINUTE && value <= LATEST_MINUTE))
    throw new UsageError(
      `--at: ${JSON.stringify(text)} is not a time from 18:00 to 22:59, such as 18:30; the second attempt is an hour later`,
    )
  return value
}

/** The offsets of the local zone in January and in July, in minutes. */
const readOffsets = (year: number): readonly number[] => [0, 6].map((month) => -new Date(year, month, 1).getTimezoneOffset())
