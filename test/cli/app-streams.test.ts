import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findModules, loadStreams, takeStreamsOption } from '../../src/cli/app-streams.js'
import { runProgram } from '../../src/cli/program.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { createTestDependencies, createTestIo } from './support.js'

const define = (name: string, facts = ''): string => `{
  name: '${name}', summary: 'a stream of an app', phase: 'enrichment', workers: 1, timeoutMs: 1000, endpoints: [],
  work: { parts: [{ key: 'all', rank: 0, fileName: 'all', value: 'all' }], each: () => [] }, outputs: [{ shape: 'array-per-item', file: '${name}.json' }], ${facts}
}`

const createModule = (text: string): string => {
  const folder = temporaryFolder()
  const path = join(folder, 'streams.mjs')
  writeFileSync(path, text)
  return path
}

const load = async (text: string) => loadStreams(streams, findModules(['list'], [createModule(text)], {}))

describe('--streams', () => {
  it('adds the streams that a module exports, alone or as a list, behind the built-in ones', async () => {
    const exports = `export const one = ${define('one')}\nexport const limit = 5\nexport const two = ${define('two')}`
    expect((await load(exports)).map(({ name }) => name)).toEqual([
      ...streams.map(({ name }) => name),
      'one',
      'two',
    ])
    const list = await load(`export const streams = [${define('one')}]\nexport const two = ${define('two')}`)
    expect(list.at(-1)?.name).toBe('one')
    expect(list).toHaveLength(streams.length + 1)
  })

  it.each([
    ['export const limit = 5', 'exports no stream; export what defineStream returns'],
    ['export const streams = [{ name: 5 }]', 'element 1 of streams in'],
    ['throw new Error("no database")', 'no database'],
    ['export const', 'cannot load'],
    [`export const one = ${define('market-news')}`, 'duplicate stream name: market-news'],
    [
      `export const one = ${define('one', "outputs: [{ shape: 'text', file: 'master_isin_map.json' }]")}`,
      'duplicate output master_isin_map.json: master-data and one',
    ],
    [
      `export const one = ${define('one', "outputs: [{ shape: 'text', file: 'a', tables: [{ name: 'news', about: '', columns: [] }] }]")}`,
      'duplicate table news: market-news and one',
    ],
    [`export const one = ${define('one', 'workers: 0')}`, 'invalid stream "one": workers: '],
    [`export const one = ${define('One')}`, 'invalid stream "One": name: use lower-case letters'],
    [`export const one = ${define('one', "phase: 'late'")}`, 'invalid stream "one": phase: '],
  ])('refuses %s', async (text, why) => {
    await expect(load(text)).rejects.toThrow(why)
  })

  it('is read before the command, with = or a space, and not behind --', () => {
    expect(
      takeStreamsOption(['run', '--streams', 'a.js', '--out', 'x', '--streams=b.js', '--', '--streams', 'c']),
    ).toEqual({
      rest: ['run', '--out', 'x', '--', '--streams', 'c'],
      values: ['a.js', 'b.js'],
    })
  })

  it('comes from the variable or the settings file, whose paths are relative to the file', async () => {
    const path = createModule(`export const one = ${define('one')}`)
    const config = join(path, '../settings.json')
    writeFileSync(config, '{"streams":"./streams.mjs","workers":{"one":3}}')
    const args = ['query', '--config', config]
    expect((await loadStreams(streams, findModules(args, [], {}))).at(-1)?.name).toBe('one')
    const env = { SCRIPSTREAM_STREAMS: path }
    expect((await loadStreams(streams, findModules(['list'], [], env))).at(-1)?.name).toBe('one')
    // Help needs no streams.
    expect(findModules(['run', '--help'], ['/no/such.js'], env)).toEqual([])
  })

  it('makes the names known to the commands, and a missing file wrong usage', async () => {
    const path = createModule(`export const one = ${define('one')}`)
    const run = async (...args: readonly string[]) => {
      const io = createTestIo({ env: {} })
      return { code: await runProgram(args, io, createTestDependencies(undefined, { streams })), io }
    }
    expect((await run('list', '--streams', path)).io.out.text()).toContain('a stream of an app')
    expect((await run('list', '--graph', `--streams=${path}`)).io.out.text()).toContain('one.json')
    expect((await run('run', '--only', 'ones', '--streams', path)).io.err.text()).toContain(
      'unknown stream "ones" (did you mean one?)',
    )
    const missing = await run('list', '--streams', '/no/such.js')
    expect([missing.code, missing.io.err.text()]).toEqual([
      2,
      'error: --streams: the file /no/such.js does not exist\n',
    ])
  })
})
