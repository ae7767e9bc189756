import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { lastValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { createCollector } from '../../src/collector.js'
import { openConnections } from '../../src/http/connections.js'
import { describeTransportError } from '../../src/http/transport-errors.js'
import type { CollectError } from '../../src/model/errors.js'
import { deadline } from '../../src/operators/deadline.js'
import { createQuickCollector } from '../support/limits.js'
import { tiny, tinyMaster } from '../support/tiny.js'
import {
  askFreely,
  connect,
  failureOf,
  getOf,
  limitersOf,
  note,
  serveHttp,
  serveRaw,
  settingsOf,
} from './support.js'

const DEADLINE_MS = 200
const GRACE_MS = 250

/** The time until a source fails, and its error. */
const timed = async (failing: () => Promise<CollectError>) => {
  const start = performance.now()
  const { message } = await failing()
  return { message, ms: performance.now() - start }
}

const dripping = (head: string) => (socket: Socket) => {
  socket.write(head)
  const drip = setInterval(() => socket.write('a'), 20)
  socket.on('close', () => clearInterval(drip))
}

const LISTENING = `require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () { console.log(this.address().port) })`

/**
 * A host with a stopped process: its backlog accepts two or three connections, further ones never complete.
 */
const stopped = async (): Promise<string> => {
  const child = spawn(process.execPath, ['-e', LISTENING])
  onTestFinished(() => void child.kill('SIGKILL'))
  const port = await new Promise<string>((resolve) =>
    child.stdout.once('data', (data: Buffer) => resolve(String(data).trim())),
  )
  child.kill('SIGSTOP')
  return `http://127.0.0.1:${port}`
}

describe('a request', () => {
  it.each([
    { what: 'a host that never answers', answer: () => undefined },
    { what: 'a header that drips', answer: dripping('HTTP/1.1 200 OK\r\nx-drip: ') },
    { what: 'a body that drips', answer: dripping('HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n') },
    {
      what: 'a body in chunks that stalls',
      answer: (socket: Socket) =>
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab'),
    },
  ])('times out for $what', async ({ answer }) => {
    const { url } = await serveRaw(answer)
    const request = connect().send(getOf(url, { timeoutMs: DEADLINE_MS }))
    const { message, ms } = await timed(() => failureOf(request.pipe(deadline({ idleMs: DEADLINE_MS }))))
    expect(message).toMatch(/^deadline: /)
    expect(ms).toBeLessThan(DEADLINE_MS + GRACE_MS)
  })

  it('times out while it waits for a connection to a host that accepts no more', async () => {
    const url = await stopped()
    const { send } = connect()
    const requests = Array.from({ length: 20 }, () =>
      timed(() =>
        failureOf(send(getOf(url, { timeoutMs: DEADLINE_MS })).pipe(deadline({ idleMs: DEADLINE_MS }))),
      ),
    )
    for (const { message, ms } of await Promise.all(requests)) {
      expect(message).toMatch(/^deadline: /)
      expect(ms).toBeLessThan(DEADLINE_MS + GRACE_MS)
    }
  })

  it('has its full timeout after a longer wait in the queue of the limiter', async () => {
    let requestCount = 0
    const { url } = await serveHttp((_, response) => {
      requestCount += 1
      if (requestCount === 1) response.writeHead(429).end()
      else setTimeout(() => response.end('x'), DEADLINE_MS / 2)
    })
    const given = { urls: { static: url }, throttleMs: 2 * DEADLINE_MS, retries: 0 }
    const ask = askFreely({
      transport: connect().send,
      settings: settingsOf(given),
      limiters: limitersOf(given),
      timeoutMs: DEADLINE_MS,
      random: () => 0,
      clock: () => 0,
      onRequestEvent: () => undefined,
    })
    expect(await lastValueFrom(ask(note, { data: { isin: 'x' } }))).toBe('x')
  })
})

describe('a run', () => {
  const handles = (): readonly string[] =>
    process.getActiveResourcesInfo().filter((kind) => /TCP|Timeout|Pipe|Connect/.test(kind))

  it('leaves no socket and no timer after any kind of failure', async () => {
    const { url, sockets } = await serveHttp(({ url: path = '' }, response) => {
      if (path === '/master-data')
        response.end(
          JSON.stringify({
            data: ['A', 'B', 'C'].map((Sym) => ({ Sym, Isin: `IN${Sym}`, DispSym: Sym, Sid: Sym })),
          }),
        )
      else if (path === '/dripping') response.writeHead(200, { 'content-length': 99 }).write('x')
      else if (path === '/limited') response.writeHead(429, { 'retry-after': '0' }).end()
      else if (path !== '/hanging') response.destroy()
    })
    const before = handles().length
    const names = ['hanging', 'dripping', 'limited', 'resetting']
    const collector = createQuickCollector({
      settings: {
        urls: { static: url },
        timeoutsMs: Object.fromEntries(names.map((name) => [name, DEADLINE_MS])),
        retries: 0,
        throttleMs: 1,
        throttleRetries: 1,
      },
      streams: [tinyMaster, ...names.map((name) => tiny(name))],
      storage: memory(),
    })
    const { scripts } = await lastValueFrom(collector.run())
    expect(Object.values(scripts).reduce((sum, { items }) => sum + items.error + items.rate_limit, 0)).toBe(
      12,
    )
    await Promise.all(
      sockets.map((socket) => socket.closed || new Promise((resolve) => socket.once('close', resolve))),
    )
    await new Promise((resolve) => setImmediate(resolve))
    expect(handles().length).toBeLessThanOrEqual(before)
  })

  it('leaves no connecting socket', async () => {
    const url = await stopped()
    const before = handles().length
    const connections = openConnections()
    await Promise.all(
      Array.from({ length: 20 }, () =>
        failureOf(connections.send(getOf(url)).pipe(deadline({ idleMs: 50 }))),
      ),
    )
    expect(handles().length).toBeGreaterThan(before + 10)
    connections.close()
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(handles().length).toBeLessThanOrEqual(before)
  })
})

describe('a body', () => {
  const MOST = 32 * 1024 * 1024

  it('of exactly the maximum size is accepted', async () => {
    const { url } = await serveHttp((_, response) => response.end(Buffer.alloc(MOST)))
    expect((await lastValueFrom(connect().send(getOf(url)))).body).toHaveLength(MOST)
  })

  it.each([
    {
      what: 'as sent, with Content-Length',
      headers: { 'content-length': MOST + 1 },
      body: () => Buffer.alloc(MOST + 1),
    },
    {
      what: 'as sent, in chunks',
      headers: { 'transfer-encoding': 'chunked' },
      body: () => Buffer.alloc(MOST + 1),
    },
    {
      what: 'after decompression',
      headers: { 'content-encoding': 'gzip' },
      body: () => gzipSync(Buffer.alloc(MOST + 1)),
    },
  ])('above the maximum size fails its item: $what', async ({ headers, body }) => {
    const { url } = await serveHttp((_, response) => {
      response.on('error', () => undefined)
      response.writeHead(200, headers).end(body())
    })
    expect(await failureOf(connect().send(getOf(url)))).toMatchObject({
      reason: 'too_large',
      verdict: 'give-up',
      status: 'error',
    })
  })
})

describe('too many open files', () => {
  it.each(['EMFILE', 'ENFILE'])('(%s) stop the run with advice instead of failing every item', (code) => {
    const error = describeTransportError(
      Object.assign(new Error(`connect ${code} 127.0.0.1:80 - Local (undefined:undefined)`), { code }),
      false,
    )
    expect(error).toMatchObject({ reason: 'fd', verdict: 'stop' })
    expect(error.message).toBe(
      'fd: too many open files; raise the limit with `ulimit -n`, or use fewer workers',
    )
  })

  it('are reported to the caller of the run', async () => {
    const collector = createCollector({
      settings: { urls: { static: 'http://static.test' } },
      streams: [tinyMaster],
      storage: memory(),
      transport: () => {
        throw describeTransportError(Object.assign(new Error('x'), { code: 'EMFILE' }), false)
      },
    })
    await expect(lastValueFrom(collector.run())).rejects.toThrow(/ulimit -n/)
  })
})
