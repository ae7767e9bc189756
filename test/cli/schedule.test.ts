import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { runProgram } from '../../src/cli/program.js'
import { type DailyJob, schedulers } from '../../src/cli/schedule.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { createTestDependencies, createTestIo, settingsFile } from './support.js'

const job: DailyJob = {
  program: ['/opt/my node/node', '/opt/scripstream.cjs'],
  folder: '/srv/100% market',
  out: '/srv/market',
  config: '/srv/100% market/my.json',
  variables: {},
  exportTo: undefined,
  minuteOfDay: 18 * 60 + 30,
  zone: 'UTC',
  year: 2026,
}
const entry = (name: string, changes: Partial<DailyJob> = {}): string =>
  schedulers[name]?.({ ...job, ...changes }) ?? ''
/** The first line of a crontab that is no comment. */
const firstLine = (text: string): string => text.split('\n').find((line) => /^\d/.test(line)) ?? ''

describe('an entry for a scheduler', () => {
  it.each(Object.keys(schedulers))('for %s runs, verifies and then exports', (name) => {
    const text = entry(name, { exportTo: 'market.duckdb' }).replaceAll(/["']/g, '')
    const [run, verify, exported] = [
      text.search(/run --quiet --out/),
      text.search(/verify --quiet --out/),
      text.search(/export --quiet --out .*market\.duckdb/),
    ]
    expect(run).toBeGreaterThan(0)
    expect(verify).toBeGreaterThan(run)
    expect(exported).toBeGreaterThan(verify)
  })

  it.each(Object.keys(schedulers))(
    'for %s names the settings file in each command, and where the addresses are',
    (name) => {
      const text = entry(name, { exportTo: 'market.duckdb' })
      expect(
        text.replaceAll('&quot;', '"').match(/--config\W+srv\/100\\?%%? market\/my\.json/g),
      ).toHaveLength({ cron: 6, systemd: 4 }[name] ?? 3)
      expect(text).toContain('The addresses of the provider are in /srv/100% market/my.json')
      expect(text).toContain('notify')
    },
  )

  it.each(Object.keys(schedulers))('for %s sets the proxy of this machine', (name) => {
    const text = entry(name, { variables: { HTTPS_PROXY: 'http://…@proxy:3128' } })
    expect(text.replaceAll(/["']|&quot;/g, '')).toContain('HTTPS_PROXY=http://…@proxy:3128')
    expect(text).toContain('Replace … by the user name and the password of the proxy.')
    expect(entry(name)).not.toMatch(/HTTPS_PROXY|Replace/)
  })

  const seconds: Readonly<Record<string, RegExp>> = {
    cron: /^0 13 \* \* \* cd .*\n0 15 \* \* \* cd .*\n$/m,
    systemd: /^OnCalendar=\*-\*-\* 18:30 Asia\/Kolkata\nOnCalendar=\*-\*-\* 20:30 Asia\/Kolkata\n/m,
    launchd: /.*<integer>13<.*\n.*<integer>15<.*\n/,
    'task-scheduler': /T18:30:00\+05:30.*T20:30:00\+05:30/s,
  }
  it.each(Object.keys(schedulers))(
    'for %s has a second attempt once everything is published, and says what it requests',
    (name) => {
      expect(entry(name)).toMatch(seconds[name] ?? /never/)
      expect(entry(name)).toContain(
        'The second attempt requests only what is missing or due since the first: price bands and deals',
      )
    },
  )

  it('has the second attempt an hour later, and not before everything of the session is published', () => {
    const times = (minuteOfDay: number) => entry('systemd', { minuteOfDay }).match(/(?<=OnCalendar=\S+ )\S+/g)
    expect(times(18 * 60)).toEqual(['18:00', '20:30'])
    expect(times(19 * 60 + 45)).toEqual(['19:45', '20:45'])
    expect(times(22 * 60 + 59)).toEqual(['22:59', '23:59'])
    expect(streams.flatMap(({ publishedAt = '' }) => (publishedAt >= '20:30' ? [publishedAt] : []))).toEqual(
      [],
    )
  })

  it('for systemd says how the timer of a user goes on after a log-out', () => {
    expect(entry('systemd')).toContain(
      '# Without the next command, the timer stops when you log out: loginctl enable-linger\n',
    )
  })

  it('for cron has the local time of 18:30 in India', () => {
    expect(firstLine(entry('cron'))).toMatch(/^0 13 \* \* \* /)
    expect(firstLine(entry('cron', { zone: 'Asia/Kolkata' }))).toMatch(/^30 18 \* \* \* /)
  })

  it('for cron has the later time in a zone with daylight saving, also on the next day', () => {
    expect(firstLine(entry('cron', { zone: 'America/New_York' }))).toMatch(/^0 9 \* \* \* /)
    expect(firstLine(entry('cron', { zone: 'Pacific/Auckland' }))).toMatch(/^0 2 \* \* \* /)
  })

  it('for cron quotes blanks, and per cent signs, which cron reads as line ends', () => {
    const line = firstLine(entry('cron'))
    expect(line).toContain(`cd '/srv/100\\% market' && '/opt/my node/node' /opt/scripstream.cjs run`)
    const { stdout } = spawnSync('sh', [
      '-c',
      line
        .replace(/^.*?cd /, 'echo ')
        .replaceAll('\\%', '%')
        .replace(/ && .*/, ''),
    ])
    expect(String(stdout)).toBe('/srv/100% market\n')
  })

  it.each([
    ['UTC', 'cron', ['18:30 and 20:30 in India are 13:00 and 15:00 in UTC, the zone of this machine.']],
    [
      'Asia/Kathmandu',
      'cron',
      ['18:30 and 20:30 in India are 18:45 and 20:45 in Asia/Kathmandu, the zone of this machine.'],
    ],
    [
      'Europe/Berlin',
      'cron',
      [
        '18:30 and 20:30 in India are 15:00 and 17:00 in Europe/Berlin, the zone of this machine, in summer time.',
        'In winter time the entry keeps that local time, which is 19:30 and 21:30 in India: a run must not start before the data is there.',
      ],
    ],
    [
      'Australia/Sydney',
      'launchd',
      [
        '18:30 and 20:30 in India are 00:00 and 02:00 in Australia/Sydney, the zone of this machine, in summer time.',
        'In winter time the entry keeps that local time, which is 19:30 and 21:30 in India: a run must not start before the data is there.',
      ],
    ],
    [
      'Europe/Berlin',
      'systemd',
      [
        '18:30 and 20:30 in India are 15:00 and 17:00 in Europe/Berlin, the zone of this machine, in summer time.',
        'In winter time they are 14:00 and 16:00: the entry follows the clock of India.',
      ],
    ],
    [
      'America/Los_Angeles',
      'task-scheduler',
      ['In winter time they are 05:00 and 07:00: the entry follows the clock of India.'],
    ],
  ])('in %s for %s has both clocks, and says what summer time changes', (zone, name, lines) => {
    for (const line of lines) expect(entry(name, { zone })).toContain(line)
    if (zone === 'UTC') expect(entry(name, { zone })).not.toContain('winter')
  })

  it('for systemd notifies of a run that was killed, and leaves a failure that has notified alone', () => {
    const [, quoted = ''] =
      /scripstream-failure\.service\n# [\s\S]*?ExecStart="\/bin\/sh" "-c" "(.*)"\n/.exec(
        entry('systemd', { program: ['echo'] }),
      ) ?? []
    const script = quoted.replaceAll('$$', '$').replaceAll('\\"', '"').replaceAll('%%', '%')
    const say = (status?: string) =>
      String(
        spawnSync('sh', ['-c', script], { env: { PATH: process.env.PATH, MONITOR_EXIT_STATUS: status } })
          .stdout,
      )
    const killed =
      'doctor --notify the daily run did not end well --out /srv/market --config /srv/100% market/my.json\n'
    expect([say('137'), say('9'), say(undefined)]).toEqual([killed, killed, killed])
    expect([say('1'), say('2'), say('3'), say('4')]).toEqual(['', '', '', ''])
  })

  const systemd = spawnSync('systemd-analyze', ['--version']).status === 0
  it.skipIf(!systemd)('for systemd passes its own check (skipped where systemd-analyze is missing)', () => {
    const folder = temporaryFolder()
    const [, ...parts] = entry('systemd', {
      program: [process.execPath, '/tmp/x.cjs'],
      folder: '/tmp',
    }).split(/^# ~.*\/(scripstream\S*)$/m)
    const units = Object.fromEntries(
      parts.flatMap((name, place) => (place % 2 === 0 ? [[name, parts[place + 1] ?? '']] : [])),
    )
    expect(Object.keys(units)).toEqual([
      'scripstream.service',
      'scripstream-failure.service',
      'scripstream.timer',
    ])
    for (const [name, text] of Object.entries(units)) writeFileSync(join(folder, name), text)
    const timer = units['scripstream.timer'] ?? ''
    const { stderr } = spawnSync('systemd-analyze', ['verify', join(folder, 'scripstream.timer')], {
      encoding: 'utf8',
    })
    expect(stderr.split('\n').filter((line) => line.includes('scripstream'))).toEqual([])
    const calendar = spawnSync('systemd-analyze', ['calendar', /OnCalendar=(.*)/.exec(timer)?.[1] ?? ''], {
      encoding: 'utf8',
    })
    expect(calendar.status).toBe(0)
  })

  it.each(['launchd', 'task-scheduler'])('for %s is XML with escaped text', (name) => {
    const text = entry(name, { out: '/a & b/<c>' })
    expect(text).toContain('/a &amp; b/&lt;c&gt;')
    expect(text).not.toMatch(/&(?!\w+;)/)
    expect(entry(name, { config: '/srv/my--data/x.json' })).toContain('/srv/my- -data/x.json')
  })
})

describe('the command schedule', () => {
  const runWith =
    (env: NodeJS.ProcessEnv) =>
    async (...args: readonly string[]) => {
      const io = createTestIo({ env })
      const code = await runProgram(['schedule', ...args], io, createTestDependencies())
      return { code, text: io.out.text(), err: io.err.text() }
    }
  const run = runWith({})

  it('prints absolute paths', async () => {
    const config = settingsFile('{}')
    const { code, text } = await run(
      'cron',
      '--out',
      'somewhere',
      '--export-to',
      'market.duckdb',
      '--config',
      config,
    )
    expect(code).toBe(0)
    for (const path of ['--out CWD/somewhere', '--to duckdb:CWD/market.duckdb', `--config ${config}`])
      expect(text.replaceAll("'", '')).toContain(path.replace('CWD', process.cwd()))
  })

  it('says on stderr what the scheduler will lack, and prints no password of a proxy', async () => {
    const env = {
      SCRIPSTREAM_RETRIES: '1',
      SCRIPSTREAM_OUT: 'x',
      HTTPS_PROXY: 'http://me:s3cret@proxy:3128',
      no_proxy: 'a,b',
    }
    const { text, err } = await runWith(env)('cron')
    expect(err).toBe(
      `warning: ${process.cwd()}/scripstream.config.json does not exist; the entry needs it for the addresses of the provider: run "scripstream init" first\n` +
        `warning: the scheduler will not have these variables; set them in ${process.cwd()}/scripstream.config.json: SCRIPSTREAM_RETRIES\n`,
    )
    expect(text).toContain("export HTTPS_PROXY='http://…@proxy:3128' && export NO_PROXY=a,b && ")
    expect(text).not.toContain('s3cret')
  })

  it('has the zone of the machine, whatever TZ is in the shell, and says so', async () => {
    const zone = (await run('cron')).text.match(/in (\S+), the zone of this machine/)?.[1]
    const other = zone === 'Asia/Kathmandu' ? 'Asia/Kolkata' : 'Asia/Kathmandu'
    vi.stubEnv('TZ', other)
    onTestFinished(() => void vi.unstubAllEnvs())
    const { text, err } = await runWith({ TZ: other })('launchd')
    expect(text).toContain(`in ${zone}, the zone of this machine`)
    expect(err).toContain(
      `warning: TZ is ${other} in this shell, but the scheduler uses the zone of the machine, ${zone}: so does this entry\n`,
    )
    expect((await runWith({ TZ: other })('systemd')).err).not.toContain('TZ')
  })

  it('warns of a path in the cache of npx', async () => {
    vi.spyOn(process, 'argv', 'get').mockReturnValue([
      'node',
      '/home/me/.npm/_npx/1/node_modules/.bin/scripstream',
    ])
    onTestFinished(() => void vi.restoreAllMocks())
    const config = settingsFile('{}')
    expect((await run('cron', '--config', config)).err).toBe(
      'warning: /home/me/.npm/_npx/1/node_modules/.bin/scripstream is in the cache of npx, which may be emptied; install scripstream and run this command again\n',
    )
  })

  it.each(['17:59', '23:00', '25:00', 'noon'])('rejects the time %s', async (time) => {
    expect(await run('cron', '--at', time)).toMatchObject({
      code: 2,
      err: expect.stringContaining('is not a time from 18:00 to 22:59'),
    })
  })

  it('rejects an unknown scheduler and lists the known ones', async () => {
    expect((await run('anacron')).err).toContain('cron, systemd, launchd')
  })
})
