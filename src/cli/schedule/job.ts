import { quoteShell } from '../../model/text.js'
import { padTwo } from '../terminal/format.js'

/** What a scheduler is to start. Paths are absolute: schedulers start with another folder and a short PATH. */
export interface DailyJob {
  /** Program and first arguments of the command, such as node and the path of scripstream. */
  readonly program: readonly string[]
  /** The folder in which the command runs: that of the configuration file. */
  readonly folder: string
  readonly out: string
  /** The settings file, with the addresses of the provider; undefined where they come from the environment. */
  readonly config: string | undefined
  /** Variables that the command needs and a scheduler does not have, such as those of a proxy. */
  readonly variables: Readonly<Record<string, string>>
  /** The variables that the streams need, and those that they may have. */
  readonly needed: readonly string[]
  /** Where the outputs are loaded after a run that `verify` found sound. */
  readonly exportTo: string | undefined
  /** Minutes after midnight in India. */
  readonly minuteOfDay: number
  /** The offset of this machine from UTC in minutes, in winter and in summer. */
  readonly offsets: readonly number[]
}

const INDIA_OFFSET_MINUTES = 330
const MINUTES_PER_DAY = 1_440

/** A time of a day as hour and minute, and whether it falls on the day before or after (-1, 0, 1). */
const toClock = (minutes: number): { readonly hour: number; readonly minute: number; readonly dayShift: number } => {
  const dayShift = Math.floor(minutes / MINUTES_PER_DAY)
  const rest = minutes - dayShift * MINUTES_PER_DAY
  return { hour: Math.floor(rest / 60), minute: rest % 60, dayShift }
}

/** The time of the job in India, as `18:30`. */
export const formatClock = ({ minuteOfDay }: DailyJob): string => {
  const { hour, minute } = toClock(minuteOfDay)
  return `${padTwo(hour)}:${padTwo(minute)}`
}

/** The local time of the job. Of a zone with daylight saving, the later one: the job must not start before the data is there. */
export const toLocalClock = ({ minuteOfDay, offsets }: DailyJob) =>
  toClock(Math.max(...offsets.map((offset) => minuteOfDay - INDIA_OFFSET_MINUTES + offset)))

/** When the job starts, for cron. */
export const toCronTime = (job: DailyJob): string => {
  const { hour, minute, dayShift } = toLocalClock(job)
  return `${minute} ${hour} * * ${toWeekdays(dayShift).join(',')}`
}

/** The job of each attempt of an evening: at its time and an hour later, before midnight in India. */
export const listAttempts = (job: DailyJob): readonly DailyJob[] =>
  [...new Set([job.minuteOfDay, Math.min(job.minuteOfDay + 60, MINUTES_PER_DAY - 1)])].map((minuteOfDay) => ({ ...job, minuteOfDay }))

/** The days of the week of trading sessions (Monday is 1) as the local clock sees them. */
export const toWeekdays = (dayShift: number): readonly number[] => [1, 2, 3, 4, 5].map((day) => (day + dayShift + 7) % 7)

/** The commands of a day: the later ones run only if the earlier ones succeeded. */
export const listCommands = ({ out, config, exportTo }: DailyJob): readonly (readonly string[])[] => {
  const settings = config === undefined ? [] : ['--config', config]
  return [
    ['run', '--quiet', '--out', out, ...settings],
    ['verify', '--quiet', '--out', out, ...settings],
    ...(exportTo === undefined ? [] : [['export', '--quiet', '--out', out, '--to', exportTo, ...settings]]),
  ]
}

export const toShell = (job: DailyJob, program: readonly string[] = job.program): string =>
  [
    ...Object.entries(job.variables).map(([name, value]) => `export ${name}=${quoteShell(value)}`),
    ...listCommands(job).map((args) => [...program, ...args].map(quoteShell).join(' ')),
  ].join(' && ')

const HOLIDAYS = 'Exchange holidays need no entry: a run on such a day finds nothing new.'
const SECOND_ATTEMPT =
  'The second attempt is free: after a complete run it sends no request until something new is due, else it requests only what is missing.'

/** What a person must know about an entry, as lines of a comment. */
export const describeEntry = ({ config, variables }: DailyJob): readonly string[] => [
  ...[HOLIDAYS, SECOND_ATTEMPT],
  ...(config === undefined
    ? []
    : [
        `The addresses of the provider are in ${config}: a scheduler does not have the variables of your shell.`,
        'To be notified of a failure, set "notify" in that file, or add --notify to run. Without --quiet, run always prints its summary.',
      ]),
  ...(Object.values(variables).some((value) => value.includes('…@')) ? ['Replace … by the user name and the password of the proxy.'] : []),
]

/** The same as lines that begin with `#`. */
export const commentEntry = (job: DailyJob): string =>
  describeEntry(job)
    .map((line) => `# ${line}\n`)
    .join('')
