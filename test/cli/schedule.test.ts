import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runProgram } from '../../src/cli/program.js'
import { schedulers } from '../../src/cli/schedule/entries.js'
import type { DailyJob } from '../../src/cli/schedule/job.js'
import { createTestDependencies, createTestIo } from './support.js'

const job: DailyJob = {
  program: ['/opt/my node/node', '/opt/scripstream.cjs'],
  folder: '/srv/100% market',
  out: '/srv/market',
  config: undefined,
  exportTo: undefined,
  minuteOfDay: 18 * 60 + 30,
  offsets: [0, 0],
}
const entry = (name: string, changes: Partial<DailyJob> = {}): string => schedulers[name]?.({ ...job, ...changes }) ?? ''
const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? ''

describe('an entry for a scheduler', () => {
  it.each(Object.keys(schedulers))('for %s runs, verifies and then exports', (name) => {
    const text = entry(name, { exportTo: 'market.duckdb' }).replaceAll(/["']/g, '')
    const [run, verify, exported] = [
      text.search(/run --quiet --out/),
      text.search(/verify --quiet --out/),
      text.search(/export --out .*market\.duckdb/),
    ]
    expect(run).toBeGreaterThan(0)
    expect(verify).toBeGreaterThan(run)
    expect(exported).toBeGreaterThan(verify)
  })

  it('for cron has the local time of 18:30 in India', () => {
    expect(lastLine(entry('cron'))).toMatch(/^0 13 \* \* 1,2,3,4,5 /)
    expect(lastLine(entry('cron', { offsets: [330, 330] }))).toMatch(/^30 18 \* \* 1,2,3,4,5 /)
  })

  it('for cron has the later time in a zone with daylight saving, and the next day where it is one', () => {
    expect(lastLine(entry('cron', { offsets: [-300, -240] }))).toMatch(/^0 9 \* \* 1,2,3,4,5 /)
    expect(lastLine(entry('cron', { offsets: [780, 720] }))).toMatch(/^0 2 \* \* 2,3,4,5,6 /)
  })

  it('for cron quotes blanks, and per cent signs, which cron reads as line ends', () => {
    const line = lastLine(entry('cron'))
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
    const folder = mkdtempSync(join(tmpdir(), 'scripstream-units-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
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
  })
})

describe('the command schedule', () => {
  const run = async (...args: readonly string[]) => {
    const io = createTestIo()
    const code = await runProgram(['schedule', ...args], io, createTestDependencies())
    return { code, text: io.out.text(), err: io.err.text() }
  }

  it('prints absolute paths', async () => {
    const { code, text } = await run('--print', 'cron', '--out', 'somewhere')
    expect(code).toBe(0)
    expect(text).toContain(`--out ${process.cwd()}/somewhere`)
  })

  it.each(['17:59', '25:00', 'noon'])('rejects the time %s', async (time) => {
    expect(await run('--print', 'cron', '--at', time)).toMatchObject({
      code: 2,
      err: expect.stringContaining('is not a time from 18:00 to 23:59'),
    })
  })

  it('rejects an unknown scheduler and lists the known ones', async () => {
    expect((await run('--print', 'anacron')).err).toContain('cron, systemd, launchd')
  })
})
