import { quoteShell } from '../../model/text.js'
import { padTwo } from '../terminal/format.js'

const OPTIONAL_VARIABLES = ['SCRIPSTREAM_HEADERS', 'SCRIPSTREAM_NOTIFY', 'SCRIPSTREAM_NOTIFY_SECRET']
const VARIABLES_NOTE = 'SCRIPSTREAM_HEADERS: headers as a JSON object. SCRIPSTREAM_NOTIFY: an address that is notified of a failure.'

/** A workflow that keeps the folder in the cache of the host. */
const githubActions = (given: DailyJob): string => {
  const job = { ...given, out: './data', config: undefined, variables: {}, offsets: [0] }
  const crons = listCronTimes(job).map((time) => `    - cron: '${time}'\n`)
  const commands = listCommands(job)
  // An entry of the cache is never overwritten: each attempt of a run has its own.
  const key = `'data-\${{ github.run_id }}-\${{ github.run_attempt }}'`
  const exported = job.exportTo === undefined || /^postgres/.test(job.exportTo) ? undefined : job.exportTo.replace(/^(duckdb|parquet):/, '')
  return `# .github/workflows/scripstream.yml, in the default branch of a checkout of scripstream. Times are in UTC.
${commentEntry(job)}# The variables below are secrets of the repository; one that is not set counts as absent. The streams need all but the last ${OPTIONAL_VARIABLES.length}.
# ${VARIABLES_NOTE} The job also fails then.
name: scripstream
on:
  schedule:
${crons.join('')}  workflow_dispatch:
# A run waits for the one before, whose state it needs.
concurrency: scripstream
jobs:
  collect:
    runs-on: ubuntu-latest
    timeout-minutes: 120
    env:
${[...job.needed, ...OPTIONAL_VARIABLES].map((name) => `      ${name}: \${{ secrets.${name} }}`).join('\n')}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with: { node-version: 22, cache: npm }
      - run: npm ci && npm run build
      # The newest stored folder: candles continue, and changes are found.
      - uses: actions/cache/restore@v4
        with: { path: data, key: ${key}, restore-keys: data- }
${commands.map((args) => `      - run: ${['node', 'dist/bundle/cli/scripstream.cjs', ...args].map(quoteShell).join(' ')}`).join('\n')}
      # Also after exit 3 (something is missing) and 4 (findings), which end the job.
      - uses: actions/cache/save@v4
        if: always()
        with: { path: data, key: ${key} }
      # The state of the runs is in the hidden folder data/.scripstream.
      - uses: actions/upload-artifact@v4
        if: always()
        with: { name: market, path: ${exported === undefined ? 'data' : `"data\\n${exported}"`}, include-hidden-files: true }
`
}

/** The packages that queries and an export need. */
const listPackages = (target = ''): readonly string[] => [
  '@duckdb/node-api',
  ...(/^postgres/.test(target) ? ['postgres'] : []),
  ...(target.endsWith('.xlsx') ? ['write-excel-file'] : []),
]

/** The owner of the folder on the host writes it, whatever the user of the image is. */
const DOCKER_RUN = 'docker run --rm --user "$(id -u):$(id -g)" -v "$PWD/data:/data"'

/** An image that is built from a checkout. */
const docker = (given: DailyJob): string => {
  const job = { ...given, out: '/data', config: undefined, variables: {} }
  const times = listAttempts(job).map(formatClock).join(' and ')
  const packages = listPackages(job.exportTo).join(' ')
  const commands = toShell(job, ['scripstream'])
  return `# Dockerfile, in a checkout of scripstream. Build: docker build -t scripstream .
# Create the folder first, or Docker creates it as root: mkdir -p data
# Run as its owner: ${DOCKER_RUN} --env-file provider.env scripstream
# Query: ${DOCKER_RUN} scripstream scripstream query "select symbol, close_inr from screener limit 5"
# provider.env has one line NAME=value for each of ${job.needed.join(', ')}
# and, if you like, for ${OPTIONAL_VARIABLES.join(', ')}, HTTPS_PROXY and NO_PROXY.
# ${VARIABLES_NOTE}
# Run it Monday to Friday at ${times} IST from the scheduler of the host.
${commentEntry(job)}FROM node:22-slim AS build
WORKDIR /app
COPY . .
RUN npm ci && npm pack --pack-destination /tmp

FROM node:22-slim
COPY --from=build /tmp/scripstream-*.tgz /tmp/
RUN npm install --global /tmp/scripstream-*.tgz ${packages} && rm /tmp/scripstream-*.tgz && mkdir /data && chown node /data
USER node
WORKDIR /data
ENV SCRIPSTREAM_OUT=/data
CMD ["sh", "-c", "${commands.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"]
`
}

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
/** By then everything of a session is published, also price bands and deals (20:00). */
const ALL_PUBLISHED_MINUTE = 20 * 60 + 30

/** The minutes after midnight of both attempts of a daily run, in India. */
const listAttempts = ({ minuteOfDay }: DailyJob): readonly number[] => [minuteOfDay, Math.max(minuteOfDay + 60, ALL_PUBLISHED_MINUTE)]

/** A time as `18:30`. */
const formatClock = (minutes: number): string => `${padTwo(Math.floor(minutes / 60))}:${padTwo(minutes % 60)}`

/**
 * A time in India as the local clock has it, and the weekdays of trading sessions (Monday is 1). Of a zone with daylight saving, the later
 * time: the job must not start before the data is there.
 */
const toLocalTimes = ({ offsets }: DailyJob, minutes: number) => {
  const local = Math.max(...offsets) + minutes - INDIA_OFFSET_MINUTES
  const dayShift = Math.floor(local / MINUTES_PER_DAY)
  const rest = local - dayShift * MINUTES_PER_DAY
  const weekdays = [1, 2, 3, 4, 5].map((day) => (day + dayShift + 7) % 7)
  return { hour: Math.floor(rest / 60), minute: rest % 60, weekdays }
}

/** When both attempts start, for cron. */
const listCronTimes = (job: DailyJob): readonly string[] =>
  listAttempts(job).map((attempt) => {
    const { hour, minute, weekdays } = toLocalTimes(job, attempt)
    return `${minute} ${hour} * * ${weekdays.join(',')}`
  })

/** The commands of a day: the later ones run only if the earlier ones succeeded. */
const listCommands = ({ out, config, exportTo }: DailyJob): readonly (readonly string[])[] => {
  const settings = config === undefined ? [] : ['--config', config]
  return [
    ['run', '--quiet', '--out', out, ...settings],
    ['verify', '--quiet', '--out', out, ...settings],
    ...(exportTo === undefined ? [] : [['export', '--quiet', '--out', out, '--to', exportTo, ...settings]]),
  ]
}

const toShell = (job: DailyJob, program: readonly string[] = job.program): string =>
  [
    ...Object.entries(job.variables).map(([name, value]) => `export ${name}=${quoteShell(value)}`),
    ...listCommands(job).map((args) => [...program, ...args].map(quoteShell).join(' ')),
  ].join(' && ')

const HOLIDAYS = 'Name exchange holidays in the file of the setting "holidays": a run on such a day then finds nothing due.'
const NOTIFY =
  'To be notified of a failure, set "notify" in that file, or add --notify to run. Without --quiet, run always prints its summary.'
const SECOND_ATTEMPT =
  'The second attempt requests only what is missing or due since the first: price bands and deals are published at 20:00.'

/** What a person must know about an entry, line by line. */
const describeEntry = ({ config, variables }: DailyJob): readonly string[] => [
  ...[HOLIDAYS, SECOND_ATTEMPT],
  ...(config === undefined
    ? []
    : [`The addresses of the provider are in ${config}: a scheduler does not have the variables of your shell.`, NOTIFY]),
  ...(Object.values(variables).some((value) => value.includes('…@')) ? ['Replace … by the user name and the password of the proxy.'] : []),
]

const commentEntry = (job: DailyJob): string =>
  describeEntry(job)
    .map((line) => `# ${line}\n`)
    .join('')

const cron = (job: DailyJob): string => {
  const command = `cd ${quoteShell(job.folder)} && ${toShell(job)}`.replaceAll('%', '\\%')
  const lines = listCronTimes(job).map((time) => `${time} ${command}\n`)
  return `# Add with: crontab -e. Times are those of this machine. Cron mails what a command prints; --quiet prints nothing if all is well.
${commentEntry(job)}${lines.join('')}`
}

const systemdQuote = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`

const systemd = (job: DailyJob): string => `# ~/.config/systemd/user/scripstream.service
${commentEntry(job)}[Unit]
Description=Daily run of scripstream

[Service]
Type=oneshot
WorkingDirectory=${job.folder.replaceAll('%', '%%')}
${Object.entries(job.variables)
  .map(([name, value]) => `Environment=${systemdQuote(`${name}=${value}`)}\n`)
  .join('')}${listCommands(job)
  .map((args) => `ExecStart=${[...job.program, ...args].map(systemdQuote).join(' ')}`)
  .join('\n')}

# ~/.config/systemd/user/scripstream.timer
# Then: systemctl --user daemon-reload && systemctl --user enable --now scripstream.timer
# Without the next command, the timer stops when you log out: loginctl enable-linger
[Unit]
Description=Daily run of scripstream after the close of the market

[Timer]
${listAttempts(job)
  .map((attempt) => `OnCalendar=Mon..Fri ${formatClock(attempt)} Asia/Kolkata\n`)
  .join('')}Persistent=true

[Install]
WantedBy=timers.target
`

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** A comment must not contain two hyphens. */
const xmlComment = (job: DailyJob): string =>
  describeEntry(job)
    .map((line) => `     ${line.replace(/(?<= )--(?=[a-z])/g, 'the option ').replaceAll('--', '- -')}`)
    .join('\n')

const launchd = (job: DailyJob): string => {
  const starts = listAttempts(job)
    .map((attempt) => toLocalTimes(job, attempt))
    .flatMap(({ hour, minute, weekdays }) => weekdays.map((weekday) => ({ Weekday: weekday, Hour: hour, Minute: minute })))
  const toDict = (values: object): string =>
    `    <dict>${Object.entries(values)
      .map(([name, value]) => `<key>${name}</key><integer>${value}</integer>`)
      .join('')}</dict>`
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ~/Library/LaunchAgents/scripstream.daily.plist; then: launchctl load ~/Library/LaunchAgents/scripstream.daily.plist
${xmlComment(job)} -->
<plist version="1.0">
<dict>
  <key>Label</key><string>scripstream.daily</string>
  <key>WorkingDirectory</key><string>${escapeXml(job.folder)}</string>
  <key>ProgramArguments</key>
  <array><string>/bin/sh</string><string>-c</string><string>${escapeXml(toShell(job))}</string></array>
  <key>StartCalendarInterval</key>
  <array>
${starts.map(toDict).join('\n')}
  </array>
</dict>
</plist>
`
}

const quoteWindows = (text: string): string => (/^[\w:\\/.=-]+$/.test(text) ? text : `"${text.replaceAll('"', '\\"')}"`)

const taskScheduler = (job: DailyJob): string => {
  const line = [
    ...Object.entries(job.variables).map(([name, value]) => `set "${name}=${value}"`),
    ...listCommands(job).map((args) => [...job.program, ...args].map(quoteWindows).join(' ')),
  ].join(' && ')
  const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'].map((day) => `<${day} />`).join('')
  const triggers = listAttempts(job).map(
    (attempt) => `    <CalendarTrigger>
      <StartBoundary>2026-01-01T${formatClock(attempt)}:00+05:30</StartBoundary>
      <ScheduleByWeek><WeeksInterval>1</WeeksInterval><DaysOfWeek>${days}</DaysOfWeek></ScheduleByWeek>
    </CalendarTrigger>
`,
  )
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- Save as scripstream.xml; then: schtasks /Create /TN scripstream /XML scripstream.xml
${xmlComment(job)} -->
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <Triggers>
${triggers.join('')}  </Triggers>
  <Settings><StartWhenAvailable>true</StartWhenAvailable><MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy></Settings>
  <Actions>
    <Exec>
      <Command>cmd.exe</Command>
      <Arguments>/d /c "${escapeXml(line)}"</Arguments>
      <WorkingDirectory>${escapeXml(job.folder)}</WorkingDirectory>
    </Exec>
  </Actions>
</Task>
`
}

/** The schedulers, and the text of an entry for each. */
export const schedulers: Readonly<Record<string, (job: DailyJob) => string>> = {
  cron,
  systemd,
  launchd,
  'task-scheduler': taskScheduler,
  'github-actions': githubActions,
  docker,
}
