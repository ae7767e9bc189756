import { spawnSync } from 'node:child_process'
import { dirname, resolve, sep } from 'node:path'
import { CONFIG_FILE } from '../config.js'
import { readEnvironment } from '../model/environment.js'
import { UsageError } from '../model/errors.js'
import { isRow } from '../model/row.js'
import { environmentNames, toAddressVariable } from '../model/settings.js'
import { listStreamOptions } from '../model/stream-options.js'
import { escapeMarkup, quoteShell } from '../model/text.js'
import { disk } from '../storage/disk.js'
import { defineCommand, type Input } from './command.js'
import { readTarget } from './export/targets.js'
import { choiceArgument, flag, folderFlags } from './options.js'
import { printWarning } from './terminal/terminal.js'
import { toTwoDigits } from './terminal/text.js'

const NETWORK_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS']
const EARLIEST_MINUTE = 18 * 60
/** The second attempt is on the same day. */
const LATEST_MINUTE = 23 * 60 - 1

const SCHEDULERS = ['cron', 'systemd', 'launchd', 'task-scheduler'] as const

export const addSchedule = defineCommand({
  name: 'schedule',
  about: 'Prints an entry for a scheduler: run, verify and export on each session. Installs nothing.',
  args: [choiceArgument('<scheduler>', 'for which one', SCHEDULERS)],
  flags: () => ({
    at: flag(
      '--at <time>',
      'time of day in India, 18:00 to 22:59; a second attempt follows at 20:30 or an hour later',
    ).default('18:30'),
    ...folderFlags('output folder (default: the folder in the settings)'),
    exportTo: flag('--export-to <target>', 'also load the outputs there: market.duckdb or postgres://…'),
  }),
  examples: [
    ['scripstream schedule cron', 'a line for crontab: the daily run after 18:30 in India'],
    ['scripstream schedule systemd --out /srv/market', 'a service and a timer'],
  ],
  run: ({ at = '', config: given, exportTo }, { typed: [scheduler = ''], io, dependencies, settings }) => {
    const { out } = settings()
    const config = resolve(given ?? CONFIG_FILE)
    const command = resolve(process.argv[1] ?? 'scripstream')
    warnOfSettings(config, io, dependencies)
    if (command.includes(`${sep}_npx${sep}`))
      printWarning(
        `${command} is in the cache of npx, which may be emptied; install scripstream and run this command again`,
        io.stderr,
      )
    const zone = findSystemZone()
    if (usesLocalTime(scheduler)) warnOfShellZone(zone, io)
    const entry = schedulers[scheduler]?.({
      program: [process.execPath, command],
      folder: dirname(config),
      out: resolve(out),
      config,
      variables: readNetworkVariables(io.env),
      exportTo: exportTo === undefined ? undefined : toAbsoluteTarget(exportTo),
      minuteOfDay: readTimeOfDay(at),
      zone,
      year: new Date(io.scheduler.now()).getFullYear(),
    })
    return [{ text: entry ?? '' }]
  },
})

/** Warns if the file is missing, or if settings are only in variables, which the scheduler does not have. */
const warnOfSettings = (
  file: string,
  { env, stderr }: Input['io'],
  { streams }: Input['dependencies'],
): void => {
  const { urls, hosts, out: _out, ...others } = readEnvironment(env, streams)
  const set = [
    ...Object.keys({ ...(isRow(urls) ? urls : {}), ...(isRow(hosts) ? hosts : {}) }).map(toAddressVariable),
    ...Object.keys(others).flatMap((name) => environmentNames[name] ?? []),
    ...listStreamOptions(streams).flatMap(({ variable }) => (env[variable] ? variable : [])),
  ]
  if (!disk.existsSync(file))
    printWarning(
      `${file} does not exist; the entry needs it for the addresses of the provider: run "scripstream init" first`,
      stderr,
    )
  if (set.length > 0)
    printWarning(
      `the scheduler will not have these variables; set them in ${file}: ${set.join(', ')}`,
      stderr,
    )
}

/**
 * The zone of the machine, which its scheduler uses, whatever TZ is in this shell: Node finds it out at its
 * start.
 */
const findSystemZone = (): string => {
  const { TZ: _, ...env } = process.env
  const { stdout } = spawnSync(process.execPath, ['-p', 'Intl.DateTimeFormat().resolvedOptions().timeZone'], {
    env,
    encoding: 'utf8',
  })
  return stdout.trim() || 'UTC'
}

const warnOfShellZone = (zone: string, { env, stderr, scheduler }: Input['io']): void => {
  const year = new Date(scheduler.now()).getFullYear()
  const shellZone = env.TZ === '' ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone
  // Zones may have several names.
  if (listOffsets({ zone: shellZone, year }).join() === listOffsets({ zone, year }).join()) return
  printWarning(
    `TZ is ${env.TZ} in this shell, but the scheduler uses the zone of the machine, ${zone}: so does this entry`,
    stderr,
  )
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
  return kind === 'xlsx' ? resolve(location) : `${kind}:${resolve(location)}`
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

/**
 * What a scheduler is to start. Paths are absolute: schedulers start with another folder and a short PATH.
 */
export interface DailyJob extends Readonly<Record<'folder' | 'out' | 'config', string>> {
  /** Program and first arguments of the command, such as node and the path of scripstream. */
  readonly program: readonly string[]
  /** Variables that the command needs and a scheduler does not have, such as those of a proxy. */
  readonly variables: Readonly<Record<string, string>>
  /** Where the outputs are loaded after a run that `verify` found sound. */
  readonly exportTo: string | undefined
  /** Minutes after midnight in India. */
  readonly minuteOfDay: number
  /** The zone of the machine, such as `Europe/Berlin`. */
  readonly zone: string
  /** The year whose changes to summer time count. */
  readonly year: number
}

const INDIA_OFFSET_MINUTES = 330
const MINUTES_PER_DAY = 1_440
/** By then everything of a session is published, also price bands and deals (20:00). */
const ALL_PUBLISHED_MINUTE = 20 * 60 + 30

/** Both attempts of a daily run, in minutes after midnight in India. */
const listAttempts = ({ minuteOfDay }: DailyJob): readonly number[] => [
  minuteOfDay,
  Math.max(minuteOfDay + 60, ALL_PUBLISHED_MINUTE),
]

const formatClock = (minutes: number): string => {
  const { hour, minute } = toClock(minutes)
  return `${toTwoDigits(hour)}:${toTwoDigits(minute)}`
}

const toClock = (minutes: number) => {
  const ofDay = ((minutes % MINUTES_PER_DAY) + MINUTES_PER_DAY) % MINUTES_PER_DAY
  return { hour: Math.floor(ofDay / 60), minute: ofDay % 60 }
}

/**
 * The offsets of a zone from UTC in a year, in minutes, the largest first: two where summer time changes it.
 */
const listOffsets = ({ zone, year }: Pick<DailyJob, 'zone' | 'year'>): readonly number[] => {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  const offsets = Array.from({ length: 53 }, (_, week) => {
    const name =
      format.formatToParts(Date.UTC(year, 0, 1 + 7 * week)).find(({ type }) => type === 'timeZoneName')
        ?.value ?? ''
    const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)/.exec(name) ?? ['', '+', '0', '0']
    return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
  })
  return [...new Set(offsets)].sort((one, other) => other - one)
}

/**
 * Both attempts as the local clock has them. Of a zone with summer time, the later time: the job must not
 * start before the data is there.
 */
const listLocalTimes = (job: DailyJob) =>
  listAttempts(job).map((minutes) => toClock((listOffsets(job)[0] ?? 0) + minutes - INDIA_OFFSET_MINUTES))

const joinClocks = (minutes: readonly number[]): string => minutes.map(formatClock).join(' and ')

/** Both clocks, and what a change to summer time does. An entry in local time keeps the local time. */
const describeClocks = (job: DailyJob, clock: 'local' | 'India'): readonly string[] => {
  const attempts = listAttempts(job)
  const [summer = 0, winter] = listOffsets(job)
  const inZone = (offset: number): string =>
    joinClocks(attempts.map((at) => at + offset - INDIA_OFFSET_MINUTES))
  const both = `${joinClocks(attempts)} in India are ${inZone(summer)} in ${job.zone}, the zone of this machine`
  if (winter === undefined) return [`${both}.`]
  const change =
    clock === 'India'
      ? `In winter time they are ${inZone(winter)}: the entry follows the clock of India.`
      : `In winter time the entry keeps that local time, which is ${joinClocks(attempts.map((at) => at + summer - winter))} in India: a run must not start before the data is there.`
  return [`${both}, in summer time.`, change]
}

const usesLocalTime = (scheduler: string): boolean => ['cron', 'launchd'].includes(scheduler)

/** The commands of a day: the later ones run only if the earlier ones succeeded. */
const listCommands = ({ program, out, config, exportTo }: DailyJob): readonly (readonly string[])[] =>
  [['run'], ['verify'], ...(exportTo === undefined ? [] : [['export', '--to', exportTo]])].map(
    ([name = '', ...more]) => [...program, name, '--quiet', '--out', out, ...more, '--config', config],
  )

const toShell = (job: DailyJob, commands = listCommands(job)): string =>
  [
    ...Object.entries(job.variables).map(([name, value]) => `export ${name}=${quoteShell(value)}`),
    ...commands.map((args) => args.map(quoteShell).join(' ')),
  ].join(' && ')

const describeEntry = (job: DailyJob, clock: 'local' | 'India'): readonly string[] => [
  ...describeClocks(job, clock),
  'It runs on all days, because there are sessions on weekends, too: a run on a day without one sends one request.',
  'Name special sessions with their hours in the setting "sessions", and exchange holidays in the file of "holidays".',
  'The second attempt requests only what is missing or due since the first: price bands and deals are published at 20:00.',
  `The addresses of the provider are in ${job.config}: a scheduler does not have the variables of your shell.`,
  'To be notified of each failure, set "notify" in that file; "scripstream doctor" with its option notify sends a test message.',
  'Without --quiet, run always prints its summary, and verify and export do not notify.',
  ...(Object.values(job.variables).some((value) => value.includes('…@'))
    ? ['Replace … by the user name and the password of the proxy.']
    : []),
]

const commentEntry = (job: DailyJob, clock: 'local' | 'India'): string =>
  describeEntry(job, clock)
    .map((line) => `# ${line}\n`)
    .join('')

/** A comment of XML must not contain two hyphens. */
const xmlComment = (job: DailyJob, clock: 'local' | 'India'): string =>
  describeEntry(job, clock)
    .map((line) => `     ${line.replace(/(?<= )--(?=[a-z])/g, 'the option ').replaceAll('--', '- -')}`)
    .join('\n')

const cron = (job: DailyJob): string => {
  const command = `cd ${quoteShell(job.folder)} && ${toShell(job)}`.replaceAll('%', '\\%')
  return `# Add with: crontab -e. Cron mails what a command prints; --quiet prints nothing if all is well.
${commentEntry(job, 'local')}${listLocalTimes(job)
  .map(({ hour, minute }) => `${minute} ${hour} * * * ${command}\n`)
  .join('')}`
}

const systemdQuote = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`

/** Systemd sets the variable from version 251 on. */
const toFailureShell = (job: DailyJob): string => {
  const { program, out, config } = job
  const notify = [
    ...program,
    'doctor',
    '--notify',
    'the daily run did not end well',
    '--out',
    out,
    '--config',
    config,
  ]
  return `case "$MONITOR_EXIT_STATUS" in [1-4]) ;; *) ${toShell(job, [notify])} ;; esac`
}

const systemd = (job: DailyJob): string => {
  const folder = job.folder.replaceAll('%', '%%')
  return `# ~/.config/systemd/user/scripstream.service
${commentEntry(job, 'India')}[Unit]
Description=Daily run of scripstream
OnFailure=scripstream-failure.service

[Service]
Type=oneshot
WorkingDirectory=${folder}
ExecStart=${['/bin/sh', '-c', toShell(job)].map(systemdQuote).join(' ')}

# ~/.config/systemd/user/scripstream-failure.service
# A command that ends by itself has notified already: this is for one that was killed.
[Unit]
Description=Notification that the daily run of scripstream was killed

[Service]
Type=oneshot
WorkingDirectory=${folder}
ExecStart=${['/bin/sh', '-c', toFailureShell(job)].map(systemdQuote).join(' ')}

# ~/.config/systemd/user/scripstream.timer
# Then: systemctl --user daemon-reload && systemctl --user enable --now scripstream.timer
# Without the next command, the timer stops when you log out: loginctl enable-linger
[Unit]
Description=Daily run of scripstream after the close of the market

[Timer]
${listAttempts(job)
  .map((minutes) => `OnCalendar=*-*-* ${formatClock(minutes)} Asia/Kolkata\n`)
  .join('')}Persistent=true

[Install]
WantedBy=timers.target
`
}

const launchd = (job: DailyJob): string => {
  const starts = listLocalTimes(job).map(({ hour, minute }) => Object.entries({ Hour: hour, Minute: minute }))
  const toDict = (values: readonly (readonly [string, number])[]): string =>
    `    <dict>${values.map(([name, value]) => `<key>${name}</key><integer>${value}</integer>`).join('')}</dict>`
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ~/Library/LaunchAgents/scripstream.daily.plist; then: launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/scripstream.daily.plist
${xmlComment(job, 'local')} -->
<plist version="1.0">
<dict>
  <key>Label</key><string>scripstream.daily</string>
  <key>WorkingDirectory</key><string>${escapeMarkup(job.folder)}</string>
  <key>ProgramArguments</key>
  <array><string>/bin/sh</string><string>-c</string><string>${escapeMarkup(toShell(job))}</string></array>
  <key>StartCalendarInterval</key>
  <array>
${starts.map(toDict).join('\n')}
  </array>
</dict>
</plist>
`
}

const quoteWindows = (text: string): string =>
  /^[\w:\\/.=-]+$/.test(text) ? text : `"${text.replaceAll('"', '\\"')}"`

const taskScheduler = (job: DailyJob): string => {
  const line = [
    ...Object.entries(job.variables).map(([name, value]) => `set "${name}=${value}"`),
    ...listCommands(job).map((args) => args.map(quoteWindows).join(' ')),
  ].join(' && ')
  const triggers = listAttempts(job).map(
    (minutes) => `    <CalendarTrigger>
      <StartBoundary>2026-01-01T${formatClock(minutes)}:00+05:30</StartBoundary>
      <ScheduleByDay><DaysInterval>1</DaysInterval></ScheduleByDay>
    </CalendarTrigger>
`,
  )
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- Save as scripstream.xml; then: schtasks /Create /TN scripstream /XML scripstream.xml
${xmlComment(job, 'India')} -->
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <Triggers>
${triggers.join('')}  </Triggers>
  <Settings><StartWhenAvailable>true</StartWhenAvailable><MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy></Settings>
  <Actions>
    <Exec>
      <Command>cmd.exe</Command>
      <Arguments>/d /c "${escapeMarkup(line)}"</Arguments>
      <WorkingDirectory>${escapeMarkup(job.folder)}</WorkingDirectory>
    </Exec>
  </Actions>
</Task>
`
}

export const schedulers: Readonly<Record<string, (job: DailyJob) => string>> = {
  cron,
  systemd,
  launchd,
  'task-scheduler': taskScheduler,
}
