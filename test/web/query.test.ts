import { afterEach, describe, expect, it, vi } from 'vitest'
import { createQueryRunner, listQueries } from '../../src/web/server/query.js'
import { createQueue } from '../../src/web/server/queue.js'
import { marketWith, stock } from '../show/support.js'
import { duckdb } from '../tables/support.js'

const folder = marketWith({
  'master_isin_map.json': [stock('A'), stock('B', 'INE000000002')],
  '.scripstream/queries/mine.sql': 'from master\n',
})
const { signal } = new AbortController()
/** Counts for minutes. */
const ENDLESS = 'select sum(a.range * b.range % 7) as n from range(1000000) a, range(1000000) b'

describe('queries of the page', () => {
  it('are the saved ones and the worked ones, with the tables that there are', async () => {
    const { queries, tables } = await listQueries(folder)
    expect(queries[0]).toMatchObject({ name: 'mine', sql: 'from master\n', isSaved: true })
    expect(queries.some(({ name, isSaved }) => name === 'breakouts' && !isSaved)).toBe(true)
    expect(tables.find(({ name }) => name === 'screener')?.columns).toContain('close_inr')
  })
})

describe.skipIf(!duckdb)('a query of the page', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('answers rows as exact text, with their columns', async () => {
    const answer = await createQueryRunner(folder)(
      { sql: 'select symbol, 12345678901234567890::hugeint as n, null as x from master order by 1' },
      signal,
    )
    expect(answer).toMatchObject({
      columns: [
        { name: 'symbol', isNumber: false },
        { name: 'n', isNumber: true },
        { name: 'x', isNumber: true },
      ],
      rows: [
        ['A', '12345678901234567890', null],
        ['B', '12345678901234567890', null],
      ],
      isCut: false,
    })
  })

  it('names a recorded day that is damaged and left out', async () => {
    const damaged = marketWith({
      'master_isin_map.json': [stock('A')],
      '.scripstream/history/2026-02-05/20260205T130000Z/record.json': 'x',
    })
    const answer = await createQueryRunner(damaged)({ sql: 'select count(*) from history.master' }, signal)
    expect(answer).toMatchObject({
      rows: [['0']],
      warnings: [expect.stringContaining('2026-02-05/20260205T130000Z/record.json cannot be read')],
    })
    expect(
      await createQueryRunner(folder)({ sql: 'select count(*) from history.master' }, signal),
    ).not.toHaveProperty('warnings')
  })

  it('is cut at the limit, and says so', async () => {
    const run = createQueryRunner(folder)
    expect(await run({ sql: 'from range(5)', limit: 3 }, signal)).toMatchObject({
      rows: [['0'], ['1'], ['2']],
      isCut: true,
    })
    expect(await run({ sql: 'from range(3)', limit: 3 }, signal)).toMatchObject({ isCut: false })
    expect((await run({ sql: 'from range(50000)', limit: 1e9 }, signal)).rows).toHaveLength(10_000)
  })

  it.each([
    ["copy master to '/tmp/x'", 'query is read-only'],
    ['delete from master', 'query is read-only'],
    ["from read_csv('/etc/passwd')", 'is not permitted'],
    ["from '/etc/passwd'", 'is not a table'],
    ['set threads = 99', 'query is read-only'],
    ['select 1; select 2', 'takes one statement'],
    ['selec 1', 'syntax error'],
    ['from mastr', 'did you mean master'],
  ])('%s is refused in plain words', async (sql, words) => {
    await expect(createQueryRunner(folder)({ sql }, signal)).rejects.toThrow(words)
  })

  it('is ended after the time limit, and the next one runs', async () => {
    const run = createQueryRunner(folder, 50)
    await expect(run({ sql: ENDLESS }, signal)).rejects.toThrow(
      'stopped after 0 s; select fewer days, stocks or columns',
    )
    expect(await createQueryRunner(folder)({ sql: 'select 1' }, signal)).toMatchObject({ rows: [['1']] })
  })
})

describe('the queue of queries', () => {
  /** Queries that end when they are told to. */
  const followQueue = () => {
    const ends = new Map<string, () => void>()
    const started: string[] = []
    const inTurn = createQueue(8)
    const begin = (sql: string) => {
      started.push(sql)
      return new Promise<void>((resolve) => ends.set(sql, resolve))
    }
    const tick = () => new Promise((resolve) => setImmediate(resolve))
    const end = (sql: string) => {
      ends.get(sql)?.()
      return tick()
    }
    return { run: (sql: string, of = signal) => inTurn(() => begin(sql), of), end, started, tick }
  }

  it('lets two run, and the others in their order, without one whose reader has left', async () => {
    const { run, end, started, tick } = followQueue()
    const leaving = new AbortController()
    const all = [run('a'), run('b'), run('c', leaving.signal), run('d'), run('e')]
    await tick()
    expect(started).toEqual(['a', 'b'])
    leaving.abort()
    await expect(all[2]).rejects.toThrow('stopped')
    await end('b')
    expect(started).toEqual(['a', 'b', 'd'])
    await end('a')
    expect(started).toEqual(['a', 'b', 'd', 'e'])
    await end('d')
    await end('e')
    void run('f')
    void run('g')
    void run('h')
    await tick()
    expect(started.slice(4)).toEqual(['f', 'g'])
  })

  it('refuses what would wait for too long', async () => {
    const { run } = followQueue()
    for (let count = 0; count < 10; count++) void run(String(count))
    await expect(run('one more')).rejects.toThrow('8 queries are waiting already')
  })
})
