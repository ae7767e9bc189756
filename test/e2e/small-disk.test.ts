import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { temporariesIn } from '../crash/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { provider, run } from './command.js'
import { DAY_ARGS, expectedOutputs, onOneLine, redirectTo } from './disk.js'

const mount = (path: string, size: string): boolean =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path]).status === 0
const unmount = (path: string) => spawnSync('umount', ['-l', path])

const canMount = (): boolean => {
  const path = temporaryFolder()
  return mount(path, '64k') && unmount(path).status === 0
}
const noMount = canMount() ? '' : ' (skipped: only root may mount a small file system)'

/** A file system of the given size, until the test ends. */
const createSmallDisk = (size: string): { readonly path: string; readonly grow: (to: string) => void } => {
  const path = temporaryFolder()
  expect(mount(path, size)).toBe(true)
  onTestFinished(() => void unmount(path))
  return { path, grow: (to) => void execFileSync('mount', ['-o', `remount,size=${to}`, path]) }
}

// .ci/run runs this file as root, and everything else as an ordinary user.
describe.skipIf(noMount !== '')(`a full disk${noMount}`, () => {
  it('ends the run with an error that names it, leaves good files whole, and the same command resumes once there is space', async () => {
    const disk = createSmallDisk('1m')
    const { env } = await provider()
    const cwd = temporaryFolder()
    const expected = await expectedOutputs(env)
    const { code, stdout } = await run(['run', ...DAY_ARGS, '--out', disk.path], { cwd, env })
    expect(code).toBe(1)
    expect(onOneLine(stdout)).toMatch(/cannot be written: the disk is full/)
    expect(
      Object.entries(hashOutputs(disk.path)).filter(([file, digest]) => expected[file] !== digest),
    ).toEqual([])
    disk.grow('64m')
    const again = await run(['run', ...DAY_ARGS, '--out', disk.path], { cwd, env })
    expect(again.code, again.stderr).toBe(0)
    expect(again.stderr).toContain('Resuming run')
    expect(hashOutputs(disk.path)).toEqual(expected)
    expect(temporariesIn(disk.path)).toEqual([])
  })

  it('of the log changes neither outputs nor exit code, the lock is gone, and the notification is sent', async () => {
    const disk = createSmallDisk('64k')
    const { env } = await provider()
    const expected = { code: 0, outputs: await expectedOutputs(env) }
    writeFileSync(join(disk.path, 'other'), Buffer.alloc(56_000))
    const out = temporaryFolder()
    const told = join(temporaryFolder(), 'told.json')
    const line = `>> ${join(disk.path, 'log')} 2>&1`
    const notify = [
      '--notify',
      `cat > ${told}`,
      '--notify-on',
      'always',
      '--log-file',
      join(disk.path, 'run.log'),
    ]
    const args = ['run', ...DAY_ARGS, '--out', out, '--log-level', 'trace', ...notify]
    const { code } = await run(args, { cwd: out, env, startedBy: redirectTo(line) })
    expect(
      readFileSync(join(disk.path, 'log')).length + readFileSync(join(disk.path, 'run.log')).length,
    ).toBeGreaterThan(1_000)
    expect({ code, outputs: hashOutputs(out) }).toEqual(expected)
    expect(JSON.parse(readFileSync(told, 'utf8'))).toMatchObject({ exitCode: 0 })
    expect(existsSync(join(out, '.scripstream/lock'))).toBe(false)
    const report = readFileSync(join(out, '.scripstream/report.json'), 'utf8')
    expect(report).toContain('stderr cannot be written: the disk is full')
    expect(report).toContain('run.log cannot be written: the disk is full')
  })
})
