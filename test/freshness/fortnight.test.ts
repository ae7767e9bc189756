import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { addDays, type Day } from '../../src/model/trading-day.js'
import { temporaryFolder } from '../support/folders.js'
import { createEvenings, type Market, type Said, weekdayOf } from './support.js'

const DAYS = Array.from({ length: 14 }, (_, index) => addDays('2026-02-02', index))

/** One line: when, exit code, requests, whether the operator was notified, and what was said. */
const toRow = (day: Day, time: string, { code, requests, notified, lines }: Said): string =>
  [
    `${weekdayOf(day)} ${day} ${time}`,
    code,
    requests.length,
    notified === undefined ? '-' : 'sent',
    lines.join('; ') || '-',
  ].join(' | ')

const holidaysFile = (...days: readonly Day[]): string => {
  const path = join(temporaryFolder(), 'holidays.txt')
  writeFileSync(path, days.join('\n'))
  return path
}

const lateCandles = (expected: Day): string =>
  `candles end at 2026-02-10, expected ${expected} (deals and index candles of that day exist)`

describe('a fortnight with a morning run and a second run each evening', () => {
  // 5 February is a holiday that nobody named, 9 February one that the settings name. Sunday the 8th has a
  // special session. From 11 February on, the provider adds no candles of stocks.
  const market: Market = {
    holidays: ['2026-02-05', '2026-02-09'],
    specials: ['2026-02-08'],
    frozen: { candles: '2026-02-11' },
  }

  it('speaks on each stale evening, on no other one, and requests only what is missing the second time', async () => {
    const { type } = createEvenings(market, { holidays: holidaysFile('2026-02-09') })
    await type('2026-01-30', '20:30')
    const rows: string[] = []
    for (const day of DAYS)
      for (const time of ['08:00', '18:30', '20:30']) rows.push(toRow(day, time, await type(day, time)))
    expect(rows).toEqual([
      // The two files of bands appear after the first run of an evening. On weekends, holidays and in the
      // evening, one request looks for a session.
      'Mon 2026-02-02 08:00 | 0 | 1 | - | -',
      'Mon 2026-02-02 18:30 | 0 | 48 | - | -',
      'Mon 2026-02-02 20:30 | 0 | 6 | - | -',
      'Tue 2026-02-03 08:00 | 0 | 0 | - | -',
      'Tue 2026-02-03 18:30 | 0 | 44 | - | -',
      'Tue 2026-02-03 20:30 | 0 | 6 | - | -',
      'Wed 2026-02-04 08:00 | 0 | 0 | - | -',
      'Wed 2026-02-04 18:30 | 0 | 44 | - | -',
      'Wed 2026-02-04 20:30 | 0 | 6 | - | -',
      // A holiday that nobody named: one request shows it.
      'Thu 2026-02-05 08:00 | 0 | 0 | - | -',
      'Thu 2026-02-05 18:30 | 0 | 1 | - | -',
      'Thu 2026-02-05 20:30 | 0 | 1 | - | -',
      'Fri 2026-02-06 08:00 | 0 | 1 | - | -',
      'Fri 2026-02-06 18:30 | 0 | 45 | - | -',
      'Fri 2026-02-06 20:30 | 0 | 6 | - | -',
      'Sat 2026-02-07 08:00 | 0 | 0 | - | -',
      'Sat 2026-02-07 18:30 | 0 | 1 | - | -',
      'Sat 2026-02-07 20:30 | 0 | 1 | - | -',
      'Sun 2026-02-08 08:00 | 0 | 1 | - | -',
      'Sun 2026-02-08 18:30 | 0 | 46 | - | -',
      'Sun 2026-02-08 20:30 | 0 | 42 | - | -',
      // A holiday that the settings name.
      'Mon 2026-02-09 08:00 | 0 | 0 | - | -',
      'Mon 2026-02-09 18:30 | 0 | 1 | - | -',
      'Mon 2026-02-09 20:30 | 0 | 1 | - | -',
      'Tue 2026-02-10 08:00 | 0 | 1 | - | -',
      'Tue 2026-02-10 18:30 | 0 | 46 | - | -',
      'Tue 2026-02-10 20:30 | 0 | 6 | - | -',
      // Candles stand still: a note on the first evening, exit code 3 from the second session on.
      'Wed 2026-02-11 08:00 | 0 | 0 | - | -',
      `Wed 2026-02-11 18:30 | 0 | 44 | sent | ${lateCandles('2026-02-11')}`,
      `Wed 2026-02-11 20:30 | 0 | 11 | sent | ${lateCandles('2026-02-11')}`,
      `Thu 2026-02-12 08:00 | 0 | 5 | sent | ${lateCandles('2026-02-11')}`,
      `Thu 2026-02-12 18:30 | 3 | 43 | sent | ${lateCandles('2026-02-12')}`,
      `Thu 2026-02-12 20:30 | 3 | 11 | sent | ${lateCandles('2026-02-12')}`,
      `Fri 2026-02-13 08:00 | 3 | 5 | sent | ${lateCandles('2026-02-12')}`,
      `Fri 2026-02-13 18:30 | 3 | 43 | sent | ${lateCandles('2026-02-13')}`,
      `Fri 2026-02-13 20:30 | 3 | 11 | sent | ${lateCandles('2026-02-13')}`,
      ...['Sat 2026-02-14', 'Sun 2026-02-15'].flatMap((day) =>
        ['08:00', '18:30', '20:30'].map(
          (time) =>
            `${day} ${time} | 3 | ${day + time === 'Sat 2026-02-1408:00' ? 5 : 6} | sent | ${lateCandles('2026-02-13')}`,
        ),
      ),
    ])
  })

  it('is up to date again once the provider has caught up, by the candles alone', async () => {
    const late: Market = { holidays: [], frozen: { candles: '2026-02-11' } }
    const { type } = createEvenings(late)
    await type('2026-02-10', '20:30')
    expect((await type('2026-02-11', '20:00')).lines).toEqual([lateCandles('2026-02-11')])
    late.frozen = {}
    const healed = await type('2026-02-11', '20:30')
    expect([healed.code, healed.out, healed.notified]).toEqual([0, '', undefined])
    expect([...new Set(healed.requests)]).toEqual(['getDataH', 'fetchdt'])
    expect((await type('2026-02-11', '23:00')).requests).toEqual([])
  })

  it('is still to be requested after a run of some stocks', async () => {
    const late: Market = { holidays: [], frozen: { candles: '2026-02-11' } }
    const { type, only } = createEvenings(late)
    await type('2026-02-10', '20:30')
    await type('2026-02-11', '20:00')
    late.frozen = {}
    await type('2026-02-11', '20:10', `run --quiet --only ${only} --symbols ALPHA,BETA,GAMMA`)
    expect(
      (await type('2026-02-11', '20:20')).requests.filter((request) => request === 'getDataH'),
    ).toHaveLength(1)
  })

  it('says by the second session that nothing comes from any source, and fails with the third', async () => {
    const frozen = {
      candles: '2026-02-10',
      indices: '2026-02-10',
      deals: '2026-02-10',
      bands: '2026-02-10',
      quotes: '2026-02-10',
    }
    const { type } = createEvenings({ holidays: [], frozen })
    await type('2026-02-09', '20:30')
    const rows: string[] = []
    for (const day of ['2026-02-10', '2026-02-11', '2026-02-12'])
      rows.push(toRow(day, '18:30', await type(day, '18:30')))
    const nothingOf = (day: Day): string =>
      `nothing of ${day} from any source, the newest session is 2026-02-09: holidays, or the provider stands still`
    expect(rows).toEqual([
      'Tue 2026-02-10 18:30 | 0 | 1 | - | -',
      `Wed 2026-02-11 18:30 | 0 | 45 | sent | ${nothingOf('2026-02-11')}`,
      `Thu 2026-02-12 18:30 | 3 | 47 | sent | ${nothingOf('2026-02-12')}`,
    ])
  })
  it('fails with the second session although nothing shows it, once one session is proven missing', async () => {
    const frozen = {
      candles: '2026-02-10',
      indices: '2026-02-11',
      deals: '2026-02-11',
      bands: '2026-02-11',
      quotes: '2026-02-11',
    }
    const { type } = createEvenings({ holidays: [], frozen })
    await type('2026-02-09', '20:30')
    const rows: string[] = []
    for (const [day, time] of [
      ['2026-02-10', '18:30'],
      ['2026-02-11', '17:30'],
      ['2026-02-11', '18:30'],
    ] as const)
      rows.push(toRow(day, time, await type(day, time)))
    const late = 'candles end at 2026-02-09, expected 2026-02-10 (deals and index candles of that day exist)'
    expect(rows).toEqual([
      `Tue 2026-02-10 18:30 | 0 | 44 | sent | ${late}`,
      `Wed 2026-02-11 17:30 | 0 | 43 | sent | ${late}`,
      `Wed 2026-02-11 18:30 | 3 | 43 | sent | ${late}`,
    ])
  })
})

describe('an output that is not up to date', () => {
  const frozen: Market = { holidays: [], frozen: { candles: '2026-02-11' } }
  const sentence = lateCandles('2026-02-11')

  it('is said by run, brief, history --runs and the notification', async () => {
    const { type } = createEvenings(frozen)
    await type('2026-02-10', '20:30')
    const { code, report, notified } = await type('2026-02-11', '20:30')
    expect([code, report.outcome, report.newest?.['all-ohlcv'], report.newest?.['indices-ohlcv']]).toEqual([
      0,
      'complete',
      '2026-02-10',
      '2026-02-11',
    ])
    expect(report.stale).toEqual([
      {
        stream: 'all-ohlcv',
        output: 'candles',
        newest: '2026-02-10',
        expected: '2026-02-11',
        sessions: 1,
        shownBy: ['deals', 'index candles'],
      },
    ])
    expect(notified).toContain(`Not up to date: ${sentence}.`)
    const at = ['2026-02-11', '20:40'] as const
    expect((await type(...at, 'brief')).out).toContain(`Not up to date\n  ${sentence}\n`)
    expect((await type(...at, 'history --runs')).out).toContain('candles end at 2026-02-10')
    expect((await type(...at, 'history --runs last')).out).toContain(`Not up to date\n  ${sentence}\n`)
    const shown = await type('2026-02-11', '21:00', 'run --progress none --only all-ohlcv')
    expect(shown.out).toContain(`Not up to date\n  ${sentence}\n`)
    expect(shown.code).toBe(0)
  })

  it('fails at once if the settings say so, with what to do', async () => {
    const { type } = createEvenings(frozen, { stale: 'fail' })
    await type('2026-02-10', '20:30')
    const { code, report, out } = await type('2026-02-11', '20:30')
    expect([code, report.outcome]).toEqual([3, 'partial'])
    expect(out).toContain('Run it again later; only what is not up to date is requested:')
  })

  it('stays in the report of a run of other streams, which does not fail for it', async () => {
    const { type } = createEvenings(frozen, { stale: 'fail' })
    await type('2026-02-10', '20:30')
    await type('2026-02-11', '20:30')
    const { code, report } = await type('2026-02-11', '20:40', 'run --quiet --only market-news')
    expect([code, report.stale?.map(({ output }) => output)]).toEqual([0, ['candles']])
  })
})
