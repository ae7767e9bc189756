import { gzipSync } from 'node:zlib'
import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { connect, failureOf, getOf, serveHttp } from './support.js'

const BODY = JSON.stringify({ data: Array.from({ length: 200 }, (_, place) => ({ Sym: `S${place}` })) })

describe('a compressed body', () => {
  const replyOf = async (headers: Record<string, string>, body: Buffer, status = 200) => {
    const { url } = await serveHttp((_, response) =>
      response.writeHead(status, { 'content-length': body.length, ...headers }).end(body),
    )
    return connect().send(getOf(url))
  }

  it('is decompressed', async () => {
    const reply$ = await replyOf({ 'content-encoding': 'gzip' }, gzipSync(BODY))
    expect((await firstValueFrom(reply$)).body.toString()).toBe(BODY)
  })

  it.each([1, 8, 20, 100])('that lacks its last %i bytes is rejected as truncated', async (bytes) => {
    const reply$ = await replyOf({ 'content-encoding': 'gzip' }, gzipSync(BODY).subarray(0, -bytes))
    expect(await failureOf(reply$)).toMatchObject({ reason: 'truncated', verdict: 'retry' })
  })

  it.each([4, 8])('with a wrong checksum or length is rejected (byte %i from the end)', async (from) => {
    const body = gzipSync(BODY)
    body[body.length - from] = (body[body.length - from] ?? 0) ^ 1
    expect(await failureOf(await replyOf({ 'content-encoding': 'gzip' }, body))).toMatchObject({
      reason: 'truncated',
      verdict: 'retry',
    })
  })

  it('that is not gzip is rejected', async () => {
    expect(await failureOf(await replyOf({ 'content-encoding': 'gzip' }, Buffer.from(BODY)))).toMatchObject({
      verdict: 'retry',
      status: 'error',
    })
  })

  it('with an encoding that was not requested is rejected', async () => {
    expect(await failureOf(await replyOf({ 'content-encoding': 'br' }, Buffer.from('x')))).toMatchObject({
      reason: 'protocol',
    })
  })

  it('that decompresses to a huge one is rejected (gzip bomb)', async () => {
    const megabytes = 257
    const bomb = gzipSync(Buffer.alloc(megabytes << 20), { level: 1 })
    expect(await failureOf(await replyOf({ 'content-encoding': 'gzip' }, bomb))).toMatchObject({
      reason: 'too_large',
      verdict: 'give-up',
    })
  })

  it.each([429, 503])('that is broken does not hide the status %i', async (status) => {
    const reply$ = await replyOf({ 'content-encoding': 'gzip', 'retry-after': '1' }, Buffer.alloc(0), status)
    expect(await firstValueFrom(reply$)).toMatchObject({ status, retryAfter: '1' })
  })
})
