import { asyncScheduler, defer, of, throwError } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { describe, expect, it } from 'vitest'
import { type News, newsByHand, newsByOperators, type Read, type Reply } from '../../src/examples/13-plain-rxjs.js'

/** What a way emits for one stock on virtual time, and when its requests are sent, ms. The last reply is repeated. */
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
    way(['TCS'], send, read).subscribe({ next: (one) => news.push(one), error: (reason: unknown) => errors.push(reason) })
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
    expect(follow(way, [{ status: 503, text: '' }, good]).news).toEqual([{ symbol: 'TCS', titles: ['Results'] }])
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
    expect(follow(newsByHand, [good], read)).toMatchObject({ news: [{ reason: 'titles is not iterable' }], errors: [] })
    const { sentAt, news, errors } = follow(newsByOperators, [good], read)
    expect([sentAt.length, news]).toEqual([1, []])
    expect(errors).toEqual([new TypeError('titles is not iterable')])
  })

  it.each([newsByHand, newsByOperators])('three stocks of four arrive if the connection of one always resets: %o', async (way) => {
    const reset = () => throwError(() => new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ECONNRESET' }) }))
    const news: News[] = []
    new TestScheduler(() => undefined).run(({ flush }) => {
      way(
        ['A', 'B', 'C', 'D'],
        (symbol) => (symbol === 'C' ? reset() : of(good)),
        (text) => [text],
      ).subscribe((one) => news.push(one))
      flush()
    })
    expect(news.filter((one) => 'titles' in one).map(({ symbol }) => symbol)).toEqual(['A', 'B', 'D'])
    expect(news.find(({ symbol }) => symbol === 'C')).toMatchObject({ reason: expect.any(String) })
  })
})
