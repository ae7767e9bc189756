import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { asyncScheduler, defer, lastValueFrom, of, toArray } from 'rxjs'
import { fromFetch } from 'rxjs/fetch'
import { TestScheduler } from 'rxjs/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type News,
  newsByHand,
  newsByOperators,
  type Read,
  type Reply,
} from '../../src/examples/13-plain-rxjs.js'

/**
 * What a way emits for one stock on virtual time, and when its requests are sent, ms. The last reply is
 * repeated.
 */
const follow = (way: typeof newsByHand, replies: readonly Reply[], read: Read = (text) => [text]) => {
  const sentAt: number[] = []
  const news: News[] = []
  const errors: unknown[] = []
  new TestScheduler(() => undefined).run(({ flush }) => {
    const start = asyncScheduler.now()
    const send = () =>
      defer(() => {
        sentAt.push(asyncScheduler.now() - start)
        return of(replies[Math.min(sentAt.length, replies.length) - 1] as Reply)
      })
    way(['TCS'], send, read).subscribe({
      next: (one) => news.push(one),
      error: (reason: unknown) => errors.push(reason),
    })
    flush()
  })
  return { sentAt, news, errors }
}

const good: Reply = { status: 200, text: 'Results' }
const throttled: Reply = { status: 429, retryAfter: '20', text: '' }
const read: Read = () => {
  throw new TypeError('titles is not iterable')
}

describe('13: the news of a stock', () => {
  it.each([newsByHand, newsByOperators])('arrive after a failure: %o', (way) => {
    expect(follow(way, [{ status: 503, text: '' }, good]).news).toEqual([
      { symbol: 'TCS', titles: ['Results'] },
    ])
  })

  it('by hand: sent again too early after a 429, and given up although it would have worked', () => {
    const { sentAt, news } = follow(newsByHand, [throttled, throttled, throttled, throttled, good])
    expect(sentAt).toEqual([0, 1_000, 3_000, 7_000])
    expect(news).toEqual([{ symbol: 'TCS', reason: 'status 429' }])
  })

  it('by operators: sent again when Retry-After allows it', () => {
    const { sentAt, news } = follow(newsByOperators, [throttled, good])
    expect(sentAt).toEqual([0, 20_000])
    expect(news).toEqual([{ symbol: 'TCS', titles: ['Results'] }])
  })

  it('by hand: a 404 is requested four times, by operators once', () => {
    const gone: Reply = { status: 404, text: '' }
    expect(follow(newsByHand, [gone]).sentAt).toHaveLength(4)
    const { sentAt, news } = follow(newsByOperators, [gone])
    expect(sentAt).toHaveLength(1)
    expect(news).toEqual([{ symbol: 'TCS', reason: expect.stringContaining('404') }])
  })

  it('by hand: a bug looks like a missing stock after four requests; by operators it is an error at once', () => {
    expect(follow(newsByHand, [good], read)).toMatchObject({
      news: [{ reason: 'titles is not iterable' }],
      errors: [],
    })
    const { sentAt, news, errors } = follow(newsByOperators, [good], read)
    expect([sentAt.length, news]).toEqual([1, []])
    expect(errors).toEqual([new TypeError('titles is not iterable')])
  })

  it('by operators: one of four stocks whose connection always resets costs that stock only, with fetch', async () => {
    const server = createServer((request, response) =>
      request.url === '/C' ? request.socket.destroy() : response.end('Results'),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const send = (symbol: string) =>
      fromFetch(`http://127.0.0.1:${port}/${symbol}`, {
        selector: async (response): Promise<Reply> => ({
          status: response.status,
          text: await response.text(),
        }),
      })
    const news = await lastValueFrom(
      newsByOperators(['A', 'B', 'C', 'D'], send, (text) => [text]).pipe(toArray()),
    )
    const titles = ['Results']
    const reason = expect.stringMatching(/^reset: /)
    expect([...news].sort((one, other) => (one.symbol < other.symbol ? -1 : 1))).toEqual([
      { symbol: 'A', titles },
      { symbol: 'B', titles },
      { symbol: 'C', reason },
      { symbol: 'D', titles },
    ])
  })

  it('by operators: a refused request holds the others to its host', () => {
    const sentAt: number[] = []
    new TestScheduler(() => undefined).run(({ flush }) => {
      const send = () =>
        defer(() => {
          sentAt.push(asyncScheduler.now())
          return of(asyncScheduler.now() < 20_000 ? throttled : good)
        })
      newsByOperators(['A', 'B', 'C', 'D'], send, (text) => [text]).subscribe()
      flush()
    })
    expect(sentAt).toHaveLength(5)
    expect(sentAt.filter((at) => at < 20_000)).toEqual([0])
  })
})
