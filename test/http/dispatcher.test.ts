import { createServer } from 'node:http'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs'
import { Agent, interceptors, MockAgent, Pool } from 'undici'
import { expect, it, onTestFinished } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { createCollector } from '../../src/collector.js'
import { httpTransport } from '../../src/http/connections.js'
import { type HttpDispatcher, MAX_REPLY_BYTES } from '../../src/http/exchange.js'
import { UsageError } from '../../src/model/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { masterList, tiny, tinyMaster } from '../support/tiny.js'
import { failureOf, getOf, serveHttp } from './support.js'

const ORIGIN = 'http://provider.test'

const mocked = (): { readonly agent: MockAgent; readonly provider: ReturnType<MockAgent['get']> } => {
  const agent = new MockAgent()
  agent.disableNetConnect()
  onTestFinished(() => agent.close())
  return { agent, provider: agent.get(ORIGIN) }
}

it('a run sends all requests through the dispatcher of the app', async () => {
  const { agent, provider } = mocked()
  provider
    .intercept({ path: '/static/master-data', method: 'POST' })
    .reply(200, masterList('TCS', 'INFY').body)
  const sent: unknown[] = []
  const answer = ({ body }: { readonly body?: unknown }): string => {
    sent.push(body)
    return '{"data":[{"Close":1}]}'
  }
  provider.intercept({ path: '/static/news', method: 'POST' }).reply(200, answer).times(2)
  const settings = { urls: { static: `${ORIGIN}/static` } }
  const collector = createCollector({
    settings,
    dispatcher: agent,
    streams: [tinyMaster, tiny('news')],
    storage: memory(),
  })
  const { outcome } = await firstValueFrom(collector.run())
  expect([outcome, sent.sort()]).toEqual(['complete', ['{"of":"INFY"}', '{"of":"TCS"}']])
  agent.assertNoPendingInterceptors()
})

it('ends a run at once at a request that a MockAgent has no answer for, and names the request', async () => {
  const settings = { urls: { static: `${ORIGIN}/static` } }
  const collector = createCollector({
    settings,
    dispatcher: mocked().agent,
    streams: [tinyMaster],
    storage: memory(),
  })
  await expect(firstValueFrom(collector.run())).rejects.toThrow(
    /^the work of master-data failed at all: Mock dispatch not matched.*master-data/,
  )
})

it('follows redirects to known addresses and decompresses', async () => {
  const { agent, provider } = mocked()
  provider.intercept({ path: '/old' }).reply(302, '', { headers: { location: `${ORIGIN}/new` } })
  provider
    .intercept({ path: '/new' })
    .reply(200, gzipSync('₹ 1'), { headers: { 'content-encoding': 'gzip' } })
  provider.intercept({ path: '/away' }).reply(302, '', { headers: { location: 'http://elsewhere.test/' } })
  const send = httpTransport(agent, { urls: { static: ORIGIN } })
  const replies = await Promise.all(
    ['/old', '/away'].map((path) => firstValueFrom(send(getOf(`${ORIGIN}${path}`)))),
  )
  expect(replies.map(({ status, body }) => [status, Buffer.from(body).toString()])).toEqual([
    [200, '₹ 1'],
    [302, ''],
  ])
})

it('limits the size of an answer, and maps errors and answers that the dispatcher lacks', async () => {
  const { agent, provider } = mocked()
  provider.intercept({ path: '/large' }).reply(200, Buffer.alloc(MAX_REPLY_BYTES + 1))
  provider
    .intercept({ path: '/down' })
    .replyWithError(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))
  const send = httpTransport(agent)
  expect(await failureOf(send(getOf(`${ORIGIN}/large`)))).toMatchObject({ reason: 'too_large' })
  expect(await failureOf(send(getOf(`${ORIGIN}/down`)))).toMatchObject({ reason: 'connect' })
  await expect(firstValueFrom(send(getOf(`${ORIGIN}/other`)))).rejects.toThrow('/other')
})

it('applies the interceptors of the app, and leaves its dispatcher open', async () => {
  const { url } = await serveHttp((request, response) => response.end(String(request.headers['x-route'])))
  const pool = new Pool(url)
  onTestFinished(() => pool.destroy())
  const dispatcher = pool.compose((dispatch) => (options, handler) => {
    Object.assign(options.headers as object, { 'x-route': 'blue' })
    return dispatch(options, handler)
  })
  const headers = { 'x-own': '1' }
  const send = httpTransport(dispatcher)
  for (let turn = 0; turn < 2; turn++)
    expect(Buffer.from((await firstValueFrom(send(getOf(url, { headers })))).body).toString()).toBe('blue')
  expect([headers, pool.destroyed]).toEqual([{ 'x-own': '1' }, false])
})

it('reaches a provider behind a unix socket', async () => {
  const socketPath = join(temporaryFolder(), 'provider.sock')
  const server = createServer((request, response) => response.end(request.url))
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  const dispatcher = new Agent({ connect: { socketPath } })
  onTestFinished(async () => {
    await dispatcher.destroy()
    server.close()
  })
  const replies = await lastValueFrom(
    httpTransport(dispatcher)(getOf('http://provider.test/a?b=1')).pipe(toArray()),
  )
  expect(replies.map(({ body }) => Buffer.from(body).toString())).toEqual(['/a?b=1'])
})

it.each([
  [
    'ERR_ACCESS_DENIED',
    'Access to this API has been restricted',
    /restricted\): the permission model of Node/,
  ],
  ['UND_ERR_INVALID_ARG', 'invalid onError method', /method\): the dispatcher must be one of undici 7/],
  [undefined, 'agent.dispatch is not a function', /a function\): the dispatcher must be one of undici 7/],
])('ends a run at its first request if no waiting helps: %s', async (code, message, text) => {
  const error = Object.assign(code === undefined ? new TypeError(message) : new Error(message), { code })
  let requests = 0
  const dispatcher: HttpDispatcher = {
    dispatch: (_, handler) => {
      requests += 1
      handler.onResponseError?.(undefined as never, error)
      return true
    },
  }
  const settings = { urls: { static: `${ORIGIN}/static` } }
  const collector = createCollector({ settings, dispatcher, streams: [tinyMaster], storage: memory() })
  const failure = await failureOf(collector.run())
  expect(failure).toBeInstanceOf(UsageError)
  expect((failure as Error).message).toMatch(text)
  expect(requests).toBe(1)
})

it.each([
  [404, 'not here'],
  [429, 'slow down'],
  [503, '{"busy":true}'],
])('takes the reply that an interceptor made an error of as a reply: %s', async (status, body) => {
  const type = body.startsWith('{') ? 'application/json' : 'text/plain'
  const { url } = await serveHttp((_, response) =>
    response.writeHead(status, { 'retry-after': '7', 'content-type': type }).end(body),
  )
  const agent = new Agent()
  onTestFinished(() => agent.close())
  const send = httpTransport(agent.compose(interceptors.responseError()))
  const reply = await firstValueFrom(send(getOf(url)))
  expect(reply).toMatchObject({ status, retryAfter: '7', contentType: type })
  expect(Buffer.from(reply.body).toString()).toBe(body)
})
