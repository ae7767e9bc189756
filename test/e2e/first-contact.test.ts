import { execFileSync, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../support/folders.js'

const ROOT = join(import.meta.dirname, '../..')

/** The command lines of a section of the README. */
const readCommands = (title: string): readonly string[] => {
  const [, section = ''] =
    new RegExp(`\n## ${title}\n(.*?)\n## `, 's').exec(readFileSync(join(ROOT, 'README.md'), 'utf8')) ?? []
  return [...section.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, text = '']) => text.trim().split('\n'))
}

const [start = '', testAll = '', serve = ''] = readCommands('Two commands')

/** Root becomes a user without rights here; whoever else runs this test is one. */
const findUser = (): Pick<SpawnOptions, 'uid' | 'gid'> => {
  if (process.getuid?.() !== 0) return {}
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'nobody'])))
  return { uid: uid ?? 0, gid: gid ?? 0 }
}
const user = findUser()
const READ = `fs.readdirSync(${JSON.stringify(join(ROOT, 'node_modules'))})`
const canRead = spawnSync(process.execPath, ['-e', READ], user).status === 0
const skipped = canRead ? '' : ' (skipped: the user nobody may not read this checkout)'

const COPIED = ['src', 'streams', 'sinks', 'package.json', 'package-lock.json', 'tsconfig.json']

describe.skipIf(!canRead)(`the commands of the README, as a user without rights${skipped}`, () => {
  let project = ''
  let home = ''
  beforeAll(() => {
    const folder = temporaryFolder()
    ;[project, home] = [join(folder, 'a clone'), join(folder, 'home')]
    for (const path of [project, home]) mkdirSync(path)
    for (const name of COPIED) cpSync(join(ROOT, name), join(project, name), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(project, 'node_modules'))
    chmodSync(folder, 0o755)
    if (user.uid !== undefined) execFileSync('chown', ['-Rh', `${user.uid}:${user.gid}`, folder])
  })

  /** Runs a line in a shell of that user. `text` is what it has printed so far. */
  const shell = (line: string) => {
    const env = { PATH: process.env.PATH ?? '', HOME: home }
    const child = spawn('sh', ['-c', line], { ...user, cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const printed = { stdout: '', stderr: '' }
    child.stdout.on('data', (text) => {
      printed.stdout += text
    })
    child.stderr.on('data', (text) => {
      printed.stderr += text
    })
    return { child, printed, ended: once(child, 'close').then(([code]) => code as unknown) }
  }

  it('are the two that install and run, and one that shows the outputs', () => {
    for (const line of [start, testAll]) expect(line).toMatch(/^npm ci && npm (start|test)$/)
    expect(serve).toMatch(/^node dist\/bundle\/cli\/scripstream\.cjs serve --out \.\//)
  })

  it('build it and collect the market without a warning', async () => {
    // What `npm ci` does needs a network: node_modules is there.
    const { printed, ended } = shell(start.replace('npm ci && ', ''))
    expect(await ended, printed.stderr).toBe(0)
    expect(printed.stdout + printed.stderr).not.toMatch(/warn|deprecat|error/i)
    const out = join(project, serve.replace(/.* --out /, ''))
    expect(JSON.parse(readFileSync(join(out, '.scripstream/report.json'), 'utf8'))).toMatchObject({
      outcome: 'complete',
    })
    expect(readdirSync(join(out, 'ohlcv_data')).length).toBeGreaterThan(500)
    expect(JSON.parse(readFileSync(join(out, 'master_isin_map.json'), 'utf8'))).toHaveLength(500)
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('serve the page until %s, and exit with %i', async (signal, code) => {
    const { child, printed, ended } = shell(`exec ${serve}`)
    onTestFinished(() => void child.kill('SIGKILL'))
    await expect.poll(() => printed.stdout).toMatch(/ at http:\S+\d/)
    const origin = /http:\S+\d/.exec(printed.stdout)?.[0] ?? ''
    const page = await fetch(origin)
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<script')])
    const market = await fetch(`${origin}/api/market`)
    expect([market.status, await market.text()]).toEqual([200, expect.stringContaining('"day"')])
    child.kill(signal)
    expect([await ended, printed.stderr]).toEqual([code, ''])
  })
})
