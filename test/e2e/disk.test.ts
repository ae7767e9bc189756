import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporariesIn } from '../crash/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { endOf, provider, run, start } from './command.js'
import { DAY_ARGS, expectedOutputs, onOneLine, redirectTo } from './disk.js'

/**
 * What starts a command that may read every file but not write everywhere. Root ignores the mode of a folder
 * only with a capability, which is dropped here; another user might not be allowed to read this checkout.
 */
const obeyingModes =
  process.getuid?.() === 0 ? ['setpriv', '--inh-caps=-dac_override', '--bounding-set=-dac_override'] : []
const canObeyModes =
  obeyingModes.length === 0 || spawnSync('setpriv', [...obeyingModes.slice(1), 'true']).status === 0
const noModes = canObeyModes
  ? ''
  : ' (skipped: root obeys the mode of a folder only with setpriv of util-linux)'

describe('a full disk of stdout or stderr', () => {
  const noDevice = existsSync('/dev/full') ? '' : ' (skipped: there is no /dev/full)'
  it.skipIf(noDevice !== '')(
    `is a warning of the run, and an error of one sentence for "query" and "brief"${noDevice}`,
    async () => {
      const { env } = await provider()
      const expected = { code: 0, outputs: await expectedOutputs(env) }
      for (const line of ['> /dev/full', '2> /dev/full', '> /dev/full 2>&1']) {
        const out = temporaryFolder()
        const { code, stderr } = await run(['run', ...DAY_ARGS, '--out', out, '--progress', 'lines'], {
          cwd: out,
          env,
          startedBy: redirectTo(line),
        })
        expect({ code, outputs: hashOutputs(out) }, line).toEqual(expected)
        if (line === '> /dev/full')
          expect(stderr).toContain(
            'warning: stdout cannot be written: the disk is full; the run goes on without it',
          )
        const error = 'error: stdout cannot be written: the disk is full\n'
        if (line === '> /dev/full')
          for (const args of [['query', 'select * from master'], ['brief'], ['history', '--runs', '--json']])
            expect(
              await run([...args, '--out', out], { cwd: out, env, startedBy: redirectTo(line) }),
            ).toEqual({
              code: 1,
              stdout: '',
              stderr: error,
            })
      }
    },
  )
})

describe('a read-only folder', () => {
  it.skipIf(!canObeyModes)(`ends the run before the first request${noModes}`, async () => {
    const { simulator, env } = await provider()
    const cwd = temporaryFolder()
    mkdirSync(join(cwd, 'data'), { mode: 0o555 })
    const { code, stderr } = await run(['run', ...DAY_ARGS, '--out', join(cwd, 'data')], {
      cwd,
      env,
      startedBy: obeyingModes,
    })
    expect(code).toBe(1)
    expect(stderr).toMatch(/data\/\.scripstream cannot be written: permission denied/)
    expect(simulator.stats().endpoints).toEqual({})
  })
})

describe('a name conflict', () => {
  it('is reported with path and cause, and the same command resumes without it', async () => {
    const { simulator, env } = await provider()
    const [cwd, out] = [temporaryFolder(), temporaryFolder()]
    const path = join(out, 'market_news', `${simulator.market.stocks[0]?.Symbol}_news.json`)
    mkdirSync(path, { recursive: true })
    const { code, stdout } = await run(['run', ...DAY_ARGS, '--out', out], { cwd, env })
    expect(code).toBe(1)
    expect(onOneLine(stdout)).toMatch(/cannot be written: a directory has that name/)
    expect(onOneLine(stdout)).toContain(join(out, 'market_news'))
    expect(temporariesIn(out)).toEqual([])

    rmSync(path, { recursive: true })
    const again = await run(['run', ...DAY_ARGS, '--out', out], { cwd, env })
    expect(again.code, again.stderr).toBe(0)
    expect(again.stderr).toContain('Resuming run')
  })
})

describe('too few file descriptors', () => {
  it('end the run with advice, and the same command resumes with more', async () => {
    const { env } = await provider({ stocks: 120, latencyMs: 50 })
    const cwd = temporaryFolder()
    const out = temporaryFolder()
    const { code, stdout } = await run(['run', ...DAY_ARGS, '--out', out], { cwd, env, descriptors: 140 })
    expect(code, stdout).toBe(1)
    expect(onOneLine(stdout)).toMatch(/too many open files.*ulimit -n/)
    expect(temporariesIn(out)).toEqual([])
    const again = await run(['run', ...DAY_ARGS, '--out', out], { cwd, env })
    expect(again.code, again.stderr).toBe(0)
    expect(again.stderr).toContain('Resuming run')
  })

  it('are shared by a simulated run and its simulator, which uses fewer workers and says so', async () => {
    const place = { cwd: temporaryFolder(), descriptors: 256 }
    const { code, stdout, stderr } = await run(['run', '--simulate=60'], place)
    expect(code, stdout).toBe(0)
    const [first, ...more] = stderr.split('\n')
    expect(first).toMatch(
      /^Only 256 files may be open \(ulimit -n\), for the run and its simulator together: each stream has 2 workers\.$/,
    )
    expect(more.join('\n')).not.toContain('ulimit')
    expect((await run(['run', '--simulate=8', '--out', 'quiet', '-q'], place)).stderr).toBe('')
  })
})

describe('a temporary file of an interrupted write', () => {
  it('is deleted by the next run, and no other file is', async () => {
    const { env } = await provider({ stocks: 3 })
    const cwd = temporaryFolder()
    const out = temporaryFolder()
    mkdirSync(join(out, 'market_news'))
    const left = '.TCS_news.json.0b24bdf2-8a5e-4f0c-9d27-6a1a6c1f9a11.tmp'
    for (const name of [left, '.mine.tmp', 'notes.tmp']) {
      writeFileSync(join(out, name), 'x')
      writeFileSync(join(out, 'market_news', name), 'x')
    }
    expect((await run(['run', ...DAY_ARGS, '--out', out], { cwd, env })).code).toBe(0)
    expect([...temporariesIn(out)].sort()).toEqual([
      '.mine.tmp',
      'market_news/.mine.tmp',
      'market_news/notes.tmp',
      'notes.tmp',
    ])
  })
})

describe('two runs into one folder', () => {
  it('are prevented: the second exits with 1 and names the lock holder', async () => {
    const { simulator, env } = await provider({ latencyMs: 2_000 })
    const cwd = temporaryFolder()
    const out = temporaryFolder()
    const first = start(['run', ...DAY_ARGS, '--out', out, '--only', 'all-indices'], { cwd, env })
    const ending = endOf(first)
    while (Object.keys(simulator.stats().endpoints).length === 0)
      await new Promise((resolve) => setImmediate(resolve))
    // It holds the lock, however long the second one takes.
    first.kill('SIGSTOP')
    const second = await run(['run', ...DAY_ARGS, '--out', out], { cwd, env })
    expect(second.code).toBe(1)
    expect(second.stderr).toMatch(/another run is using this folder: process \d+ on /)
    first.kill('SIGCONT')
    expect((await ending).code).toBe(0)
    expect(readdirSync(join(out, '.scripstream')).sort()).toEqual([
      'format.json',
      'full-run.json',
      'history',
      'output-digests',
      'previous',
      'report.json',
      'runs.ndjson',
      'source.json',
    ])
    expect(JSON.parse(readFileSync(join(out, '.scripstream', 'report.json'), 'utf8'))).toMatchObject({
      outcome: 'complete',
    })
  })
})
