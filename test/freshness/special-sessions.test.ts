import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { readSeenSessions } from '../../src/engine/find-sessions.js'
import { findNewestSession, PUBLISHED_AT, USUAL_CALENDAR } from '../../src/market/calendar.js'
import type { RunReport } from '../../src/model/report.js'
import { type Day, toInstant } from '../../src/model/trading-day.js'
import { chooseEachDay } from '../../src/storage/history/choose.js'
import { openHistory } from '../../src/storage/history/record.js'
import { lastCandle, listRecords } from './matrix.js'
import { createEvenings, type Market } from './support.js'

const WEDNESDAY: Day = '2026-02-04'
const MUHURAT = { [WEDNESDAY]: '18:00-19:15' }
const SUNDAY: Day = '2026-02-01'

/** Why files were replaced, each reason once, without what differs. */
const listReasons = ({ scripts }: Pick<RunReport, 'scripts'>): readonly string[] => [
  ...new Set(scripts['all-ohlcv']?.rewritten?.map(({ reason }) => reason.replace(/ \(.*/s, ''))),
]

/** A folder that is complete on the evening of a day. */
const openFolder = async (before: Day, market: Partial<Market>, settings: object = {}) => {
  const live: Market = { holidays: [], frozen: {}, isLive: true, ...market }
  const { type, only, out } = createEvenings(live, { history: true, ...settings })
  const run = async (day: Day, time: string, ...more: readonly string[]) => {
    const { requests, report, ...said } = await type(
      day,
      time,
      ['run --progress none --only', only, ...more].join(' '),
    )
    const word = /^(Complete|Up to date|No session|Partial|Unknown)/m.exec(said.out)?.[0]
    return { ...said, word, requests: requests.length, candle: lastCandle(out), report }
  }
  await run(before, '20:30')
  const seen = listRecords(out)
  const records = () =>
    listRecords(out).flatMap((one) => (seen.includes(one) ? [] : [one.replace(/^\S+ /, '')]))
  return { live, run, records, out, type }
}

describe('the evening of a Muhurat session that nobody named', () => {
  it('is collected until it stands still, although the first run of the day is in its midst', async () => {
    const { run } = await openFolder('2026-02-03', { hours: MUHURAT })
    const rows: unknown[] = []
    for (const time of ['18:05', '18:40', '19:10', '19:15', '19:30', '20:05', '23:50']) {
      const { word, candle, requests } = await run(WEDNESDAY, time)
      rows.push([time, word, candle, requests > 1])
    }
    expect(rows).toEqual([
      ['18:05', 'Complete', '04:104.05', true],
      ['18:40', 'Complete', '04:104.40', true],
      ['19:10', 'Complete', '04:104.70', true],
      ['19:15', 'Complete', '04:104.75', true],
      ['19:30', 'Up to date', '04:104.75', false],
      // The lists of 20:00.
      ['20:05', 'Complete', '04:104.75', true],
      ['23:50', 'Up to date', '04:104.75', false],
    ])
  })

  it('is recorded with its lists of the end, although the first run took it for a usual one', async () => {
    const { run, records, out } = await openFolder('2026-02-03', { hours: MUHURAT })
    const indicesKnownAt = async () =>
      chooseEachDay(await openHistory(out), 'indices')
        .at(-1)
        ?.record.knownAt.slice(0, 16)
    await run(WEDNESDAY, '18:30')
    expect(await indicesKnownAt()).toBe('2026-02-04T13:00')
    await run(WEDNESDAY, '20:30')
    expect([records(), await indicesKnownAt()]).toEqual([['04 final', '04 final'], '2026-02-04T15:00'])
  })

  it('is of hours of its own if a look at noon saw nothing', async () => {
    const { run, records } = await openFolder('2026-02-03', { hours: MUHURAT })
    await run(WEDNESDAY, '12:00')
    await run(WEDNESDAY, '18:30')
    expect(records()).toEqual(['04 session'])
  })

  it('leaves the right candle the next day without another history, and a mark on that candle alone', async () => {
    const { run, out } = await openFolder('2026-02-03', { hours: MUHURAT })
    await run(WEDNESDAY, '18:05')
    const { report, candle } = await run('2026-02-05', '20:05')
    expect(candle).toBe('05:106.75')
    expect(listReasons(report)).toEqual(['replaced alone: the candle of 2026-02-04'])
    expect(readFileSync(join(out, 'ohlcv_data', 'ALPHA.csv'), 'utf8')).toContain('104.75')
  })

  it('is of the hours of the setting, which go before what was seen', async () => {
    const { run, records } = await openFolder('2026-02-03', { hours: MUHURAT }, { sessions: MUHURAT })
    await run(WEDNESDAY, '18:05')
    expect((await run(WEDNESDAY, '19:14')).word).toBe('Complete')
    await run(WEDNESDAY, '19:15')
    expect(records()).toEqual(['04 session', '04 session', '04 final'])
    expect(await run(WEDNESDAY, '19:30')).toMatchObject({ word: 'Up to date', requests: 0 })
  })
})

describe('a session on a Sunday', () => {
  const special = { hours: { [SUNDAY]: '09:15-15:30' } }

  it('is recorded as final by the first run after midnight, if only one run saw it', async () => {
    const { run, records } = await openFolder('2026-01-30', special)
    await run(SUNDAY, '18:05')
    expect(records()).toEqual(['01 session'])
    expect(await run('2026-02-02', '08:50')).toMatchObject({ word: 'Complete', candle: '01:103.75' })
    expect(records()).toEqual(['01 session', '01 final'])
    expect(await run('2026-02-02', '09:00')).toMatchObject({ word: 'Up to date', requests: 0 })
  })

  it('is found on Monday morning, if there was no run on it', async () => {
    const { run, records } = await openFolder('2026-01-30', special)
    expect(await run('2026-02-02', '08:50')).toMatchObject({ word: 'Complete', candle: '01:103.75' })
    expect(records()).toEqual(['01 final'])
  })

  it.each([
    ['is found by the candle of a stock in a folder without index candles', special, 'Complete', 2],
    ['does not exist if that stock has none, and one request says so', {}, 'no session since 2026-01-30', 1],
  ])('%s', async (_, market, word, least) => {
    const { type, out } = createEvenings({ holidays: [], frozen: {}, isLive: true, ...market })
    const only = 'run --progress none --only master-data,all-ohlcv'
    await type('2026-01-30', '20:30', only)
    const { out: text, requests } = await type(SUNDAY, '18:05', only)
    expect(text).toContain(word)
    expect([requests.length >= least, requests[0], lastCandle(out).slice(0, 2)]).toEqual([
      true,
      'getDataH',
      word === 'Complete' ? '01' : '30',
    ])
  })

  it('has its deals and bands once they are published', async () => {
    const { run } = await openFolder('2026-01-30', special)
    await run(SUNDAY, '12:00')
    await run(SUNDAY, '18:05')
    expect((await run(SUNDAY, '20:05')).report.newest).toMatchObject({
      'bulk-block-deals': SUNDAY,
      'incremental-price-bands': SUNDAY,
    })
  })

  it('is not known if the provider does not answer, and that is what is said', async () => {
    const { run, live } = await openFolder('2026-01-30', special)
    live.isAway = true
    const { word, out, code, requests } = await run(SUNDAY, '12:00')
    expect([word, code, requests]).toEqual(['Unknown', 0, 1])
    expect(out).toContain('whether there is a session today could not be found out: POST ticks')
    expect((await run(SUNDAY, '12:05', '--json')).err).toMatch(/^Unknown: .*; --fresh downloads again\.\n$/)
    live.isAway = false
    expect(await run(SUNDAY, '12:10')).toMatchObject({ word: 'Complete' })
  })
})

describe('a weekday', () => {
  it('with late candles is collected all the same, because the indices have changed', async () => {
    const { run, live, records } = await openFolder('2026-02-02', {})
    await run('2026-02-03', '20:30')
    live.frozen = { candles: WEDNESDAY, indices: WEDNESDAY, deals: WEDNESDAY, bands: WEDNESDAY }
    expect(await run(WEDNESDAY, '18:30')).toMatchObject({ word: 'Complete', candle: '03:108.75' })
    expect(records()).toContain('04 final?')
  })

  it('whose indices stand still is found by the next look, which asks for a candle', async () => {
    const { run, records } = await openFolder('2026-02-02', {})
    await run('2026-02-03', '20:30')
    const second = await openFolder('2026-02-02', { frozen: { quotes: WEDNESDAY } })
    await second.run('2026-02-03', '20:30')
    expect(await second.run(WEDNESDAY, '18:30')).toMatchObject({ word: 'No session', requests: 1 })
    expect(await second.run(WEDNESDAY, '20:30')).toMatchObject({ word: 'Complete', candle: '04:107.75' })
    expect([records(), second.records()]).toEqual([['03 final'], ['03 final', '04 session']])
  })

  it('with late candles is collected on the second day of a folder, too', async () => {
    const { run, records } = await openFolder('2026-02-03', {
      frozen: { candles: WEDNESDAY, indices: WEDNESDAY, deals: WEDNESDAY, bands: WEDNESDAY },
    })
    expect(await run(WEDNESDAY, '18:30')).toMatchObject({ word: 'Complete', candle: '03:108.75' })
    expect(records()).toContain('04 final?')
  })

  it('whose candles are revised in the evening gets them, and ends as it would', async () => {
    const { run } = await openFolder('2026-02-03', { revised: { [WEDNESDAY]: '2026-02-04 19:00' } })
    expect(await run(WEDNESDAY, '18:30')).toMatchObject({ candle: '04:107.75' })
    expect(await run(WEDNESDAY, '20:30')).toMatchObject({ word: 'Complete', candle: '04:108.75' })
    expect(await run(WEDNESDAY, '23:50')).toMatchObject({ word: 'Up to date', requests: 1 })
    expect(await run(WEDNESDAY, '23:55')).toMatchObject({ word: 'Up to date', requests: 0 })
  })

  it('whose candles are revised the next morning gets them without another history, each alone', async () => {
    const { run, out } = await openFolder('2026-02-03', { revised: { [WEDNESDAY]: '2026-02-05 08:00' } })
    await run(WEDNESDAY, '20:30')
    const { report } = await run('2026-02-05', '20:30')
    expect(listReasons(report)).toEqual(['replaced alone: the candle of 2026-02-04'])
    expect(readFileSync(join(out, 'ohlcv_data', 'ALPHA.csv'), 'utf8')).toContain('108.75')
  })

  it('without a session is one for plan and page, too, once a run has looked', async () => {
    const { run, out } = await openFolder('2026-02-03', { holidays: [WEDNESDAY] })
    const dueOn = async () => {
      const calendar = await firstValueFrom(readSeenSessions(folder(out).stored, USUAL_CALENDAR))
      return findNewestSession(toInstant(WEDNESDAY, '18:40'), PUBLISHED_AT, calendar)
    }
    expect(await dueOn()).toBe(WEDNESDAY)
    await run(WEDNESDAY, '18:30')
    expect(await dueOn()).toBe('2026-02-03')
  })

  it('requests lists again that came before they were published, so that their record is one of the day', async () => {
    const { run, out } = await openFolder('2026-02-03', { appears: { deals: '17:00', bands: '17:00' } })
    await run(WEDNESDAY, '18:30')
    const timings = async () => chooseEachDay(await openHistory(out), 'deals').at(-1)?.timing
    expect(await timings()).toBe('early')
    expect(await run(WEDNESDAY, '20:30')).toMatchObject({ word: 'Complete', requests: 6 })
    expect(await timings()).toBe('final')
    expect(await run(WEDNESDAY, '23:50')).toMatchObject({ word: 'Up to date', requests: 0 })
  })

  it('without a session is followed by a whole run if the next one shows none either', async () => {
    const { run } = await openFolder('2026-02-03', { holidays: [WEDNESDAY, '2026-02-05'] })
    expect(await run(WEDNESDAY, '20:30')).toMatchObject({ word: 'No session', requests: 1 })
    const { out } = await run('2026-02-05', '20:30')
    expect(out).toContain('nothing of 2026-02-05 from any source')
  })
})
