import { get } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toRequestError } from '../../src/operators/request-errors.js'

type Ask = (url: string, ms: number) => Promise<unknown>

/** A client of `package.json` here, which may not be installed, or may not run on this Node. */
const load = async (name: string, use: (client: never) => Ask): Promise<Ask | undefined> =>
  import(name).then(
    (client: { readonly default?: unknown }) => use((client.default ?? client) as never),
    () => undefined,
  )

type Fetch = (url: string, options?: object) => Promise<{ text(): Promise<string> }>
interface Axios {
  get(url: string, options: object): Promise<unknown>
}
type Chain = (url: string, options?: object) => { text(): Promise<string> }
type Wretch = (url: string) => { options(options: object): { get(): { text(): Promise<string> } } }

const ofUndici =
  (client: {
    readonly request: (
      url: string,
      options: object,
    ) => Promise<{ readonly body: { text(): Promise<string> } }>
  }): Ask =>
  (url, ms) =>
    client.request(url, { headersTimeout: ms, bodyTimeout: ms }).then(({ body }) => body.text())

const clients: Readonly<Record<string, Ask | undefined>> = {
  fetch: (url, ms) => fetch(url, { signal: AbortSignal.timeout(ms) }).then((reply) => reply.text()),
  'node:http': (url) =>
    new Promise((resolve, reject) => {
      get(url, { agent: false }, (reply) => reply.on('end', resolve).on('error', reject).resume()).on(
        'error',
        reject,
      )
    }),
  undici: await load('undici', ofUndici),
  undici6: await load('undici6', ofUndici),
  undici8: await load('undici8', ofUndici),
  'axios, http': await load(
    'axios',
    (axios: Axios) => (url, timeout) => axios.get(url, { timeout, adapter: 'http' }),
  ),
  'axios, fetch': await load(
    'axios',
    (axios: Axios) => (url, timeout) => axios.get(url, { timeout, adapter: 'fetch' }),
  ),
  got: await load(
    'got',
    (got: Chain) => (url, ms) => got(url, { retry: { limit: 0 }, timeout: { response: ms } }).text(),
  ),
  ky: await load('ky', (ky: Chain) => (url, timeout) => ky(url, { retry: 0, timeout }).text()),
  wretch: await load(
    'wretch',
    (wretch: Wretch) => (url, ms) =>
      wretch(url)
        .options({ signal: AbortSignal.timeout(ms) })
        .get()
        .text(),
  ),
  ofetch: await load(
    'ofetch',
    ({ ofetch }: { readonly ofetch: (url: string, options: object) => Promise<unknown> }) =>
      (url, timeout) =>
        ofetch(url, { retry: 0, timeout, responseType: 'text' }),
  ),
  'node-fetch': await load(
    'node-fetch',
    (nodeFetch: Fetch) => (url, ms) =>
      nodeFetch(url, { signal: AbortSignal.timeout(ms) }).then((reply) => reply.text()),
  ),
}

const HEAD = 'HTTP/1.1 200 OK\r\nconnection: close\r\n'
/** What the server sends before it closes the connection; without an entry, it says nothing for ever. */
const REPLIES: Readonly<Record<string, string>> = {
  '/closed': '',
  '/cut-length': `${HEAD}content-length: 100\r\n\r\n{"a":1`,
  '/cut-chunked': `${HEAD}transfer-encoding: chunked\r\n\r\n6\r\n{"a":1\r\n`,
  '/no-http': 'hello world\r\n\r\n',
  '/404': 'HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno',
  '/429':
    'HTTP/1.1 429 Too Many Requests\r\nconnection: close\r\nretry-after: 7\r\ncontent-length: 2\r\n\r\nno',
  '/503':
    'HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 3\r\ncontent-length: 2\r\n\r\nno',
}
const sockets = new Set<Socket>()
const server = createServer((socket) => {
  sockets.add(socket.on('error', () => undefined))
  socket.once('data', (head) => {
    const path = head.toString().split(' ')[1] ?? ''
    if (path === '/reset') socket.resetAndDestroy()
    else if (path === '/begun') socket.write(REPLIES['/cut-length'] ?? '')
    else if (REPLIES[path] !== undefined) socket.end(REPLIES[path])
  })
})
let [origin, gone] = ['', '']
const listen = (one: typeof server): Promise<string> =>
  new Promise((resolve) =>
    one.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(one.address() as { readonly port: number }).port}`),
    ),
  )
beforeAll(async () => {
  origin = await listen(server)
  const closed = createServer()
  gone = await listen(closed)
  await new Promise((resolve) => closed.close(resolve))
})
afterAll(() => {
  for (const socket of sockets) socket.destroy()
  server.close()
})

const LIMIT_MS = 300
/** By the path that is asked for. */
const EXPECTED: Readonly<Record<string, RegExp>> = {
  '/gone': /^connect$/,
  '/reset': /^reset$/,
  '/closed': /^reset$/,
  '/cut-length': /^(truncated|reset)$/,
  // undici calls it an invalid end of the reply.
  '/cut-chunked': /^(truncated|reset|protocol)$/,
  '/no-http': /^protocol$/,
  '/silent': /^deadline$/,
  '/404': /^(http_404|no failure)$/,
  '/429': /^(rate_limit|no failure) ?(7000)?$/,
  '/503': /^(http_503|no failure) ?(3000)?$/,
}
/** Clients that hand over replies of any status, and the one without a time-out of their own. */
const PASSES_STATUSES = /^(fetch|node:http|undici.*|node-fetch)$/
const HAS_NO_TIMEOUT = /^node:http$/

describe('a signal, as node-fetch passes it on,', () => {
  const ask = async (begin: () => AbortSignal, path = '/silent'): Promise<unknown> => {
    const { default: nodeFetch } = (await import('node-fetch' as string)) as { readonly default: Fetch }
    return nodeFetch(origin + path, { signal: begin() })
      .then((reply) => reply.text())
      .catch((error: unknown) => ({ error, known: toRequestError(error) }))
  }

  it.skipIf(clients['node-fetch'] === undefined)(
    'is a timeout if its time has passed, before the reply and in it',
    async () => {
      const limit = (): AbortSignal => AbortSignal.timeout(LIMIT_MS)
      const known = { code: 'deadline', verdict: 'retry' }
      expect(await ask(limit)).toMatchObject({ known })
      expect(await ask(() => AbortSignal.any([limit()]))).toMatchObject({ known })
      expect(await ask(limit, '/begun')).toMatchObject({ known })
    },
  )

  it.skipIf(clients['node-fetch'] === undefined)('is none if the app has aborted', async () => {
    const app = new AbortController()
    const signal = (): AbortSignal => {
      setImmediate(() => app.abort())
      return app.signal
    }
    for (const aborted of [await ask(signal), await ask(signal)]) {
      const { error, known } = aborted as { readonly error: unknown; readonly known: unknown }
      expect(known).toBe(error)
    }
  })
})

describe.each(Object.entries(clients))('the errors of %s', (name, ask) => {
  const missing =
    ask === undefined
      ? ' (skipped: not installed, npm install --prefix test/clients, or needs a newer Node)'
      : ''
  it.skipIf(ask === undefined)(`are known${missing}`, async () => {
    for (const [path, expected] of Object.entries(EXPECTED)) {
      if (path === '/silent' && HAS_NO_TIMEOUT.test(name)) continue
      const url = path === '/gone' ? gone : origin + path
      const error = await ask?.(url, LIMIT_MS).then(
        () => ({ code: 'no failure' }),
        (thrown: unknown) =>
          toRequestError(thrown) as { readonly code: string; readonly retryAfterMs?: number },
      )
      const { code, retryAfterMs = '' } = error as { readonly code: string; readonly retryAfterMs?: number }
      expect(`${code} ${retryAfterMs}`.trim(), path).toMatch(expected)
      expect(code === 'no failure', path).toBe(/^\/\d/.test(path) && PASSES_STATUSES.test(name))
    }
  })
})
