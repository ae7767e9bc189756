import { createServer, type Socket } from 'node:net'
import { defer, lastValueFrom, of, throwError, timeout } from 'rxjs'
import { fromFetch } from 'rxjs/fetch'
import { request } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { HttpError, TransportError } from '../../src/model/errors.js'
import { catchItemFailure } from '../../src/operators/catch-item-failure.js'
import { toRequestError } from '../../src/operators/request-errors.js'
import { retryFailures } from '../../src/operators/retry-failures.js'

/**
 * A server that closes each connection: at once, or in the middle of its answer. With `hang` it never
 * answers, with `closed` it is gone.
 */
const serveResets = async (answer = ''): Promise<string> => {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined))
    if (answer !== 'hang') socket.once('data', () => socket.end(answer, () => socket.destroy()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as { readonly port: number }
  if (answer === 'closed') await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}/`
}

const HALF = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'
const failureOf = (ask: () => Promise<unknown>): Promise<unknown> =>
  ask().then(
    () => 'no failure',
    (error: unknown) => toRequestError(error),
  )

describe('the error of a request', () => {
  it.each<[string, string, string, (url: string) => Promise<unknown>]>([
    ['fetch without an answer', '', 'reset', (url) => fetch(url)],
    ['fetch with half a body', HALF, 'truncated', (url) => fetch(url).then((reply) => reply.text())],
    ['undici without an answer', '', 'reset', (url) => request(url)],
    ['fetch of a port that is closed', 'closed', 'connect', (url) => fetch(url)],
    ['undici of a port that is closed', 'closed', 'connect', (url) => request(url)],
    [
      'a fetch that takes too long',
      'hang',
      'deadline',
      (url) => fetch(url, { signal: AbortSignal.timeout(20) }),
    ],
  ])('of %s is one whose verdict is known', async (_, answer, reason, ask) => {
    const url = await serveResets(answer)
    const error = await failureOf(() => ask(url))
    expect(error).toBeInstanceOf(TransportError)
    expect(error).toMatchObject({ reason, cause: expect.any(Error) })
  })

  it('of RxJS timeout is a deadline', async () => {
    const slow$ = defer(() => new Promise(() => undefined)).pipe(timeout(1))
    expect(await failureOf(() => lastValueFrom(slow$))).toMatchObject({
      reason: 'deadline',
      verdict: 'retry',
    })
  })

  it.each([
    new TypeError('titles is not iterable'),
    new HttpError(404),
    Object.assign(new Error('disk'), { code: 'ENOSPC' }),
    'text',
  ])('stays as it is if it is none of a request: %s', (error) => expect(toRequestError(error)).toBe(error))

  it('that the app aborted stays as it is', async () => {
    const aborted = AbortSignal.abort()
    expect(await failureOf(() => fetch('http://127.0.0.1:1/', { signal: aborted }))).toMatchObject({
      name: 'AbortError',
    })
  })
})

describe('a connection that always resets', () => {
  it('costs one item of several, after its retries', async () => {
    const url = await serveResets()
    let attempts = 0
    const failed$ = defer(() => {
      attempts++
      return fromFetch(url)
    }).pipe(
      retryFailures({ retries: 2, backoffMs: 1 }),
      catchItemFailure((reason) => [reason]),
    )
    expect(await lastValueFrom(failed$)).toMatch(/^reset: /)
    expect(attempts).toBe(3)
  })

  it('ends with an item failure without retries, too, if its errors are classified', async () => {
    const bare$ = throwError(
      () => new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ECONNRESET' }) }),
    )
    expect(await lastValueFrom(bare$.pipe(catchItemFailure(() => of('instead'), toRequestError)))).toBe(
      'instead',
    )
    await expect(lastValueFrom(bare$.pipe(catchItemFailure(() => of('instead'))))).rejects.toThrow(
      'fetch failed',
    )
  })
})
