import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { connect, failureOf, getOf, serveRaw } from './support.js'

const sent = async (text: string) => connect().send(getOf((await serveRaw((socket) => socket.end(text))).url))

describe('the end of a body', () => {
  it.each([
    ['a length', 'content-length: 4\r\n\r\ndata'],
    ['chunks', 'transfer-encoding: chunked\r\n\r\n4\r\ndata\r\n0\r\n\r\n'],
  ])('is known by %s', async (_, rest) => {
    const reply = await firstValueFrom(await sent(`HTTP/1.1 200 OK\r\n${rest}`))
    expect(reply.body.toString()).toBe('data')
    expect(reply.isUnframed).toBeUndefined()
  })

  it.each([
    'HTTP/1.1 200 OK\r\n\r\ndata',
    'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\ndata',
    'HTTP/1.0 200 OK\r\n\r\ndata',
  ])('is marked as unknown in %j', async (text) => {
    const reply = await firstValueFrom(await sent(text))
    expect(reply.body.toString()).toBe('data')
    expect(reply.isUnframed).toBe(true)
  })

  it('is given by Content-Length, whatever bytes follow', async () => {
    const reply = await firstValueFrom(
      await sent('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndata and more'),
    )
    expect(reply.body.toString()).toBe('data')
  })

  it.each([
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-length: 2\r\n\r\ndata'],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n4\r\ndata\r\n0\r\n\r\n',
    ],
  ])('is not guessed from %s', async (_, text) => {
    expect(await failureOf(await sent(text))).toMatchObject({
      reason: 'truncated',
      verdict: 'retry',
      status: 'error',
    })
  })
})

describe('an invalid response', () => {
  it.each([
    ['another protocol', 'protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a 100 with nothing behind it', 'reset', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['a 101 that nobody asked for', 'truncated', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
    [
      'headers of more than 16 kB',
      'protocol',
      `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(20_000)}\r\ncontent-length: 1\r\n\r\nx`,
    ],
  ])('fails the attempt: %s, reported as %s', async (_, reason, text) => {
    expect(await failureOf(await sent(text))).toMatchObject({ reason, verdict: 'retry', status: 'error' })
  })
})
