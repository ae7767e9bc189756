import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { runProgram } from '../../src/cli/program.js'
import { type DailyJob, schedulers } from '../../src/cli/schedule/entries.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { createTestDependencies, createTestIo, settingsFile } from './support.js'

const job: DailyJob = {
  program: ['/opt/my node/node', '/opt/scripstream.cjs'],
  folder: '/srv/100% market',
  out: '/srv/market',
  config: '/srv/100% market/my.json',
  variables: {},
  needed: ['SCRIPSTREAM_NEWS_URL', 'SCRIPSTREAM_SHEET_ID'],
  exportTo: undefined,
  minuteOfDay: 18 * 60 + 30,
  offsets: [0, 0],
}
const entry = (name: string, changes: Partial<DailyJob> = {}): string => schedulers[name]?.({ ...job, ...changes }) ?? ''
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

  it.each(['cron', 'systemd', 'launchd', 'task-scheduler'])(
    'for %s names the settings file in each command, and where the addresses are',
    (name) => {
      const text = entry(name, { exportTo: 'market.duckdb' })
      expect(text.replaceAll('&quot;', '"').match(/--config\W+srv\/100\\?%%? market\/my\.json/g)).toHaveLength(name === 'cron' ? 6 : 3)
      expect(text).toContain('The addresses of the provider are in /srv/100% market/my.json')
      expect(text).toContain('notify')
    },
  )

  it.each(['cron', 'systemd', 'launchd', 'task-scheduler'])('for %s sets the proxy of this machine', (name) => {
    const text = entry(name, { variables: { HTTPS_PROXY: 'http://…@proxy:3128' } })
    expect(text.replaceAll(/["']|&quot;/g, '')).toContain('HTTPS_PROXY=http://…@proxy:3128')
    expect(text).toContain('Replace … by the user name and the password of the proxy.')
    expect(entry(name)).not.toMatch(/HTTPS_PROXY|Replace/)
  })

  it.each(['github-actions', 'docker'])('for %s names every variable, and no file of this machine', (name) => {
    const text = entry(name, { exportTo: 'market.duckdb', variables: { HTTPS_PROXY: 'http://proxy' } })
    for (const variable of [...job.needed, 'SCRIPSTREAM_HEADERS', 'SCRIPSTREAM_NOTIFY']) expect(text).toContain(variable)
    expect(text).not.toMatch(/my\.json|http:\/\/proxy/)
  })

  it('for GitHub takes each variable from a secret, and keeps what is exported', () => {
    const text = entry('github-actions', { exportTo: 'parquet:tables' })
    for (const variable of job.needed) expect(text).toContain(`      ${variable}: \${{ secrets.${variable} }}\n`)
    expect(text).toContain('with: { name: market, path: "data\\ntables", include-hidden-files: true }')
    expect(entry('github-actions')).toContain('with: { name: market, path: data, include-hidden-files: true }')
  })

  it('for GitHub stores the state of a run that failed, too, under a key of its own, and one run waits for another', () => {
    const text = entry('github-actions')
    const key = `key: 'data-\${{ github.run_id }}-\${{ github.run_attempt }}'`
    expect(text).toContain(`      - uses: actions/cache/restore@v4\n        with: { path: data, ${key}, restore-keys: data- }\n`)
    expect(text).toContain(`      - uses: actions/cache/save@v4\n        if: always()\n        with: { path: data, ${key} }\n`)
    expect(text.indexOf('cache/restore')).toBeLessThan(text.indexOf(' run --quiet'))
    expect(text.indexOf('cache/save')).toBeGreaterThan(text.indexOf('verify --quiet'))
    expect(text).toContain('\nconcurrency: scripstream\n')
    expect(text).not.toMatch(/actions\/cache@/)
  })

  const seconds: Readonly<Record<string, RegExp>> = {
    cron: /^0 13 \* \* 1,2,3,4,5 cd .*\n0 15 \* \* 1,2,3,4,5 cd .*\n$/m,
    systemd: /^OnCalendar=Mon\.\.Fri 18:30 Asia\/Kolkata\nOnCalendar=Mon\.\.Fri 20:30 Asia\/Kolkata\n/m,
    launchd: /(.*<integer>13<.*\n){5}(.*<integer>15<.*\n){5}/,
    'task-scheduler': /T18:30:00\+05:30.*T20:30:00\+05:30/s,
    'github-actions': /- cron: '0 13 \* \* 1,2,3,4,5'\n {4}- cron: '0 15 \* \* 1,2,3,4,5'\n/,
    docker: /Monday to Friday at 18:30 and 20:30 IST/,
  }
  it.each(Object.keys(schedulers))('for %s has a second attempt once everything is published, and says what it requests', (name) => {
    expect(entry(name)).toMatch(seconds[name] ?? /never/)
    expect(entry(name)).toContain('The second attempt requests only what is missing or due since the first: price bands and deals')
  })

  it('has the second attempt an hour later, and not before everything of the session is published', () => {
    const times = (minuteOfDay: number) => entry('systemd', { minuteOfDay }).match(/(?<=Mon\.\.Fri )\S+/g)
    expect(times(18 * 60)).toEqual(['18:00', '20:30'])
    expect(times(19 * 60 + 45)).toEqual(['19:45', '20:45'])
    expect(times(22 * 60 + 59)).toEqual(['22:59', '23:59'])
    expect(streams.flatMap(({ publishedAt = '' }) => (publishedAt >= '20:30' ? [publishedAt] : []))).toEqual([])
  })

  it('for systemd says how the timer of a user goes on after a log-out', () => {
    expect(entry('systemd')).toContain('# Without the next command, the timer stops when you log out: loginctl enable-linger\n')
  })

  it('for Docker runs as the owner of the folder, and answers queries', () => {
    const text = entry('docker')
    expect(text).toContain('docker run --rm --user "$(id -u):$(id -g)" -v "$PWD/data:/data" --env-file provider.env scripstream\n')
    expect(text).toMatch(/ scripstream scripstream query "select .*"\n/)
    expect(text).toContain('mkdir -p data\n')
    expect(text).toContain('\nENV SCRIPSTREAM_OUT=/data\n')
    expect(text).toContain('.tgz @duckdb/node-api && rm')
  })

  it('for Docker installs what an export needs', () => {
    expect(entry('docker', { exportTo: 'postgres://db/market' })).toContain('.tgz @duckdb/node-api postgres && rm')
    expect(entry('docker', { exportTo: 'screener.xlsx' })).toContain('.tgz @duckdb/node-api write-excel-file && rm')
  })

  it('for cron has the local time of 18:30 in India', () => {
    expect(firstLine(entry('cron'))).toMatch(/^0 13 \* \* 1,2,3,4,5 /)
    expect(firstLine(entry('cron', { offsets: [330, 330] }))).toMatch(/^30 18 \* \* 1,2,3,4,5 /)
  })

  it('for cron has the later time in a zone with daylight saving, and the next day where it is one', () => {
    expect(firstLine(entry('cron', { offsets: [-300, -240] }))).toMatch(/^0 9 \* \* 1,2,3,4,5 /)
    expect(firstLine(entry('cron', { offsets: [780, 720] }))).toMatch(/^0 2 \* \* 2,3,4,5,6 /)
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

  const systemd = spawnSync('systemd-analyze', ['--version']).status === 0
  it.skipIf(!systemd)('for systemd passes its own check (skipped where systemd-analyze is missing)', () => {
    const folder = temporaryFolder()
    const [, service = '', timer = ''] = entry('systemd', { program: [process.execPath, '/tmp/x.cjs'], folder: '/tmp' }).split(
      /^# ~.*\/scripstream\.(?:service|timer)$/m,
    )
    writeFileSync(join(folder, 'scripstream.service'), service)
    writeFileSync(join(folder, 'scripstream.timer'), timer)
    const { stderr } = spawnSync('systemd-analyze', ['verify', join(folder, 'scripstream.timer')], { encoding: 'utf8' })
    expect(stderr.split('\n').filter((line) => line.includes('scripstream'))).toEqual([])
    const calendar = spawnSync('systemd-analyze', ['calendar', /OnCalendar=(.*)/.exec(timer)?.[1] ?? ''], { encoding: 'utf8' })
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
    const { code, text } = await run('--print', 'cron', '--out', 'somewhere', '--export-to', 'market.duckdb', '--config', config)
    expect(code).toBe(0)
    for (const path of ['--out CWD/somewhere', '--to duckdb:CWD/market.duckdb', `--config ${config}`])
      expect(text).toContain(path.replace('CWD', process.cwd()))
  })

  it('says on stderr what the scheduler will lack, and prints no password of a proxy', async () => {
    const env = { SCRIPSTREAM_RETRIES: '1', SCRIPSTREAM_OUT: 'x', HTTPS_PROXY: 'http://me:s3cret@proxy:3128', no_proxy: 'a,b' }
    const { text, err } = await runWith(env)('--print', 'cron')
    expect(err).toBe(
      `warning: ${process.cwd()}/scripstream.config.json does not exist; the entry needs it for the addresses of the provider: run "scripstream init" first\n` +
        `warning: the scheduler will not have these variables; set them in ${process.cwd()}/scripstream.config.json: SCRIPSTREAM_RETRIES\n`,
    )
    expect(text).toContain("export HTTPS_PROXY='http://…@proxy:3128' && export NO_PROXY=a,b && ")
    expect(text).not.toContain('s3cret')
    expect((await runWith(env)('--print', 'docker')).err).toBe('')
  })

  it('warns of a path in the cache of npx', async () => {
    vi.spyOn(process, 'argv', 'get').mockReturnValue(['node', '/home/me/.npm/_npx/1/node_modules/.bin/scripstream'])
    onTestFinished(() => void vi.restoreAllMocks())
    const config = settingsFile('{}')
    expect((await run('--print', 'cron', '--config', config)).err).toBe(
      'warning: /home/me/.npm/_npx/1/node_modules/.bin/scripstream is in the cache of npx, which may be emptied; install scripstream and run this command again\n',
    )
    expect((await run('--print', 'docker', '--config', config)).err).toBe('')
  })

  it.each(['17:59', '23:00', '25:00', 'noon'])('rejects the time %s', async (time) => {
    expect(await run('--print', 'cron', '--at', time)).toMatchObject({
      code: 2,
      err: expect.stringContaining('is not a time from 18:00 to 22:59'),
    })
  })

  it.each(['docker', 'github-actions'])('refuses an export to a path that %s does not keep', async (name) => {
    for (const target of ['/srv/market.duckdb', 'parquet:tables/../..'])
      expect(await run('--print', name, '--export-to', target)).toMatchObject({
        code: 2,
        err: `error: --export-to: ${name} does not keep ${JSON.stringify(target.replace('parquet:', ''))}; use a relative path such as market.duckdb\n`,
      })
    expect((await run('--print', name, '--export-to', 'tables/market.duckdb')).text).toContain('tables/market.duckdb')
  })

  it('rejects an unknown scheduler and lists the known ones', async () => {
    expect((await run('--print', 'anacron')).err).toContain('cron, systemd, launchd')
  })
})
