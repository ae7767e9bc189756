import { quoteShell } from '../../model/text.js'
import { docker, githubActions } from './hosted.js'
import {
  commentEntry,
  type DailyJob,
  describeEntry,
  formatClock,
  listAttempts,
  listCommands,
  toCronTime,
  toLocalClock,
  toShell,
  toWeekdays,
} from './job.js'

const cron = (job: DailyJob): string => {
  const command = `cd ${quoteShell(job.folder)} && ${toShell(job)}`.replaceAll('%', '\\%')
  const lines = listAttempts(job).map((attempt) => `${toCronTime(attempt)} ${command}\n`)
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
  const days = listAttempts(job).flatMap((attempt) => {
    const { hour, minute, dayShift } = toLocalClock(attempt)
    return toWeekdays(dayShift).map(
      (day) =>
        `    <dict><key>Weekday</key><integer>${day}</integer><key>Hour</key><integer>${hour}</integer><key>Minute</key><integer>${minute}</integer></dict>`,
    )
  })
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
${days.join('\n')}
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
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- Save as scripstream.xml; then: schtasks /Create /TN scripstream /XML scripstream.xml
${xmlComment(job)} -->
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <Triggers>
${listAttempts(job)
  .map(
    (attempt) => `    <CalendarTrigger>
      <StartBoundary>2026-01-01T${formatClock(attempt)}:00+05:30</StartBoundary>
      <ScheduleByWeek><WeeksInterval>1</WeeksInterval><DaysOfWeek>${days}</DaysOfWeek></ScheduleByWeek>
    </CalendarTrigger>
`,
  )
  .join('')}  </Triggers>
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
