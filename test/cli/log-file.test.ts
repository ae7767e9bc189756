import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { of, tap } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { runProgram } from '../../src/cli/program.js'
import { openLogFile } from '../../src/cli/run/log.js'
import { temporaryFolder } from '../support/folders.js'
import { createTestDependencies, createTestIo, runReport } from './support.js'

const linesOf = (path: string) =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)

describe('the log file', () => {
  it('has one JSON object per line, with the time as text and the id of the run from its first event on', async () => {
    const path = join(temporaryFolder(), 'run.log')
    const log = openLogFile(path, 'info')
    log.info({ reason: 'early' }, 'before')
    log.debug({ run: 'r1' }, 'run-started')
    log.warn({ item: 'TCS', reason: 'line\nbreak' }, 'settled')
    expect(linesOf(path)).toEqual([
      { level: 'info', time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/), reason: 'early', msg: 'before' },
      {
        level: 'warn',
        time: expect.any(String),
        run: 'r1',
        item: 'TCS',
        reason: 'line\nbreak',
        msg: 'settled',
      },
    ])
  })

  it('continues an earlier file, and loses no line if it is renamed in between', () => {
    const path = join(temporaryFolder(), 'run.log')
    appendFileSync(path, '{"msg":"earlier"}\n')
    const log = openLogFile(path, 'info')
    log.info({}, 'first')
    renameSync(path, `${path}.1`)
    log.info({}, 'second')
    expect([`${path}.1`, path].map((file) => linesOf(file).map(({ msg }) => msg))).toEqual([
      ['earlier', 'first'],
      ['second'],
    ])
  })

  it('that cannot be written any more is reported once, and stops no run', async () => {
    const folder = join(temporaryFolder(), 'logs')
    mkdirSync(folder)
    const file = join(folder, 'run.log')
    const io = createTestIo()
    const event$ = of({ type: 'run-finished', at: 0, report: runReport() } as const).pipe(
      tap(() => rmSync(folder, { recursive: true })),
    )
    expect(await runProgram(['run', '--log-file', file], io, createTestDependencies(event$))).toBe(0)
    expect(io.err.text()).toBe(
      `warning: the log file ${file} cannot be written: its folder does not exist or cannot be created; the run goes on without it\n`,
    )
  })
})

describe('the command run', () => {
  const run = async (...args: readonly string[]) => {
    const io = createTestIo()
    const event$ = of({ type: 'run-finished', at: 0, report: runReport() } as const)
    const code = await runProgram(['run', ...args], io, createTestDependencies(event$))
    return { code, out: io.out.text(), err: io.err.text() }
  }

  it('ends with 2 before the first request if the log file cannot be written', async () => {
    expect(await run('--log-file', '/no/such/folder/run.log')).toEqual({
      code: 2,
      out: '',
      err: 'error: the log file /no/such/folder/run.log cannot be written: its folder does not exist or cannot be created\n',
    })
  })

  it('logs how the command ended, and prints the same as without a log file', async () => {
    const path = join(temporaryFolder(), 'run.log')
    expect(await run('--log-file', path)).toEqual(await run())
    expect(linesOf(path)).toMatchObject([
      { level: 'info', outcome: 'complete', exitCode: 0, msg: 'command-ended' },
    ])
  })
})
