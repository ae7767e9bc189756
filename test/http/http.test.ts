import type { Socket } from 'node:net'
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { closedPort, connect, failureOf, getOf, serveHttp, serveRaw } from './support.js'

const BODY = JSON.stringify({ data: Array.from({ length: 200 }, (_, place) => ({ Sym: `S${place}` })) })

const closing = (socket: Socket): Promise<unknown> => new Promise((resolve) => socket.once('close', resolve))

describe('the HTTP transport', () => {
  it('sends method, path, query, headers and body unchanged, and emits the complete reply once', async () => {
    const seen: unknown[] = []
    const { url } = await serveHttp((request, response) => {
      request.setEncoding('utf8').on('data', (body: string) => {
        seen.push([request.method, request.url, request.headers['x-own'], body])
        response.writeHead(201, { 'retry-after': '7' }).end(BODY)
      })
    })
    const request = getOf(`${url}/a%20b/c?x=1&y=%26`, {
      method: 'POST',
      headers: { 'x-own': 'yes' },
      body: '{"ä":1}',
    })
    const replies = await lastValueFrom(connect().send(request).pipe(toArray()))
    expect(replies.map(({ body, ...reply }) => ({ ...reply, body: body.toString() }))).toEqual([
      { status: 201, retryAfter: '7', body: BODY },
    ])
    expect(seen).toEqual([['POST', '/a%20b/c?x=1&y=%26', 'yes', '{"ä":1}']])
  })

  it.each([
    [429, '5'],
    [200, undefined],
  ])('takes the reset of a rate limit from a reply of %i as %s', async (status, retryAfter) => {
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '5' }
    const { url } = await serveHttp((_, response) => response.writeHead(status, headers).end('x'))
    expect((await firstValueFrom(connect().send(getOf(url)))).retryAfter).toBe(retryAfter)
  })

  it('sends nothing before subscription, and one request for each subscription', async () => {
    let requests = 0
    const { url } = await serveHttp((_, response) => {
      requests += 1
      response.end('x')
    })
    const reply$ = connect().send(getOf(url))
    expect(requests).toBe(0)
    await firstValueFrom(reply$)
    await firstValueFrom(reply$)
    expect(requests).toBe(2)
  })

  it('joins a body that arrives in pieces, also within a character', async () => {
    const { url } = await serveHttp((_, response) => {
      for (const byte of Buffer.from('₹ 1,000')) response.write(Buffer.of(byte))
      response.end()
    })
    expect((await firstValueFrom(connect().send(getOf(url)))).body.toString()).toBe('₹ 1,000')
  })

  it('reuses sockets: sequential requests need at most two', async () => {
    const { url, sockets } = await serveHttp((_, response) => response.end('x'))
    const { send } = connect()
    for (let turn = 0; turn < 50; turn += 1) await firstValueFrom(send(getOf(url)))
    expect(sockets.length).toBeLessThanOrEqual(2)
  })

  it('opens at most the allowed sockets per origin; further requests wait for one', async () => {
    const { url, sockets } = await serveHttp((_, response) => response.end('x'))
    const { send } = connect({ maxConnections: new Map([[url, 3]]) })
    const bodies = await Promise.all(Array.from({ length: 40 }, () => firstValueFrom(send(getOf(url)))))
    expect(bodies).toHaveLength(40)
    expect(sockets).toHaveLength(3)
  })

  it('opens as many sockets as there are concurrent requests', async () => {
    const waiting: (() => void)[] = []
    const { url, sockets } = await serveHttp((_, response) => {
      waiting.push(() => response.end('x'))
      if (waiting.length === 30) for (const release of waiting) release()
    })
    const { send } = connect()
    await Promise.all(Array.from({ length: 30 }, () => firstValueFrom(send(getOf(url)))))
    expect(sockets).toHaveLength(30)
  })

  it.each([
    {
      what: 'one with a length',
      head: `HTTP/1.1 200 OK\r\ncontent-length: ${BODY.length}\r\n\r\n`,
      body: BODY.slice(0, -1),
    },
    {
      what: 'one with a length that ends the connection',
      head: `HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ${BODY.length}\r\n\r\n`,
      body: BODY.slice(0, 99),
    },
    {
      what: 'one in chunks',
      head: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n',
      body: '5\r\n[1,2,\r\n',
    },
    {
      what: 'one in chunks that ends the connection',
      head: 'HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n',
      body: '5\r\n[1,2,\r\n',
    },
    {
      what: 'one that ends inside a chunk',
      head: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n',
      body: 'ff\r\n[1,2',
    },
  ])('detects a truncated body: $what', async ({ head, body }) => {
    const { url } = await serveRaw((socket) => socket.end(head + body))
    expect(await failureOf(connect().send(getOf(url)))).toMatchObject({
      reason: 'truncated',
      verdict: 'retry',
      status: 'error',
    })
  })

  it('detects a body that is truncated by a reset', async () => {
    const { url } = await serveRaw((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc', () => socket.resetAndDestroy()),
    )
    expect(await failureOf(connect().send(getOf(url)))).toMatchObject({
      reason: 'truncated',
      verdict: 'retry',
    })
  })

  it.each([
    { how: 'resets', act: 'resetAndDestroy' as const },
    { how: 'closes', act: 'destroy' as const },
  ])('detects a connection that the provider $how before it answers', async ({ act }) => {
    const { url } = await serveRaw((socket) => socket[act]())
    expect(await failureOf(connect().send(getOf(url)))).toMatchObject({
      reason: 'reset',
      verdict: 'retry',
      status: 'error',
    })
  })

  it('opens a new socket after one broke', async () => {
    let isFirst = true
    const { url } = await serveHttp((_, response) => {
      if (isFirst) response.destroy()
      else response.end('x')
      isFirst = false
    })
    const { send } = connect()
    await failureOf(send(getOf(url)))
    expect(await firstValueFrom(send(getOf(url)))).toMatchObject({ status: 200 })
  })

  it('reports a refused connection', async () => {
    expect(await failureOf(connect().send(getOf(await closedPort())))).toMatchObject({
      reason: 'connect',
      verdict: 'wait',
      status: 'error',
    })
  })

  it.each([
    'this is not HTTP\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
  ])('rejects %j as invalid HTTP', async (text) => {
    const { url } = await serveRaw((socket) => socket.end(text))
    expect(await failureOf(connect().send(getOf(url)))).toMatchObject({ verdict: 'retry', status: 'error' })
  })

  it('closes the socket when a request is unsubscribed', async () => {
    const { url, sockets } = await serveHttp(() => undefined)
    const seen: string[] = []
    const subscription = connect()
      .send(getOf(url))
      .subscribe({
        next: () => seen.push('next'),
        error: () => seen.push('error'),
        complete: () => seen.push('complete'),
      })
    while (sockets.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const closed = Promise.all(sockets.map(closing))
    subscription.unsubscribe()
    await closed
    expect(seen).toEqual([])
  })

  it('closes the socket when a request is unsubscribed during the reply', async () => {
    const { url, sockets } = await serveHttp((_, response) =>
      response.writeHead(200, { 'content-length': 99 }).write('half'),
    )
    const subscription = connect().send(getOf(url)).subscribe()
    while ((sockets[0]?.bytesWritten ?? 0) === 0) await new Promise((resolve) => setImmediate(resolve))
    const closed = sockets.map(closing)
    subscription.unsubscribe()
    await Promise.all(closed)
  })

  it('sends nothing for a request that is unsubscribed at once', async () => {
    let requests = 0
    const { url } = await serveHttp((_, response) => {
      requests += 1
      response.end('x')
    })
    const { send } = connect()
    send(getOf(url)).subscribe().unsubscribe()
    await firstValueFrom(send(getOf(url)))
    expect(requests).toBe(1)
  })

  it('fails all requests in flight when it is closed', async () => {
    const { url, sockets } = await serveHttp(() => undefined)
    const connections = connect()
    const failure = failureOf(connections.send(getOf(url)))
    while (sockets.length === 0) await new Promise((resolve) => setImmediate(resolve))
    connections.close()
    expect(await failure).toMatchObject({ name: 'TransportError' })
  })
})
