import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { EMPTY } from 'rxjs'
import { afterAll, describe, expect, it } from 'vitest'
import { runProgram } from '../../src/cli/program.js'
import type { ExitSignal } from '../../src/cli/signals.js'
import { streams } from '../../streams/registry.js'
import { duckdb, folderWith } from '../tables/support.js'
import { createTestDependencies, createTestIo } from './support.js'

const sound = folderWith({ 'master_isin_map.json': [{ Symbol: 'INFY', ISIN: 'INE009A01021' }] })
const damaged = folderWith({ 'master_isin_map.json': '[{' })
afterAll(() => {
  for (const folder of [sound, damaged]) rmSync(folder, { recursive: true })
})

const ended = async (args: readonly string[], signal?: ExitSignal) => {
  const io = createTestIo()
  const code = runProgram(args, io, createTestDependencies(EMPTY, { streams }))
  if (signal) {
    await new Promise(setImmediate)
    io.signal$.next(signal)
  }
  return { code: await code }
}

const place = join(sound, 'market.duckdb')

interface Provoked {
  readonly command: string
  readonly cases: readonly (readonly [code: number, args: readonly string[]])[]
}

describe.skipIf(!duckdb).each<Provoked>([
  {
    command: 'query',
    cases: [
      [0, ['from master', '--out', sound]],
      [1, ['from master', '--out', damaged]],
      [2, ['drop table master', '--out', sound]],
      [2, ['from master', '--out', join(sound, 'gone')]],
    ],
  },
  {
    command: 'export',
    cases: [
      [0, ['--to', place, '--out', sound]],
      [1, ['--to', place, '--out', damaged]],
      [2, ['--to', 'market', '--out', sound]],
      [2, ['--to', place, '--out', join(sound, 'gone')]],
    ],
  },
])('the exit codes of $command', ({ command, cases }) => {
  const [[, args] = [0, []]] = cases

  it.each(cases)('have %i for %j', async (code, typed) =>
    expect(await ended([command, ...typed])).toMatchObject({ code }),
  )

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('tell of %s', async (signal, code) =>
    expect(await ended([command, ...args], signal)).toMatchObject({ code }),
  )
})
