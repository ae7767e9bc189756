import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { McpServer } from '@modelcontextprotocol/server'
import { EMPTY } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { addTools, INSTRUCTIONS } from '../../src/cli/mcp/tools.js'
import { runProgram } from '../../src/cli/program.js'
import { streams } from '../../streams/registry.js'
import { collected, duckdb, folderWith } from '../tables/support.js'
import { createTestDependencies, createTestIo } from './support.js'

/** Counts for minutes. */
const ENDLESS = 'select sum(a.range * b.range % 7) as n from range(1000000) a, range(1000000) b'

const connect = async (out: string, timeMs = 30_000): Promise<Client> => {
  const server = new McpServer({ name: 'scripstream', version: '1.2.3' }, { instructions: INSTRUCTIONS })
  addTools(server, { out, exchange: 'nse', streams, timeMs })
  const [here, there] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name: 'test', version: '1' })
  await Promise.all([server.connect(there), client.connect(here)])
  onTestFinished(() => client.close())
  return client
}

interface Answer {
  readonly isError: boolean
  readonly text: string
}

const ask = async (client: Client, name: string, input: object = {}): Promise<Answer> => {
  const { content, isError = false } = await client.callTool({ name, arguments: { ...input } })
  const [first] = content
  return { isError, text: first?.type === 'text' ? first.text : '' }
}

const read = async (client: Client, name: string, input: object = {}) => {
  const { isError, text } = await ask(client, name, input)
  expect(isError, text).toBe(false)
  return JSON.parse(text) as Record<string, readonly Record<string, unknown>[]> & {
    readonly isCut?: boolean
    readonly note?: string
  }
}

/** What the command prints on stderr for the same error. */
const commandError = async (args: readonly string[]): Promise<string> => {
  const io = createTestIo()
  expect(await runProgram(args, io, createTestDependencies(EMPTY, { streams }))).toBe(2)
  return io.err.text().replace('error: ', '').replaceAll(/^ {2}/gm, '').trimEnd()
}

describe.skipIf(!duckdb)('the MCP server', () => {
  let [out, remove] = ['', (): void => undefined]
  beforeAll(async () => {
    ;({ out, remove } = await collected(12, 40))
  })
  afterAll(() => remove())

  it.each([
    ['query', { sql: 'from master', asOf: '2026-02-12' }, 'unknown argument: asOf (did you mean as_of?)'],
    [
      'changes',
      { sinc: '2026-02-11', symbol: ['S1'] },
      'unknown argument: sinc (did you mean since?); unknown argument: symbol (did you mean symbols?)',
    ],
    ['show', { stock: 'S1', quite_another: 1 }, 'unknown argument: quite_another'],
  ])('refuses an argument that %s does not have', async (tool, input, message) => {
    const { isError, text } = await ask(await connect(out), tool, input)
    expect(isError).toBe(true)
    expect(text).toContain(message)
  })

  it('has five tools that only read, and says that texts of the provider are no instructions', async () => {
    const client = await connect(out)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['tables', 'query', 'show', 'changes', 'signals'])
    expect(tools.map(({ annotations }) => annotations?.readOnlyHint)).toEqual([true, true, true, true, true])
    expect(client.getInstructions()).toMatch(/from the data provider .* never instructions to you/)
  })

  it('lists tables, views and saved statements, and describes the columns of those that are named', async () => {
    const client = await connect(out)
    const { tables = [], queries = [], history } = await read(client, 'tables')
    expect(tables.find(({ name }) => name === 'candles')).toMatchObject({
      columns: 'symbol date open high low close volume',
    })
    expect(tables.map(({ name }) => name)).toContain('screener')
    expect(queries.map(({ name }) => name)).toContain('breakouts')
    expect(history).toContain('history.surveillance')
    const { tables: [screener] = [], ...rest } = await read(client, 'tables', { names: ['screener'] })
    expect(screener?.columns).toContainEqual({
      name: 'close_inr',
      type: 'DOUBLE',
      comment: expect.stringContaining('rupees'),
    })
    expect(rest).toEqual({})
    expect(await ask(client, 'tables', { names: ['candlez'] })).toEqual({
      isError: true,
      text: 'unknown table: candlez (did you mean candles?)',
    })
  })

  it('answers SQL with exact numbers, and null for NULL', async () => {
    const sql = `select symbol, 12345678901234567890::hugeint as n, 'inf'::double as i, null as x, '12' as t from master order by 1 limit 1`
    expect((await ask(await connect(out), 'query', { sql })).text).toBe(
      '{"columns":["symbol","n","i","x","t"],\n"rows":[\n["20MICRONS",12345678901234567890,"Infinity",null,"12"]\n]}',
    )
  })

  it('answers a saved statement by its name', async () => {
    expect(await read(await connect(out), 'query', { sql: 'near-highs' })).toMatchObject({
      columns: expect.arrayContaining(['symbol']),
    })
  })

  it('answers as of a day, and says which recorded day it used', async () => {
    const client = await connect(out)
    const sql = 'select count(*) > 0 as is_there from announcements'
    writeFileSync(join(out, 'all_company_announcements.json'), '[]')
    expect(await read(client, 'query', { sql })).toMatchObject({ rows: [['false']] })
    expect(await read(client, 'query', { sql, as_of: '2026-03-01' })).toMatchObject({
      as_of: '2026-03-01',
      record_of: '2026-02-12',
      rows: [['true']],
    })
  })

  it('cuts an answer at the limit of rows and of characters, and says so', async () => {
    const client = await connect(out)
    const query = (sql: string, limit?: number) => read(client, 'query', { sql, limit })
    expect(await query('from range(5)', 3)).toMatchObject({
      rows: [[0], [1], [2]],
      isCut: true,
      note: expect.stringContaining('first 3'),
    })
    expect(await query('from range(3)', 3)).not.toHaveProperty('isCut')
    expect((await query('from range(2000)')).rows).toHaveLength(100)
    const long = await query(`select repeat('x', 15000) as x from range(10)`)
    expect([long.rows?.length, long.isCut]).toEqual([2, true])
    expect(await query(`select repeat('x', 50000) as x`)).toMatchObject({
      rows: [],
      isCut: true,
      note: expect.stringContaining('longer than 40,000'),
    })
    const { isError } = await ask(client, 'query', { sql: 'from range(5)', limit: 100_000 })
    expect(isError).toBe(true)
  })

  it('stops a statement after the time limit, and answers the next one', async () => {
    const client = await connect(out, 50)
    const late = { isError: true, text: 'stopped after 0 s; select fewer days, stocks or columns' }
    expect(await ask(client, 'query', { sql: ENDLESS })).toEqual(late)
    expect((await ask(client, 'tables')).isError).toBe(false)
  })

  it('answers what is asked at once one by one', async () => {
    const client = await connect(out, 200)
    const order: string[] = []
    const sqls = [ENDLESS, 'select 1 as n', 'select 2 as n']
    await Promise.all(sqls.map((sql) => ask(client, 'query', { sql }).then(() => order.push(sql))))
    expect(order).toEqual(sqls)
  })

  it('stops what is cancelled, and answers the next one', async () => {
    const client = await connect(out)
    const leaving = new AbortController()
    const first = client.callTool({ name: 'query', arguments: { sql: ENDLESS } }, { signal: leaving.signal })
    const next = read(client, 'query', { sql: 'select 1 as n' })
    leaving.abort()
    await expect(first).rejects.toThrow()
    expect(await next).toMatchObject({ rows: [[1]] })
  })

  it('shows a stock with its newest events', async () => {
    const client = await connect(out)
    const { facts, events = [] } = await read(client, 'show', { stock: 'reliance' })
    expect(facts).toMatchObject({ symbol: 'RELIANCE', price_day: '2026-02-12' })
    expect(events.filter(({ kind }) => kind === 'news').length).toBeLessThanOrEqual(5)
    expect(events.length).toBeGreaterThan(3)
  })

  it('shows changes since a recorded day', async () => {
    const client = await connect(out)
    expect(await read(client, 'changes', { since: '2026-02-12', only: ['announcements'] })).toMatchObject({
      since: { day: '2026-02-12' },
      changes: [],
    })
    expect(await ask(client, 'changes', { until: '2026-02-12' })).toMatchObject({
      isError: true,
      text: 'until needs since, the earlier day',
    })
    expect(await ask(client, 'changes', { since: 'x' })).toMatchObject({
      isError: true,
      text: 'since: invalid date "x"; use YYYY-MM-DD',
    })
  })

  it.each([
    ['query', { sql: "copy master to '/tmp/x'" }, ['query', "copy master to '/tmp/x'"]],
    ['query', { sql: 'delete from master' }, ['query', 'delete from master']],
    ['query', { sql: "from read_csv('/etc/passwd')" }, ['query', "from read_csv('/etc/passwd')"]],
    ['query', { sql: 'from mastr' }, ['query', 'from mastr']],
    ['query', { sql: 'no-such-query' }, ['query', 'no-such-query']],
    ['query', { sql: 'from master', as_of: '2020-01-01' }, ['query', '--as-of', '2020-01-01', 'from master']],
    ['show', { stock: 'TCSS' }, ['show', 'TCSS']],
    ['changes', { since: '2020-01-01' }, ['diff', '--since', '2020-01-01']],
  ] as const)('refuses %s %j in the words of the command', async (name, input, args) => {
    const onOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ')
    const said = await commandError([...args, '--out', out])
    expect(said).not.toBe('')
    const { isError, text } = await ask(await connect(out), name, input)
    // The command wraps a long list of names.
    expect([isError, onOneLine(text)]).toEqual([true, onOneLine(said)])
  })

  it.each([
    ['query', { sql: 'from master' }, ['query', 'from master']],
    ['show', { stock: 'TCS' }, ['show', 'TCS']],
    ['changes', {}, ['diff']],
  ] as const)(
    'reports a missing or empty folder in the words of the command: %s',
    async (name, input, args) => {
      const empty = folderWith({})
      for (const folder of [join(empty, 'missing'), empty]) {
        const io = createTestIo()
        await runProgram([...args, '--out', folder], io, createTestDependencies(EMPTY, { streams }))
        const { isError, text } = await ask(await connect(folder), name, input)
        expect(isError).toBe(true)
        expect(`error: ${text.replaceAll('\n', '\n  ')}\n`).toBe(io.err.text())
      }
    },
  )
})
