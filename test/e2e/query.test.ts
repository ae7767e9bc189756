import { spawnSync } from 'node:child_process'
import { expect, inject, it } from 'vitest'
import { temporaryFolder } from '../support/folders.js'
import { duckdb } from '../tables/support.js'
import { main } from './command.js'

/** Runs a query in a shell with a pipe, a file or nothing as stdin; the command is `"$@"`. */
const ended = (line: string, ...args: readonly string[]) => {
  const { PATH = '' } = process.env
  const options = {
    encoding: 'utf8',
    timeout: inject('waitMs'),
    cwd: temporaryFolder(),
    env: { PATH },
  } as const
  const { status, stdout, stderr } = spawnSync(
    'sh',
    ['-c', line, 'sh', process.execPath, main, 'query', ...args],
    options,
  )
  return { status, stdout, stderr }
}

it.skipIf(!duckdb)('runs a statement from stdin', () => {
  expect(ended('echo "values (1), (2)" | "$@"', '--out', '.')).toEqual({
    status: 0,
    stdout: 'col0\n1\n2\n',
    stderr: '',
  })
  expect(ended('echo "values (3)" | "$@"', '-', '--out', '.', '--json')).toMatchObject({
    status: 0,
    stdout: '[\n{"col0":3}\n]\n',
  })
})

it('exits with 2 if stdin is to have a statement and has none', () => {
  const { status, stdout, stderr } = ended('"$@" - < /dev/null')
  expect([status, stdout]).toEqual([2, ''])
  expect(stderr).toContain('error: query: no statement on stdin\n')
})

it.each([': | "$@"', '"$@" < /dev/null', '"$@" <&-'])(
  'lists the tables without a statement, also without a terminal: %s',
  (line) => {
    const { status, stdout, stderr } = ended(line)
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^table +what a row is\n/)
  },
)

it('lists the tables for programs whose pipe stays open', () => {
  const { status, stdout } = ended('mkfifo pipe && exec 3<> pipe && "$@" <&3', '--json')
  expect(status).toBe(0)
  expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ name: 'candles' }))
})
