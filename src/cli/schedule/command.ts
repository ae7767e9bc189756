import { resolve } from 'node:path'
import { Option } from 'commander'
import { UsageError } from '../../model/errors.js'
import { type AddCommand, succeed } from '../dependencies.js'
import { exampleText } from '../options.js'
import { resolveSettings } from '../provider.js'
import { schedulers } from './entries.js'
import type { DailyJob } from './job.js'

interface ScheduleInput {
  readonly print: string
  readonly at: string
  readonly out?: string
  readonly config?: string
  readonly exportTo?: string
}

/** Complete data of a session is there by then. */
const DEFAULT_TIME = '18:30'
const EARLIEST_MINUTE = 18 * 60

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
    .option('--at <time>', 'time of day in India, 18:00 or later', DEFAULT_TIME)
    .option('--out <dir>', 'output folder (default: the folder in the settings)')
    .option('--config <file>', 'settings file (default: scripstream.config.json in this folder, if present)')
    .option('--export-to <target>', 'also load the outputs there: market.duckdb, parquet:DIR or postgres://…')
    .addHelpText('after', exampleText(examples))
    .action(({ print, at, out, config, exportTo }: ScheduleInput) =>
      act(
        succeed(() => {
          const settings = resolveSettings({ out, config }, io, dependencies)
          const entry = schedulers[print]?.({
            program: [process.execPath, resolve(process.argv[1] ?? 'scripstream')],
            folder: process.cwd(),
            out: resolve(settings.out),
            config: config === undefined ? undefined : resolve(config),
            exportTo,
            minuteOfDay: readTimeOfDay(at),
            offsets: readOffsets(new Date(io.scheduler.now()).getFullYear()),
          } satisfies DailyJob)
          io.stdout.write(entry ?? '')
        }),
      ),
    )
}

/** Minutes after midnight of `HH:MM`. */
const readTimeOfDay = (text: string): number => {
  const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? []
  const value = Number(hour) * 60 + Number(minute)
  if (!(value >= EARLIEST_MINUTE)) throw new UsageError(`--at: ${JSON.stringify(text)} is not a time from 18:00 to 23:59, such as 18:30`)
  return value
}

/** The offsets of the local zone in January and in July, in minutes. */
const readOffsets = (year: number): readonly number[] => [0, 6].map((month) => -new Date(year, month, 1).getTimezoneOffset())
