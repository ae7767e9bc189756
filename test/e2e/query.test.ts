import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { duckdb } from '../tables/support.js'
import { emptyFolder, main } from './command.js'

/** What a shell makes of a query whose stdin is a pipe, a file or nothing; the command is `"$@"`. */
const ended = (line: string, ...args: readonly string[]) => {
  const { PATH = '' } = process.env
  const options = { encoding: 'utf8', timeout: 20_000, cwd: emptyFolder(), env: { PATH } } as const
  const { status, stdout, stderr } = spawnSync('sh', ['-c', line, 'sh', process.execPath, main, 'query', ...args], options)
  return { status, stdout, stderr }
}

it.skipIf(!duckdb)('answers a statement that is piped in', () => {
  expect(ended('echo "values (1), (2)" | "$@"', '--out', '.')).toEqual({ status: 0, stdout: 'col0\n1\n2\n', stderr: '' })
  expect(ended('echo "values (3)" | "$@"', '-', '--out', '.', '--json')).toMatchObject({ status: 0, stdout: '[\n{"col0":3}\n]\n' })
})

it.each([': | "$@"', '"$@" < /dev/null', '"$@" - < /dev/null', '"$@" <&-'])('ends with 2 where nothing is piped in: %s', (line) => {
  const { status, stdout, stderr } = ended(line)
  expect([status, stdout]).toEqual([2, ''])
  expect(stderr).toContain('error: query: no statement on stdin\n')
})

it('shows programs the tables, though their pipe stays open', () => {
  const { status, stdout } = ended('mkfifo pipe && exec 3<> pipe && "$@" <&3', '--json')
  expect(status).toBe(0)
  expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ name: 'candles' }))
})
