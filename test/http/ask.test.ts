import { gzipSync } from 'node:zlib'
import {
  concat,
  defer,
  EMPTY,
  firstValueFrom,
  lastValueFrom,
  NEVER,
  type Observable,
  of,
  Subject,
  takeUntil,
} from 'rxjs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { json } from '../../src/http/answer.js'
import { httpTransport } from '../../src/http/connections.js'
import type { HttpReply, Transport } from '../../src/http/transport.js'
import { createLimiters } from '../../src/limiter/limiter-registry.js'
import { TransportError } from '../../src/model/errors.js'
import { itWithMarbles } from '../support/marbles.js'
import {
  askFreely,
  connect,
  failureOf,
  limitersOf,
  note,
  replying,
  serveHttp,
  settingsOf,
} from './support.js'

const INPUT = { data: { isin: 'INE000000001' } }
const call = { ...note, read: json(z.looseObject({ data: z.array(z.unknown()) })) }

const createTestAsk = (transport: Transport, timeoutMs = 1_000, url = 'http://static', backoffMs = 0) => {
  const events: string[] = []
  const given = { urls: { static: url }, retries: 2, backoffMs, throttleMs: 0 }
  const ask = askFreely({
    transport,
    settings: settingsOf(given),
    limiters: limitersOf(given),
    timeoutMs,
    random: () => 0,
    clock: () => 0,
    onRequestEvent: (type) => events.push(type),
  })
  return { events, ask }
}

/** Replies in order; the last reply repeats. */
const inTurn = (...replies: readonly Observable<HttpReply>[]): Transport => {
  let turn = 0
  return () => {
    const reply = replies[Math.min(turn, replies.length - 1)] ?? replying('')
    turn += 1
    return reply
  }
}

describe('a request through ask', () => {
  it('emits the answer that the endpoint reads', async () => {
    const { ask, events } = createTestAsk(inTurn(replying('{"data":[1]}')))
    expect(await firstValueFrom(ask(call, INPUT))).toEqual({ data: [1] })
    expect(events).toEqual(['requested'])
  })

  it.each([
    {
      what: 'an HTML page',
      body: ' \n<!DOCTYPE html><html>Access Denied</html>',
      says: /^html: the answer is an HTML page$/,
    },
    { what: 'truncated JSON', body: '{"data":[1,', says: /^parse: / },
    { what: 'empty', body: '', says: /^empty: / },
    { what: 'NaN', body: '{"data":[NaN]}', says: /^parse: / },
    { what: 'of another shape', body: '{"data":7}', says: /^schema: data/ },
    { what: 'null', body: 'null', says: /^schema: / },
  ])('tries three times when the answer is $what, and describes the reply', async ({ body, says }) => {
    const { ask, events } = createTestAsk(inTurn(replying(body)))
    const error = await failureOf(ask(call, INPUT))
    expect(error).toMatchObject({ status: 'error', message: expect.stringMatching(says) })
    expect(events).toEqual(['requested', 'retried', 'requested', 'retried', 'requested'])
  })

  it.each([
    ['Latin-1', Buffer.from('{"data":["é"]}', 'latin1')],
    ['UTF-16', Buffer.from('\ufeff{"data":[]}', 'utf16le')],
    ['gzip that is not called so', gzipSync('{"data":[]}')],
  ])('rejects bytes that are not UTF-8: %s', async (_, body) => {
    const { ask } = createTestAsk(() => of({ status: 200, body }))
    expect(await failureOf(ask(call, INPUT))).toMatchObject({ reason: 'encoding', status: 'error' })
  })

  it.each([
    ['JSON', undefined, '{"data":["\\ud83d \\u0000 \\ud83d\\ude00"]}', '{"data":["\ufffd \ufffd 😀"]}'],
    ['a page', undefined, '<script>["\\uD83D"]</script>', '<script>["\\ufffd"]</script>'],
    ['a CSV', 'text/csv', 'A\0,\\ud83d', 'A\ufffd,\\ud83d'],
  ] as const)('has well-formed texts without NUL: %s', async (_, type, body, expected) => {
    const { ask } = createTestAsk(inTurn(replying(body)))
    const read = (text: string) => (text.startsWith('{') ? JSON.stringify(JSON.parse(text)) : text)
    expect(await firstValueFrom(ask({ ...call, type, read }, INPUT))).toBe(expected)
  })

  it('accepts complete JSON of unknown length and rejects truncated JSON', async () => {
    const unframed = (text: string) => () => of({ status: 200, body: Buffer.from(text), isUnframed: true })
    expect(await firstValueFrom(createTestAsk(unframed('{"data":[1]}')).ask(call, INPUT))).toEqual({
      data: [1],
    })
    expect(await failureOf(createTestAsk(unframed('{"data":[1]')).ask(call, INPUT))).toMatchObject({
      reason: 'parse',
    })
  })

  it('rejects a CSV of unknown length, complete or not', async () => {
    const table = { ...call, read: (text: string) => text, type: 'text/csv' } as const
    const { ask, events } = createTestAsk(() =>
      of({ status: 200, body: Buffer.from('A,B\n1,2\n'), isUnframed: true }),
    )
    expect(await failureOf(ask(table, INPUT))).toMatchObject({ reason: 'truncated', status: 'error' })
    expect(events).toEqual(['requested', 'retried', 'requested', 'retried', 'requested'])
    expect(await firstValueFrom(createTestAsk(inTurn(replying('A,B\n'))).ask(table, INPUT))).toBe('A,B\n')
  })

  it('passes the input to the reader', async () => {
    const echo = { ...call, read: (text: string, input: typeof INPUT) => `${text} of ${input.data.isin}` }
    expect(await firstValueFrom(createTestAsk(inTurn(replying('data'))).ask(echo, INPUT))).toBe(
      'data of INE000000001',
    )
  })

  it('uses readBytes where the endpoint has it, and falls back to read', async () => {
    const bytes = {
      ...call,
      read: (text: string) => `text ${text}`,
      readBytes: (body: Uint8Array) => (body[0] === 91 ? 'bytes' : undefined),
    }
    const { ask, events } = createTestAsk(
      inTurn(replying('[]'), replying('{}'), replying('[]', 404), replying('')),
    )
    expect(await firstValueFrom(ask(bytes, INPUT))).toBe('bytes')
    expect(await firstValueFrom(ask(bytes, INPUT))).toBe('text {}')
    expect(await failureOf(ask(bytes, INPUT))).toMatchObject({ status: 'http_404' })
    expect(events).toEqual(['requested', 'requested', 'requested'])
  })

  it('skips a byte order mark', async () => {
    const { ask } = createTestAsk(inTurn(replying('\uFEFF{"data":[]}')))
    expect(await firstValueFrom(ask(call, INPUT))).toEqual({ data: [] })
  })

  it.each([
    { status: 501, attempts: 3, ends: 'http_501' },
    { status: 429, attempts: 9, ends: 'rate_limit' },
    { status: 404, attempts: 1, ends: 'http_404' },
    { status: 403, attempts: 1, ends: 'http_403' },
    { status: 302, attempts: 1, ends: 'http_302' },
    { status: 204, attempts: 1, ends: 'http_204' },
    { status: 206, attempts: 1, ends: 'http_206' },
    { status: 304, attempts: 1, ends: 'http_304' },
    { status: 999, attempts: 3, ends: 'http_999' },
  ])('makes $attempts attempts when the provider answers $status', async ({ status, attempts, ends }) => {
    const { ask, events } = createTestAsk(inTurn(replying('{"data":[]}', status)))
    expect(await failureOf(ask(call, INPUT))).toMatchObject({ status: ends })
    expect(events.filter((what) => what === 'requested')).toHaveLength(attempts)
    expect(events.filter((what) => what === 'rate-limited')).toHaveLength(status === 429 ? attempts : 0)
  })

  it('emits the answer that follows failures', async () => {
    const { ask, events } = createTestAsk(
      inTurn(replying('', 503), replying('<html>'), replying('{"data":[]}')),
    )
    expect(await firstValueFrom(ask(call, INPUT))).toEqual({ data: [] })
    expect(events).toEqual(['requested', 'retried', 'requested', 'retried', 'requested'])
  })

  it('times out a reply that does not arrive in time, and closes its socket', async () => {
    const closed: Promise<unknown>[] = []
    const { url } = await serveHttp((_, response) => {
      closed.push(new Promise((resolve) => response.once('close', resolve)))
      response.writeHead(200, { 'content-length': 99 }).write('half')
    })
    // The first request loads the client, which takes longer than this deadline.
    await import('undici')
    const { ask } = createTestAsk(connect().send, 40, url)
    expect(await failureOf(ask(call, INPUT))).toMatchObject({
      reason: 'deadline',
      status: 'error',
      message: expect.stringContaining('40 ms'),
    })
    expect(closed).toHaveLength(3)
    await Promise.all(closed)
  })

  it('sends nothing before subscription, and one request for each subscription', async () => {
    const { ask, events } = createTestAsk(inTurn(replying('{"data":[]}')))
    const answer$ = ask(call, INPUT)
    expect(events).toEqual([])
    await firstValueFrom(answer$)
    await firstValueFrom(answer$)
    expect(events).toEqual(['requested', 'requested'])
  })

  it('ends an attempt with its first reply, whatever a transport emits after it in the same turn', async () => {
    const { ask, events } = createTestAsk(
      inTurn(concat(replying('<html>'), replying('{"data":[1]}')), replying('{"data":[2]}')),
    )
    expect(await firstValueFrom(ask(call, INPUT))).toEqual({ data: [2] })
    expect(events).toEqual(['requested', 'retried', 'requested'])
  })

  itWithMarbles(
    'sends each attempt after the end of the last one, and none after it is unsubscribed',
    (m) => {
      const sent = [m.cold('--#', undefined, new TransportError('reset', 'gone')), m.cold('-')] as const
      const { ask } = createTestAsk(inTurn(...sent), 1_000, 'http://static', 8)
      m.expect(ask(call, INPUT), '---------!').toBeObservable('-')
      m.expect(sent[0]).toHaveSubscriptions('^-!')
      m.expect(sent[1]).toHaveSubscriptions('------^--!')
    },
  )

  it('sends nothing when an observer of its start cancels it', () => {
    const sent: unknown[] = []
    const settings = settingsOf({ urls: { static: 'http://static' } })
    const cancel$ = new Subject<void>()
    const ask = askFreely({
      settings,
      limiters: createLimiters(settings),
      timeoutMs: 1_000,
      random: () => 0,
      clock: () => 0,
      transport: httpTransport({ dispatch: (request) => sent.push(request) > 0 }),
      onRequestEvent: () => cancel$.next(),
    })
    ask(call, INPUT).pipe(takeUntil(cancel$)).subscribe()
    expect(sent).toEqual([])
  })

  /** An ask with this transport, and how many requests its limiters count as in flight. */
  const askWith = (transport: Transport, onRequestEvent = (): void => undefined) => {
    const settings = settingsOf({ urls: { static: 'http://static' } })
    const limiters = createLimiters(settings)
    const ask = askFreely({
      transport,
      settings,
      limiters,
      timeoutMs: 1_000,
      random: () => 0,
      clock: () => 0,
      onRequestEvent,
    })
    return { ask, countInFlight: () => limiters.status().map(({ inFlight }) => inFlight) }
  }

  it('has its answer from a transport that does not complete, and gives its permit back', async () => {
    const { ask, countInFlight } = askWith(() => concat(replying('{"data":[1]}'), NEVER))
    expect(await lastValueFrom(ask(call, INPUT))).toEqual({ data: [1] })
    expect(countInFlight()).toEqual([0, 0])
  })

  it('ends without an answer if a transport emits nothing, and gives its permit back', async () => {
    const { ask, countInFlight } = askWith(() => EMPTY)
    expect(await lastValueFrom(ask(call, INPUT), { defaultValue: 'nothing' })).toBe('nothing')
    expect(countInFlight()).toEqual([0, 0])
  })

  it('fails with the error of an observer of its start, and sends nothing', async () => {
    let sent = 0
    const transport = (): Observable<HttpReply> =>
      defer(() => {
        sent += 1
        return replying('{}')
      })
    const { ask, countInFlight } = askWith(transport, () => {
      throw new TypeError('of the observer')
    })
    await expect(lastValueFrom(ask(call, INPUT))).rejects.toThrow('of the observer')
    expect(sent).toBe(0)
    expect(countInFlight()).toEqual([0, 0])
  })

  it('passes on an unexpected error without a retry', async () => {
    const bug = { ...call, read: () => JSON.parse('null').data }
    const { ask, events } = createTestAsk(inTurn(replying('{}')))
    await expect(firstValueFrom(ask(bug, INPUT))).rejects.toThrow(TypeError)
    expect(events).toEqual(['requested'])
  })
})
