import { describe, expect, it } from 'vitest'
import { toInstant } from '../../src/model/trading-day.js'
import { tryRun } from '../resume/support.js'
import { temporaryFolder } from '../support/folders.js'

// The candles of these runs end at 12 February 2026, a Thursday.
const isNewsOf = (symbol: string) => (request: string) => request === `getLiveNews ${symbol}`

describe('the newest session of a stream', () => {
  it('is known of items that were stored before a kill', async () => {
    const out = temporaryFolder()
    await tryRun({ out, hangs: isNewsOf('ALPHA') })
    const { report, requests } = await tryRun({ out })
    expect(requests).toEqual(['getLiveNews ALPHA'])
    expect(report?.newest).toEqual({ 'all-ohlcv': '2026-02-12' })
  })
})

describe('a run that lacks items and a session', () => {
  it('is followed by one that requests both, and nothing else', async () => {
    const [out, now] = [temporaryFolder(), toInstant('2026-02-13', '18:30')]
    const first = await tryRun({ out, now, isAway: isNewsOf('ALPHA') })
    expect(first.report).toMatchObject({ outcome: 'partial', newest: { 'all-ohlcv': '2026-02-12' } })
    const { requests } = await tryRun({ out, now: now + 7_200_000 })
    expect(requests.filter((request) => request.startsWith('getLiveNews'))).toEqual(['getLiveNews ALPHA'])
    expect(requests.filter((request) => request.startsWith('getDataH'))).toHaveLength(4)
    expect(requests).toHaveLength(6)
  })
})
