import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EMPTY, lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { runProgram } from '../../../src/cli/program.js'
import { listTables, once, type StreamDefinition } from '../../../src/engine/define-stream.js'
import { createHistoryRequest } from '../../../src/engine/session-request.js'
import { column, row } from '../../../src/model/row-schema.js'
import { type Day, toInstant } from '../../../src/model/trading-day.js'
import { findDamages } from '../../../src/storage/history/check.js'
import { openHistory } from '../../../src/storage/history/record.js'
import { diff } from '../../../src/tables/changes/diff.js'
import { describeHistory, type HistorySummary } from '../../../src/tables/history/describe-history.js'
import { wholeLake } from '../../../src/tables/lake/whole-lake.js'
import { runQuery } from '../../../src/tables/query.js'
import { streams as builtIn } from '../../../streams/registry.js'
import { createTestDependencies, createTestIo } from '../../cli/support.js'
import { createEvenings } from '../../freshness/support.js'
import { temporaryFolder } from '../../support/folders.js'
import { recordRun, type TestRun, tablesOf } from '../../support/recorded-run.js'
import { duckdb } from '../support.js'
import { askAsOf, openPlain } from './known-answers.js'
import { DAYS } from './ten-days.js'

const FILES = [
  'master_isin_map.json',
  'all_indices_list.json',
  'bulk_block_deals.json',
  'complete_price_bands.json',
] as const

const TABLES = tablesOf(...FILES)

/** The days on which the band of the stock differs from the day before. */
const bandOf = (index: number): string => (index % 3 === 0 ? '10' : '5')

/** Writes the lists as they are at a time of a day: deals and bands of the day before until 20:00. */
const storeAt = (root: string, index: number, time: string): void => {
  const published = time < '20:00' ? index - 1 : index
  const write = (file: string, rows: readonly object[]): void =>
    writeFileSync(join(root, file), JSON.stringify(rows))
  const stock = { Symbol: 'S1', ISIN: 'INE000000001' }
  write('master_isin_map.json', [stock])
  write('all_indices_list.json', [
    {
      Sym: 'NIFTY',
      Sid: 13,
      Exch: 'IDX',
      Seg: 'I',
      Inst: 'IDX',
      Ltp: Number(`${index}${time.replace(':', '.')}`),
    },
  ])
  write('bulk_block_deals.json', [
    { date: `${DAYS[published] ?? '2026-01-30'} 00:00:00`, isin: stock.ISIN, sym: 'S1', qty: published },
  ])
  write('complete_price_bands.json', [
    { Symbol: 'S1', Series: 'EQ', 'Security Name': 'S1', Band: bandOf(published), Remarks: '-' },
  ])
  const candles = DAYS.slice(0, index + 1).map((day) => `${toInstant(day) / 1_000},1,1,1,1,1\n`)
  mkdirSync(join(root, 'ohlcv_data', 'indices'), { recursive: true })
  writeFileSync(
    join(root, 'ohlcv_data', 'indices', 'A.csv'),
    `Timestamp,Open,High,Low,Close,Volume\n${candles.join('')}`,
  )
}

interface Evening extends Partial<Omit<TestRun, 'day'>> {
  /** From when the lists are. */
  readonly stored?: string
}

const collect = async (
  root: string,
  index: number,
  { time = '18:30', stored = time, request, ...run }: Evening = {},
): Promise<void> => {
  storeAt(root, index, stored)
  await recordRun(root, { ...run, time, day: DAYS[index] as Day, request: { tables: TABLES, ...request } })
}

/** Records on the day after the fifth one what there was on its evening. */
const recordMorning = async (root: string, time: string): Promise<void> => {
  storeAt(root, 4, '23:00')
  await recordRun(root, { day: DAYS[5] as Day, begun: '09:13', time, request: { tables: TABLES } })
}

const DEALS = 'select cast(max(date) as date)::varchar, max(quantity) from deals'
const typeHistory = async (out: string, ...args: readonly string[]) => {
  const code = await runProgram(
    ['history', ...args, '--out', out],
    createTestIo(),
    createTestDependencies(undefined, { streams: builtIn }),
  )
  return { code }
}

const NEWEST_DEAL = 'select cast(max(date) as date)::varchar from deals'
const BANDS = 'select band from bands'

const toDeals = (index: number) => [[DAYS[index] ?? '2026-01-30', String(index)]]

const earlyOf = (day: string | undefined, ...tables: readonly string[]): readonly string[] =>
  tables.map((table) => `${table} of ${day} were collected before they were published (20:00)`)

/** What our query and DuckDB alone answer as of a day. */
const askBoth = async (root: string, sql: string, day: string | undefined) => {
  const plain = await openPlain(root)
  const rows = await plain.ask(sql, day)
  plain.close()
  return { ...(await askAsOf(sql, root, day)), plain: rows }
}

const answersOf = (rows: readonly (readonly string[])[], answers: readonly string[] = []) => ({
  rows,
  plain: rows,
  answers,
})

describe.runIf(duckdb)('deals and price bands', () => {
  it('of ten days with runs at 18:30 and 20:30 are those of each day, by our query, DuckDB alone and in the lake', async () => {
    const root = temporaryFolder()
    for (const index of DAYS.keys())
      for (const time of ['18:30', '20:30']) await collect(root, index, { time })
    await lastValueFrom(wholeLake({ streams: builtIn }).write(root))
    const lake = await openPlain(root, 'lake')
    for (const [index, day] of DAYS.entries()) {
      expect(await askBoth(root, DEALS, day), day).toEqual(answersOf(toDeals(index)))
      expect(await askBoth(root, BANDS, day), day).toEqual(answersOf([[bandOf(index)]]))
      expect(await askBoth(root, 'select value from indices', day), day).toEqual(
        answersOf([[String(Number(`${index}18.3`))]]),
      )
      expect(await lake.ask(DEALS, day), day).toEqual(toDeals(index))
    }
    lake.close()
    const all = DAYS.map((day, index) => [day, `${day} 20:30:00`, String(index)])
    const sql = 'select day, known_at, quantity from history.deals order by day'
    expect(await askBoth(root, sql, undefined)).toEqual(answersOf(all))
    const { days } = await describeHistory(root, { streams: builtIn, exchange: 'NSE' })
    expect(days.map(({ timing, early, knownAt = '' }) => [timing, early, knownAt.slice(11, 16)])).toEqual(
      DAYS.map(() => ['final', [], '15:00']),
    )
  })

  it('of three days are those of each day after the runs of the command that the printed schedule starts', async () => {
    const market = { holidays: [], frozen: {}, appears: { deals: '20:00', bands: '20:00' } }
    const { type } = createEvenings(market, { history: true })
    const days = ['2026-02-02', '2026-02-03', '2026-02-04']
    for (const day of days)
      for (const time of ['18:30', '20:30']) expect((await type(day, time)).code).toBe(0)
    const { folder, days: found } = JSON.parse(
      (await type('2026-02-04', '21:00', 'history --json')).out,
    ) as HistorySummary
    expect(found.map(({ timing, early }) => [timing, early])).toEqual(days.map(() => ['final', []]))
    for (const day of days) expect(await askBoth(folder, NEWEST_DEAL, day), day).toEqual(answersOf([[day]]))
  })

  it('are those of the run after 20:00 if others were at 15:31 and 18:05; the other lists stay those of 15:31', async () => {
    const root = temporaryFolder()
    for (const time of ['15:31', '18:05', '20:05', '21:00']) await collect(root, 4, { time })
    expect(await askBoth(root, DEALS, DAYS[4])).toEqual(answersOf(toDeals(4)))
    expect(await askBoth(root, 'select known_at from history.bands', DAYS[4])).toEqual(
      answersOf([[`${DAYS[4]} 20:05:00`]]),
    )
    expect(await askBoth(root, 'select known_at from history.indices', DAYS[4])).toEqual(
      answersOf([[`${DAYS[4]} 15:31:00`]]),
    )
  })

  it('of a day with runs before 20:00 alone are those of the last one, and every reader says so', async () => {
    const root = temporaryFolder()
    await collect(root, 2, { time: '20:30' })
    for (const time of ['15:31', '18:30']) await collect(root, 3, { time })
    expect(await askBoth(root, DEALS, DAYS[3])).toEqual(answersOf(toDeals(2), earlyOf(DAYS[3], 'deals')))
    const joined = await askAsOf('select count(*) from bands, deals, indices', root, DAYS[3])
    expect(joined.answers).toEqual(earlyOf(DAYS[3], 'deals', 'bands'))
    const { days } = await describeHistory(root, { streams: builtIn, exchange: 'NSE' })
    expect(days.map(({ timing, early }) => [timing, early])).toEqual([
      ['final', []],
      ['early', ['deals', 'bands']],
    ])
    const options = { exchange: 'NSE', streams: builtIn, since: DAYS[2] as Day, until: DAYS[3] }
    const { notes } = await diff(root, options)
    expect(notes).toEqual(expect.arrayContaining([...earlyOf(DAYS[3], 'deals', 'bands')]))
    expect((await diff(root, { ...options, only: ['listings'] })).notes.join()).not.toContain('published')
  })

  it('are confirmed by a run after 20:00 that finds the same', async () => {
    const root = temporaryFolder()
    await collect(root, 0, { time: '20:30' })
    storeAt(root, 1, '18:30')
    for (const time of ['18:30', '20:30', '21:30'])
      await recordRun(root, { day: DAYS[1] as Day, time, request: { tables: TABLES } })
    expect(await askBoth(root, DEALS, DAYS[1])).toEqual(answersOf(toDeals(0)))
    expect((await openHistory(root)).records.map(({ lists }) => Object.keys(lists).length)).toEqual([4, 4, 2])
  })

  const TAKEN_OVER = { outcome: 'success', takenOver: 1 }
  it.each<readonly [string, Evening]>([
    ['began before 20:00 and ended after it', { time: '20:10', begun: '19:50' }],
    [
      'took them over from one before 20:00',
      {
        time: '20:40',
        begun: '20:30',
        resumed: '18:30',
        scripts: { 'bulk-block-deals': TAKEN_OVER, 'complete-price-bands': TAKEN_OVER },
      },
    ],
  ])('of a run that %s are those of a later one, if there is one', async (_, first) => {
    const root = temporaryFolder()
    await collect(root, 4, { ...first, stored: '18:30' })
    expect(await askBoth(root, BANDS, DAYS[4])).toEqual(answersOf([[bandOf(3)]], earlyOf(DAYS[4], 'bands')))
    await collect(root, 4, { time: '21:30' })
    expect(await askBoth(root, BANDS, DAYS[4])).toEqual(answersOf([[bandOf(4)]]))
    expect(await askBoth(root, DEALS, DAYS[4])).toEqual(answersOf(toDeals(4)))
  })

  it('of a resumed run that requested them after 20:00 are those of the day', async () => {
    const root = temporaryFolder()
    await collect(root, 4, { time: '20:40', begun: '20:30', resumed: '18:30' })
    expect(await askBoth(root, DEALS, DAYS[4])).toEqual(answersOf(toDeals(4)))
  })

  it('are those of the run that found them, on a day on which they were published later than usual', async () => {
    const root = temporaryFolder()
    const newest = (day: Day | undefined) => ({
      newest: { 'bulk-block-deals': day as Day, 'complete-price-bands': day as Day },
    })
    await collect(root, 4, { time: '20:05', stored: '19:00', report: newest(DAYS[3]) })
    const late = ['deals', 'bands'].map((table) => `${table} of ${DAYS[4]} end on ${DAYS[3]}`)
    expect((await askAsOf('select count(*) from bands, deals', root, DAYS[4])).answers).toEqual(late)
    await collect(root, 4, { time: '20:30', report: newest(DAYS[4]) })
    await collect(root, 4, { time: '21:30', report: newest(DAYS[4]) })
    expect(await askBoth(root, 'select known_at, quantity from history.deals', DAYS[4])).toEqual(
      answersOf([[`${DAYS[4]} 20:30:00`, '4']]),
    )
    expect(await askBoth(root, BANDS, DAYS[4])).toEqual(answersOf([[bandOf(4)]]))
  })

  it('of the next morning answer if their run ended before the market opened', async () => {
    const root = temporaryFolder()
    await collect(root, 4)
    await recordMorning(root, '09:16')
    expect(await askBoth(root, DEALS, DAYS[4])).toEqual(answersOf(toDeals(3), earlyOf(DAYS[4], 'deals')))
    await recordMorning(root, '09:14')
    expect(await askBoth(root, DEALS, DAYS[4])).toEqual(answersOf(toDeals(4)))
    expect(await askBoth(root, 'select value from indices', DAYS[4])).toEqual(answersOf([['418.3']]))
  })

  it('are found by the same rule in records that do not know when they were published', async () => {
    const root = temporaryFolder()
    const tables = TABLES.map(({ table: { publishedAt: _, ...table }, ...facts }) => ({ ...facts, table }))
    for (const index of [0, 1])
      for (const time of ['18:30', '20:30']) await collect(root, index, { time, request: { tables } })
    await collect(root, 2, { time: '18:30', request: { tables } })
    expect(
      readFileSync(join(root, '.scripstream/history/2026-02-02/20260202T150000Z/record.json'), 'utf8'),
    ).not.toContain('20:00')
    for (const index of [0, 1])
      expect(await askAsOf(DEALS, root, DAYS[index])).toEqual({ rows: toDeals(index), answers: [] })
    expect((await askAsOf(DEALS, root, DAYS[2])).answers).toEqual(earlyOf(DAYS[2], 'deals'))
    await collect(root, 2, { time: '20:30' })
    for (const index of [0, 1, 2])
      expect(await askBoth(root, DEALS, DAYS[index])).toEqual(answersOf(toDeals(index)))
    expect(await findDamages(await openHistory(root, listTables(builtIn)))).toEqual([])
    const { code } = await typeHistory(root, 'delete', DAYS[0] ?? '', '--yes')
    expect(code).toBe(0)
    for (const index of [1, 2])
      expect(await askBoth(root, DEALS, DAYS[index])).toEqual(answersOf(toDeals(index)))
  })
})

const Rating = row({
  Symbol: column(z.string(), { about: 'symbol', sql: 'symbol' }),
  Stars: column(z.number(), { about: 'stars', sql: 'stars' }),
})

const ratings: StreamDefinition = {
  name: 'ratings',
  summary: 'ratings',
  phase: 'enrichment',
  workers: 1,
  timeoutMs: 1_000,
  publishedAt: '21:15',
  endpoints: [],
  work: once(() => EMPTY),
  outputs: [
    {
      shape: 'array-per-item',
      file: 'ratings.json',
      tables: [{ name: 'ratings', about: 'ratings', columns: [Rating] }],
    },
  ],
}

describe.runIf(duckdb)('a list of a stream of a user', () => {
  it('answers from the first record after its own publishedAt, in DuckDB alone also after a run without the stream', async () => {
    const root = temporaryFolder()
    const own = [...builtIn, ratings]
    const { tables } = createHistoryRequest(
      own.map((stream) => ({ stream, state: 'waiting' })),
      { exchange: 'NSE' },
    )
    const request = { tables: [...TABLES, ...tables.filter(({ stream }) => stream === 'ratings')] }
    const ask = (index: number) => readRatings(root, listTables(own), DAYS[index])
    for (const [index, time, stars] of [
      [0, '20:30', 1],
      [0, '21:20', 2],
      [0, '22:00', 3],
      [1, '20:30', 4],
    ] as const) {
      storeAt(root, index, time)
      writeFileSync(join(root, 'ratings.json'), JSON.stringify([{ Symbol: 'S1', Stars: stars }]))
      await recordRun(root, {
        day: DAYS[index] as Day,
        time,
        request,
        scripts: { ratings: { outcome: 'success' } },
      })
    }
    const early = `ratings of ${DAYS[1]} were collected before they were published (21:15)`
    expect([await ask(0), await ask(1)]).toEqual([
      { rows: [['2']], answers: [] },
      { rows: [['4']], answers: [early] },
    ])
    await collect(root, 2, { time: '20:30' })
    const plain = await openPlain(root)
    expect(await plain.ask('select stars from ratings', DAYS[0])).toEqual([['2']])
    plain.close()
  })
})

const readRatings = async (out: string, tables: ReturnType<typeof listTables>, asOf: Day | undefined) => {
  const { result, close, answers } = await runQuery('select stars from ratings', { out, tables, asOf })
  const rows = (await result.getRows()).map((one) => one.map(String))
  close()
  return { rows, answers }
}
