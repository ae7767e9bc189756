/** What a scheduler is to start. Paths are absolute: schedulers start with another folder and a short PATH. */
export interface DailyJob {
  /** Program and first arguments of the command, such as node and the path of scripstream. */
  readonly program: readonly string[]
  /** The folder in which the command runs: that of the configuration file. */
  readonly folder: string
  readonly out: string
  readonly config: string | undefined
  /** Where the outputs are loaded after a run that `verify` found sound. */
  readonly exportTo: string | undefined
  /** Minutes after midnight in India. */
  readonly minuteOfDay: number
  /** The offset of this machine from UTC in minutes, in winter and in summer. */
  readonly offsets: readonly number[]
}

export const INDIA_OFFSET_MINUTES = 330
const MINUTES_PER_DAY = 1_440

export const twoDigits = (value: number): string => String(value).padStart(2, '0')

/** A time of a day as hour and minute, and whether it falls on the day before or after (-1, 0, 1). */
export const toClock = (minutes: number): { readonly hour: number; readonly minute: number; readonly dayShift: number } => {
  const dayShift = Math.floor(minutes / MINUTES_PER_DAY)
  const rest = minutes - dayShift * MINUTES_PER_DAY
  return { hour: Math.floor(rest / 60), minute: rest % 60, dayShift }
}

/** The local time of the job. Of a zone with daylight saving, the later one: the job must not start before the data is there. */
export const toLocalClock = ({ minuteOfDay, offsets }: DailyJob) =>
  toClock(Math.max(...offsets.map((offset) => minuteOfDay - INDIA_OFFSET_MINUTES + offset)))

/** The days of the week of trading sessions (Monday is 1) as the local clock sees them. */
export const toWeekdays = (dayShift: number): readonly number[] => [1, 2, 3, 4, 5].map((day) => (day + dayShift + 7) % 7)

export const quote = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/** The commands of a day: the later ones run only if the earlier ones succeeded. */
export const listCommands = ({ out, config, exportTo }: DailyJob): readonly (readonly string[])[] => {
  const settings = config === undefined ? [] : ['--config', config]
  return [
    ['run', '--quiet', '--out', out, ...settings],
    ['verify', '--quiet', '--out', out, ...settings],
    ...(exportTo === undefined ? [] : [['export', '--out', out, '--to', exportTo]]),
  ]
}

export const toShell = (job: DailyJob, program: readonly string[] = job.program): string =>
  listCommands(job)
    .map((args) => [...program, ...args].map(quote).join(' '))
    .join(' && ')

export const SESSIONS = 'Exchange holidays need no entry: a run on such a day finds nothing new.'
