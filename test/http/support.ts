import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createRawServer, type Server, type Socket } from 'node:net'
import { type Observable, of } from 'rxjs'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { type Ask, type AskDependencies, createAsk } from '../../src/http/ask.js'
import { type ConnectionOptions, openConnections } from '../../src/http/connections.js'
import { type Endpoint, get, post } from '../../src/http/endpoint.js'
import type { HttpRequest } from '../../src/http/transport.js'
import { createLimiters, type LimiterRegistry } from '../../src/limiter/limiter-registry.js'
import { BadAnswerError, CollectError } from '../../src/model/errors.js'
import { Settings } from '../../src/model/settings.js'
import { splitLimits, type TestSettings } from '../support/limits.js'

const read = (text: string): string => text

/** A POST and a GET endpoint. */
export const note: Omit<Endpoint<{ readonly data: { readonly isin: string } }, string>, 'readBytes'> = post({
  name: 'note',
  host: 'static',
  path: '/notes/all',
  input: z.strictObject({ data: z.strictObject({ isin: z.string() }) }),
  read,
  sample: () => undefined,
})
export const page = get({
  name: 'page',
  host: 'web',
  path: '/pages/{key}/{day}.csv?tab={tab}&x=1',
  input: z.strictObject({ key: z.string(), day: z.string(), tab: z.string() }),
  read,
  sample: () => undefined,
})

export const settingsOf = (given: TestSettings = {}): Settings => Settings.parse(splitLimits(given).settings)

/** The limiters of a run with these settings. */
export const limitersOf = (
  given: TestSettings = {},
  onBackoff?: Parameters<typeof createLimiters>[1],
): LimiterRegistry => createLimiters(settingsOf(given), onBackoff, splitLimits(given).limits)

const listening = (server: Server): Promise<string> =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  })

export interface Served {
  readonly url: string
  /** All sockets opened so far. */
  readonly sockets: readonly Socket[]
  readonly server: Server
}

const serving = async (server: Server): Promise<Served> => {
  const sockets: Socket[] = []
  server.on('connection', (socket) => sockets.push(socket))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: await listening(server), sockets, server }
}

/** Starts a TCP server that calls the test when a request has arrived. */
export const serveRaw = (answer: (socket: Socket) => void): Promise<Served> =>
  serving(
    createRawServer((socket) => {
      socket.on('error', () => undefined)
      socket.on('data', () => answer(socket))
    }),
  )

export const serveHttp = (
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Served> => serving(createServer(answer))

/** An address without a listener. */
export const closedPort = async (): Promise<string> => {
  const server = createRawServer()
  const url = await listening(server)
  await new Promise((resolve) => server.close(resolve))
  return url
}

/** Opens connections and closes them when the test ends. */
export const connect = (options?: ConnectionOptions): ReturnType<typeof openConnections> => {
  const connections = openConnections(options)
  onTestFinished(connections.close)
  return connections
}

export const getOf = (url: string, more: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'GET',
  url,
  headers: {},
  timeoutMs: 10_000,
  ...more,
})

/** The error of an observable; fails if there is none. */
export const failureOf = <T>(source$: Observable<T>): Promise<CollectError> =>
  new Promise((resolve, reject) => {
    source$.subscribe({
      next: (value) => reject(new Error(`unexpected value: ${JSON.stringify(value)}`)),
      error: (error: unknown) => (error instanceof CollectError ? resolve(error) : reject(error)),
      complete: () => reject(new Error('completed without an error')),
    })
  })

export const replying = (body: string, status = 200) => of({ status, body: Buffer.from(body) })

/** The error of a reader on a text; `undefined` if there is none. */
export const badAnswerOf = (read: (text: string) => unknown, text: string): BadAnswerError | undefined => {
  try {
    read(text)
    return undefined
  } catch (error) {
    if (error instanceof BadAnswerError) return error
    throw error
  }
}

/** Sends requests of an item outside of a run. */
export const askFreely = (options: AskDependencies, item = ''): Ask => createAsk(options)(item)
