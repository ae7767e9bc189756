import { describe, expect, it } from 'vitest'
import { createRateLimits } from '../../src/simulator/conditions.js'
import { requestNote, sendPost, sendRequest, serve } from './support.js'

describe('a rate limit of the simulator', () => {
  it('serves a burst after a pause, and then its rate per second', () => {
    let now = 0
    const limitOf = createRateLimits({ news: { perSecond: 50, burst: 10 } }, () => now)
    const served = (): number =>
      Array.from({ length: 100 }, () => limitOf('news')).filter((limit) => limit === undefined).length
    expect(served()).toBe(10)
    const bySecond = Array.from({ length: 5 }, () => {
      now += 100
      return served()
    })
    expect(bySecond).toEqual([5, 5, 5, 5, 5])
    now += 60_000
    expect(served()).toBe(10)
  })

  it('is separate for each host, and does not affect other hosts', () => {
    const limitOf = createRateLimits(
      { '*': { perSecond: 1, burst: 1 }, web: { perSecond: 1, burst: 2 } },
      () => 0,
    )
    const accepted = ['news', 'news', 'static', 'static', 'web', 'web', 'web'].map(
      (host) => limitOf(host) === undefined,
    )
    expect(accepted).toEqual([true, false, true, false, true, true, false])
    expect(createRateLimits({ web: { perSecond: 1, burst: 1 } }, () => 0)('news')).toBeUndefined()
  })

  it('answers 429 above the limit, with its Retry-After, and counts it', async () => {
    const simulator = await serve({ limits: { static: { perSecond: 0.001, burst: 2, retryAfter: 3 } } })
    const answers = [await requestNote(simulator), await requestNote(simulator), await requestNote(simulator)]
    expect(answers.map(({ status, retryAfter }) => [status, retryAfter])).toEqual([
      [200, undefined],
      [200, undefined],
      [429, '3'],
    ])
    expect(simulator.stats().endpoints.note?.statuses).toEqual({ 200: 2, 429: 1 })
    expect(await sendRequest(`${simulator.settings.urls.web}/start/`)).toMatchObject({ status: 200 })
  })

  it('can be set, changed and removed while the simulator runs', async () => {
    const simulator = await serve()
    const statusAfter = async (limits: object): Promise<readonly number[]> => {
      await sendPost(`${simulator.origin}/__control`, { limits })
      return [(await requestNote(simulator)).status, (await requestNote(simulator)).status]
    }
    expect(await statusAfter({ '*': { perSecond: 0.001, burst: 1 } })).toEqual([200, 429])
    expect(await statusAfter({})).toEqual([200, 200])
  })

  it.each([
    { nowhere: { perSecond: 1, burst: 1 } },
    { news: { perSecond: 0, burst: 1 } },
    { news: { perSecond: 1 } },
    { news: 5 },
  ])('is refused if it is none: %j', async (limits) => {
    const simulator = await serve()
    expect(await sendPost(`${simulator.origin}/__control`, { limits })).toMatchObject({ status: 400 })
    await expect(serve({ limits: limits as never })).rejects.toThrow()
  })
})
