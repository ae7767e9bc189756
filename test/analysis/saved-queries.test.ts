import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listSavedQueries, resolveQuery, saveQuery } from '../../src/analysis/saved-queries.js'
import { workedQueries } from '../../src/analysis/worked-queries.js'
import { UsageError } from '../../src/model/errors.js'
import { streams } from '../../streams/registry.js'
import { collected, duckdb, folderWith, rowsOf } from './support.js'

describe('worked queries', () => {
  it('are twenty, each with a name of its own', () => {
    expect(workedQueries).toHaveLength(20)
    expect(new Set(workedQueries.map(({ name }) => name)).size).toBe(20)
  })

  it.each(workedQueries)('$name is found by its name', async ({ name, sql }) =>
    expect(await resolveQuery(` ${name}\n`, '/nowhere')).toBe(sql),
  )
})

describe.skipIf(!duckdb)('worked queries on a run', () => {
  let [out, remove] = ['', (): void => undefined]
  beforeAll(async () => {
    ;({ out, remove } = await collected(120, 300))
  }, 60_000)
  afterAll(() => remove())

  it.each(workedQueries)('$name answers: $about', async ({ sql }) => expect(await rowsOf(sql, out)).not.toEqual([]))
})

describe.skipIf(!duckdb)('saved queries', () => {
  const save = (name: string, sql: string, out: string) => saveQuery({ name, sql, out, streams })

  it('are found by name, before worked ones, and can be replaced', async () => {
    const out = folderWith({})
    await save('mine', 'select 1', out)
    await save('mine', 'select 2', out)
    await save('breakouts', 'from screener', out)
    expect(readFileSync(join(out, '.scripstream/queries/mine.sql'), 'utf8')).toBe('select 2\n')
    expect((await listSavedQueries(out)).map(({ name }) => name)).toEqual(['breakouts', 'mine'])
    expect(await resolveQuery('mine', out)).toBe('select 2\n')
    expect(await resolveQuery('breakouts', out)).toBe('from screener\n')
    expect(await resolveQuery('select 3', out)).toBe('select 3')
  })

  it('must have a name that stays in the folder, and read only', async () => {
    const out = folderWith({})
    for (const name of ['../x', 'a b', 'A', '', '-a']) await expect(save(name, 'select 1', out)).rejects.toThrow(UsageError)
    for (const sql of ['drop table x', "from '/etc/passwd'", "copy (select 1) to 'x'", 'select 1; select 2'])
      await expect(save('mine', sql, out)).rejects.toThrow(UsageError)
    expect(await listSavedQueries(out)).toEqual([])
  })

  it('say which one is meant', async () => {
    await expect(resolveQuery('breakout', '/nowhere')).rejects.toThrow('unknown query: breakout (did you mean breakouts?)')
  })
})
