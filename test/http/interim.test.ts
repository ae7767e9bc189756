import type { Socket } from 'node:net'
import { lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { TransportError } from '../../src/model/errors.js'
import { deadline } from '../../src/operators/deadline.js'
import { connect, failureOf, getOf, serveRaw } from './support.js'

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello'
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const HINTS =
  'HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\nContent-Length: 9\r\nLocation: /elsewhere\r\n\r\n'

const pieces =
  (...texts: readonly string[]) =>
  (socket: Socket): void => {
    const [text, ...rest] = texts
    if (text === undefined) return
    socket.write(text, () => setImmediate(() => pieces(...rest)(socket)))
  }

describe('an interim response in front of an answer is harmless', () => {
  it.each([
    ['100 Continue', [CONTINUE, ANSWER]],
    ['100 Continue in one piece with the answer', [CONTINUE + ANSWER]],
    ['103 Early Hints', [HINTS, ANSWER]],
    ['103 Early Hints in one piece with the answer', [HINTS + ANSWER]],
    ['102 Processing twice', ['HTTP/1.1 102 Processing\r\n\r\n'.repeat(2), ANSWER]],
    ['100 Continue with headers, twice', [`HTTP/1.1 100 Continue\r\nDate: x\r\n\r\n${CONTINUE}`, ANSWER]],
    ['100 Continue in two pieces with the answer', [CONTINUE.slice(0, 25), `\n${ANSWER}`]],
    ['100 Continue in two pieces', [CONTINUE.slice(0, 9), CONTINUE.slice(9), ANSWER]],
  ])('%s', async (_, texts) => {
    const { url } = await serveRaw(pieces(...texts))
    const { send } = connect()
    for (let time = 0; time < 2; time++) {
      for (const method of ['GET', 'POST'] as const) {
        const reply = await lastValueFrom(
          send(getOf(url, { method, ...(method === 'POST' ? { body: '{}' } : {}) })),
        )
        expect([reply.status, Buffer.from(reply.body).toString(), reply.location, reply.isUnframed]).toEqual([
          200,
          'hello',
          undefined,
          undefined,
        ])
      }
    }
  })

  it('keeps the text of an answer that mentions one', async () => {
    const head = `HTTP/1.1 200 OK\r\nContent-Length: ${CONTINUE.length * 2}\r\n\r\n`
    const { url } = await serveRaw(pieces(head, CONTINUE, CONTINUE))
    const reply = await lastValueFrom(connect().send(getOf(url)))
    expect(Buffer.from(reply.body).toString()).toBe(CONTINUE.repeat(2))
  })

  it('is no progress: an answer that never follows is a deadline without a begun reply', async () => {
    const { url } = await serveRaw((socket) => {
      const timer = setInterval(() => socket.write(HINTS), 20)
      socket.on('close', () => clearInterval(timer))
    })
    const transfer = { bytesAt: 0 }
    const reply$ = connect()
      .send(getOf(url, { transfer }))
      .pipe(deadline({ idleMs: 200, totalMs: 1_200, transfer }))
    expect(await failureOf(reply$)).toMatchObject({
      code: 'deadline',
      hasBegun: false,
      message: 'deadline: no byte for 200 ms',
    })
  })

  it('fails when its head never ends', async () => {
    const { url } = await serveRaw(pieces(`HTTP/1.1 100 Continue\r\nX-Long: ${'x'.repeat(20_000)}`))
    expect(await failureOf(connect().send(getOf(url)))).toBeInstanceOf(TransportError)
  })
})
