import { identity, NEVER, type Observable, of, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { describeResponse } from '../../src/http/answer.js'
import type { AskDependencies } from '../../src/http/ask.js'
import type { HttpReply, RequestEnd } from '../../src/http/transport.js'
import { RefusedError } from '../../src/market/refusal-policy.js'
import {
  BadAnswerError,
  type CollectError,
  formatError,
  HostClosedError,
  HttpError,
  StorageError,
  ThrottledError,
  TransportError,
  UsageError,
} from '../../src/model/errors.js'
import { formatResponse } from '../../src/model/failed-exchange.js'
import { stripBrackets } from '../../src/model/script-figures.js'
import { askFreely, limitersOf, note, settingsOf } from './support.js'

const ASKED = `${note.method} ${note.host} ${note.path}`
const text = (body: string | Buffer, contentType?: string) =>
  formatResponse(
    describeResponse(
      { status: 200, body: Buffer.from(body), ...(contentType ? { contentType } : {}) },
      identity,
    ),
  )

/** Sends one request without retries; its text is read by `read`. */
const request = (
  reply$: Observable<HttpReply>,
  read: (text: string) => unknown,
  more: Partial<AskDependencies> = {},
) => {
  const given = {
    urls: { static: 'https://a.test/secret-word' },
    headers: { authorization: 'secret-word' },
    retries: 0,
    throttleRetries: 0,
    throttleMs: 0,
  }
  const shared = {
    settings: settingsOf(given),
    limiters: limitersOf(given),
    timeoutMs: 1_000,
    random: () => 0,
    clock: () => 0,
    stream: 'news',
  }
  const ask = askFreely(
    { ...shared, transport: () => reply$, onRequestEvent: () => undefined, ...more },
    'TCS',
  )
  return ask({ ...note, read }, { data: { isin: 'x' } })
}

describe('the description of a reply', () => {
  it.each([
    [
      '<!DOCTYPE html><html><head><TITLE>\n Access  Denied </title><body>Reference #1',
      'text/html; charset=utf-8',
      'text/html, 77 B, "Access Denied"',
    ],
    [
      '<html><title></title><script>var a = "<b>"</script><style>x</style><h1>Sorry</h1><p>Later</p',
      undefined,
      '92 B, "Sorry Later"',
    ],
    ['<title', undefined, '6 B'],
    ['{"code":0,"data":[1,', 'application/json', 'application/json, 20 B, "{\\"code\\":0,\\"data\\":[1,"'],
    ['a\tb\r\nc\x1b[2Jd', 'TEXT/CSV', 'text/csv, 11 B, "a b c\\u001b[2Jd"'],
    [Buffer.from([0x1f, 0x8b, 0x08, 0x00, 0xff, 1, 2, 3, 4]), 'a b\x07', '9 B, bytes 1f8b0800ff010203'],
    ['', 'application/json', 'application/json, empty body'],
    ['x'.repeat(123_456), undefined, `123 kB, "${'x'.repeat(60)}…"`],
  ])('is given for %j', (body, type, requestEnds) => expect(text(body, type)).toBe(requestEnds))

  it('takes linear time for the largest page', () => {
    const before = performance.now()
    for (const part of ['<script>', '<style', '<title>', '<', '<!-- ']) text(part.repeat(1_000_000))
    // A fraction of a second in linear time; minutes in quadratic time.
    expect(performance.now() - before).toBeLessThan(10_000)
  })
})

describe('a failed request', () => {
  const failureOf = (
    reply$: Observable<HttpReply>,
    read: (text: string) => unknown = identity,
  ): Promise<unknown> => new Promise((resolve) => void request(reply$, read).subscribe({ error: resolve }))

  it('names the endpoint and describes the reply, without the stock', async () => {
    const reply = {
      status: 403,
      body: Buffer.from('<title>Access (Denied) to "you"</title>'),
      contentType: 'text/html',
    }
    const failure = await failureOf(of(reply))
    expect(failure).toBeInstanceOf(HttpError)
    expect(formatError(failure)).toBe(
      `${ASKED}: the provider answered 403 (text/html, 39 B, "Access (Denied) to \\"you\\"")`,
    )
    expect(stripBrackets(formatError(failure))).toBe(`${ASKED}: the provider answered 403`)
  })

  it('names the endpoint when there is no reply', async () => {
    const failure = await failureOf(throwError(() => new TransportError('reset', 'socket hang up')))
    expect(formatError(failure)).toBe(`${ASKED}: reset: socket hang up`)
  })

  it('becomes an error of the same class with request and reply, and does not change one that other requests share', async () => {
    const shared = [
      new BadAnswerError('schema', 'no rows'),
      new ThrottledError(3),
      new HttpError(503, 7),
      new TransportError('reset', 'gone', { hasBegun: true, cause: 'x' }),
      new RefusedError('fields', 'no date'),
    ]
    const url = `https://a.test/[redacted]${note.path}`
    const sent = { method: note.method, host: note.host, path: note.path, url, stream: 'news', item: 'TCS' }
    for (const one of shared) {
      const failure = await failureOf(
        of({ status: 200, body: Buffer.from('a secret-word'), contentType: 'text/plain' }),
        () => {
          throw one
        },
      )
      expect(failure).toBeInstanceOf(one.constructor)
      expect(failure).toEqual(Object.assign(one.during({}), { request: sent, response: expect.anything() }))
      expect((failure as CollectError).response).toEqual({
        status: 200,
        type: 'text/plain',
        bytes: 13,
        start: '"a [redacted]"',
      })
      expect((failure as CollectError).causes).toEqual([{ code: one.code, host: note.host }])
      expect(one).toMatchObject({ request: undefined, response: undefined })
    }
  })

  it.each([
    new UsageError('no address'),
    new StorageError('no space'),
    new HostClosedError('error', 'down'),
    new Error('bug'),
  ])('stays as it is if it is no failure of a request: %s', async (error) =>
    expect(await failureOf(throwError(() => error))).toBe(error),
  )

  it('is grouped with others that differ only in brackets', () => {
    expect(stripBrackets('a: x (1, "(") y; b (2 "\\")" 3); c')).toBe('a: x y; b; c')
    expect(stripBrackets('none ( open')).toBe('none ( open')
  })
})

describe('a request observer', () => {
  const ends = (reply$: Observable<HttpReply>, read: () => unknown = () => 'read') => {
    const requestEnds: RequestEnd[] = []
    let now = 100
    const watching = {
      clock: () => (now += 5),
      watch: { end: (end: RequestEnd) => void requestEnds.push(end) },
    }
    request(reply$, read, watching)
      .subscribe({ error: () => undefined })
      .unsubscribe()
    return requestEnds
  }

  it.each([
    [
      'answered',
      of({ status: 200, body: Buffer.from('[1]') }),
      undefined,
      { status: 200, bytes: 3, failure: undefined },
    ],
    [
      'refused',
      of({ status: 403, body: Buffer.from('no') }),
      new HttpError(403),
      { status: 403, bytes: 2, failure: 'http_403' },
    ],
    [
      'answered with a page',
      of({ status: 200, body: Buffer.from('<') }),
      new BadAnswerError('html', ''),
      { status: 200, bytes: 1, failure: 'html' },
    ],
    [
      'lost',
      throwError(() => new TransportError('reset', '')),
      undefined,
      { status: undefined, bytes: 0, failure: 'reset' },
    ],
    ['cancelled', NEVER, undefined, { status: undefined, bytes: 0, failure: 'cancelled' }],
  ])('receives one event for a request that is %s', async (_, reply$, error, end) => {
    const read = () => {
      if (error) throw error
    }
    expect(await ends(reply$, read)).toStrictEqual([
      { endpoint: expect.objectContaining({ path: note.path }), at: 105, ms: 5, ...end },
    ])
  })
})
