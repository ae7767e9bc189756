import { describe, expect, it } from 'vitest'
import { hashOutputs } from '../support/folders.js'
import { countRequests, createFleetPlace, readReport, STOCKS, waitUntilJoined } from './processes.js'
import { markNeedsRedis, noRedis } from './support.js'

const ATTEMPTS = 3
const NEWS = ['--only', 'market-news']

describe.skipIf(noRedis)(markNeedsRedis('a second pass on a fleet'), () => {
  it('fetches each item that failed for a temporary reason once more, and loses none', async () => {
    const place = await createFleetPlace()
    const workers = [place.worker('a'), place.worker('b')]
    await waitUntilJoined(workers)
    place.simulator.control({ faults: [{ on: 'news', mode: 'garbage', times: ATTEMPTS }] })
    const { code, stderr } = await place.driver(NEWS).ended
    expect(code, stderr).toBe(0)
    expect(stderr).toContain(`market-news: retrying ${STOCKS} items`)
    expect(countRequests(place, 'news')).toBe(STOCKS * (ATTEMPTS + 1))
    expect(readReport(place.out)).toMatchObject({
      outcome: 'complete',
      scripts: { 'market-news': { retries: STOCKS * (ATTEMPTS - 1) } },
    })
    expect(hashOutputs(place.out)).toEqual(hashOutputs(await place.runInProcess(NEWS)))
  })

  it('is followed by a run that fetches only the missing items', async () => {
    const place = await createFleetPlace()
    const workers = [place.worker('a')]
    await waitUntilJoined(workers)
    const lost = place.simulator.market.stocks.slice(0, 3).map(({ ISIN }) => ISIN)
    place.simulator.control({ faults: [{ on: 'news', mode: 'status', status: 503, items: lost }] })
    const first = await place.driver(NEWS).ended
    expect(first.code, first.stderr).toBe(3)
    expect(readReport(place.out)).toMatchObject({
      outcome: 'partial',
      isResumable: true,
      missing: { 'market-news': lost.length },
    })
    place.simulator.control({ faults: [], reset: true })
    const second = await place.driver(NEWS).ended
    expect(second.code, second.stderr).toBe(0)
    expect(countRequests(place, 'master')).toBe(0)
    // The folder of the run was removed at its end: until it exists again, the worker may request each item
    // once more.
    const requests = countRequests(place, 'news')
    expect(requests).toBeGreaterThanOrEqual(lost.length)
    expect(requests).toBeLessThanOrEqual(2 * lost.length)
    expect(hashOutputs(place.out)).toEqual(hashOutputs(await place.runInProcess(NEWS)))
  })
})
