import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { collected, duckdb } from '../tables/support.js'
import { main } from './command.js'

/** Counts for minutes. */
const ENDLESS = 'select sum(a.range * b.range % 7) as n from range(1000000) a, range(1000000) b'

const request = (id: number, method: string, params: object) =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`
const HELLO = request(1, 'initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
})

/** Starts `mcp`, closes its stdin once it has answered as many lines, and waits for its end. */
const speak = async (out: string, input: string, lines: number) => {
  const child = spawn(process.execPath, [main, 'mcp', '--out', out], { env: {}, stdio: 'pipe' })
  const ended = once(child, 'close')
  const stderr = text(child.stderr)
  let stdout = ''
  child.stdin.write(input)
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    stdout += chunk as string
    if (stdout.split('\n').length > lines) child.stdin.end()
  }
  const [code] = await ended
  return {
    code,
    messages: stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object),
    stderr: await stderr,
  }
}

describe.skipIf(!duckdb)('the built command mcp', () => {
  let out = ''
  beforeAll(async () => {
    const folder = await collected(12, 40)
    out = folder.out
    return folder.remove
  })

  it.each(['legacy', { pin: '2026-07-28' }] as const)(
    'serves an SDK client over stdio that speaks %j',
    async (mode) => {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
      onTestFinished(() => client.close())
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [main, 'mcp', '--out', out],
        stderr: 'pipe',
      })
      await client.connect(transport)
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
        'tables',
        'query',
        'show',
        'changes',
        'signals',
      ])
      const { content } = await client.callTool({
        name: 'query',
        arguments: { sql: 'select count(*) as stocks from master' },
      })
      expect(content).toEqual([{ type: 'text', text: '{"columns":["stocks"],\n"rows":[\n[12]\n]}' }])
      expect(
        await client.callTool({ name: 'query', arguments: { sql: 'delete from master' } }),
      ).toMatchObject({ isError: true })
      // It is answered in a process of its own, below 2 GB.
      const bomb = await client.callTool({
        name: 'query',
        arguments: { sql: "select length(repeat('x', 2000000000))" },
      })
      expect(bomb).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining('needs more memory than it may use') }],
      })
      if (process.platform === 'linux')
        expect(readFileSync(`/proc/${transport.pid}/maps`, 'utf8')).not.toMatch(/duckdb/)
    },
  )

  it('writes only messages to stdout, and ends with 0 when stdin is closed, also during a query', async () => {
    const { code, messages, stderr } = await speak(out, HELLO, 1)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(messages).toMatchObject([
      { jsonrpc: '2.0', id: 1, result: { serverInfo: { name: 'scripstream' } } },
    ])
    const busy = request(2, 'tools/call', { name: 'query', arguments: { sql: ENDLESS } })
    expect(await speak(out, HELLO + busy + request(3, 'ping', {}), 2)).toMatchObject({
      code: 0,
      messages: [{ id: 1 }, { id: 3 }],
      stderr: '',
    })
  })

  it('reports a message that is not of the protocol on stderr, and answers the next one', async () => {
    expect(await speak(out, `{"id":1}\n${HELLO}`, 1)).toMatchObject({
      code: 0,
      messages: [{ id: 1 }],
      stderr: expect.stringMatching(/^warning: mcp: /),
    })
  })
})
