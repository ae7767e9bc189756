import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { listSessionEvidence } from '../../src/engine/session-request.js'
import { UsageError } from '../../src/model/errors.js'
import { toInstant } from '../../src/model/trading-day.js'
import { readHolidays, readSessionDays } from '../../src/storage/session-days.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'

const DAYS = ['2026-02-09', '2026-02-10', '2026-02-11', '2026-02-12'] as const
const EVIDENCE = listSessionEvidence(streams, 'NSE')

const candles = (...days: readonly string[]): string =>
  [
    'Timestamp,Open,High,Low,Close,Volume',
    ...days.map((day) => `${toInstant(day) / 1_000},1,2,1,2,10`),
    '',
  ].join('\n')

const folderOf = (files: Readonly<Record<string, string>>): string => {
  const root = temporaryFolder()
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  return root
}

const daysOf = (files: Readonly<Record<string, string>>) => readSessionDays(folderOf(files), EVIDENCE)

const INDEX = (name: string): string => `ohlcv_data/indices/${name}.csv`
const STOCK = (name: string): string => `ohlcv_data/${name}.csv`
const DEALS = 'bulk_block_deals.json'

it('shows no session in an empty folder', async () => {
  expect(await daysOf({})).toEqual([])
})

it('is found in the files of candles, indices first, and of deals, as the streams name them', () => {
  expect(EVIDENCE).toEqual({
    streams: ['bulk-block-deals', 'all-ohlcv', 'indices-ohlcv', 'exchange-daily'],
    candles: ['ohlcv_data/indices/*.csv', 'ohlcv_data/*.csv'],
    trades: [{ pattern: 'bulk_block_deals.json', key: 'date' }],
    days: ['exchange_daily/*.json'],
  })
})

it('is a day on which half of the series have a candle, between their ends', async () => {
  const files = {
    [INDEX('A')]: candles(...DAYS),
    [INDEX('B')]: candles(DAYS[0], DAYS[1], DAYS[3]),
    [INDEX('C')]: candles(DAYS[0], DAYS[3]),
    // Listed on the last day: it does not speak about the days before.
    [INDEX('D')]: candles(DAYS[3]),
  }
  expect(await daysOf(files)).toEqual([DAYS[0], DAYS[1], DAYS[3]])
})

it('is read from indices before stocks', async () => {
  const stocks = Object.fromEntries(
    Array.from({ length: 30 }, (_, number) => [STOCK(`S${number}`), candles(DAYS[0])]),
  )
  const indices = Object.fromEntries(
    Array.from({ length: 20 }, (_, number) => [INDEX(`I${number}`), candles(DAYS[1])]),
  )
  expect(await daysOf({ ...stocks, ...indices })).toEqual([DAYS[1]])
  expect(await daysOf(stocks)).toEqual([DAYS[0]])
})

it('is a day with a file of the exchange, by its name', async () => {
  expect(
    await daysOf({ [`exchange_daily/${DAYS[2]}.json`]: 'not read', 'exchange_daily/notes.json': '' }),
  ).toEqual([DAYS[2]])
})

it('is a day with a deal, whatever the candles say', async () => {
  const deals = [
    { date: `${DAYS[2]} 00:00:00`, sym: 'A' },
    { date: null },
    { date: '2026-02-30 00:00:00' },
    {},
  ]
  expect(await daysOf({ [INDEX('A')]: candles(DAYS[0]), [DEALS]: JSON.stringify(deals) })).toEqual([
    DAYS[0],
    DAYS[2],
  ])
})

it.each([
  ['a damaged list of deals', { [DEALS]: '[{' }],
  ['a list of deals that is no list', { [DEALS]: '{"date":"2026-02-11 00:00:00"}' }],
  ['a candle file without its header', { [INDEX('Z')]: candles(DAYS[2]).replace('Timestamp', 'Time') }],
  ['a candle file out of order', { [INDEX('Z')]: candles(DAYS[3], DAYS[2]) }],
  [
    'a candle file with a bad line',
    { [INDEX('Z')]: `${candles(DAYS[2])}x\n${candles(DAYS[3]).split('\n')[1]}\n` },
  ],
  ['an empty candle file', { [INDEX('Z')]: '' }],
  ['a folder in place of a candle file', { [`${INDEX('Z')}/x`]: '' }],
  ['a file in place of the folder of indices', { 'ohlcv_data/indices': '' }],
])('leaves out %s', async (_, files) => {
  const known = 'ohlcv_data/indices' in files ? STOCK('A') : INDEX('A')
  expect(await daysOf({ [known]: candles(DAYS[0]), ...files })).toEqual([DAYS[0]])
})

const isRoot = process.getuid?.() === 0
it.skipIf(isRoot)(
  `leaves out what may not be read${isRoot ? ' (skipped: root may read everything)' : ''}`,
  async () => {
    const root = folderOf({ [INDEX('A')]: candles(DAYS[0]), [INDEX('B')]: candles(DAYS[1]) })
    chmodSync(join(root, INDEX('B')), 0)
    expect(await readSessionDays(root, EVIDENCE)).toEqual([DAYS[0]])
  },
)

const fileOf = (text: string): string => {
  const path = join(temporaryFolder(), 'holidays.txt')
  writeFileSync(path, text)
  return path
}

const errorOf = (path: string): UsageError => {
  try {
    readHolidays(path)
  } catch (error) {
    if (error instanceof UsageError) return error
    throw error
  }
  throw new Error('nothing was wrong')
}

it('has no holidays without a file, or in an empty one', () => {
  expect(readHolidays(undefined)).toEqual(new Set())
  expect(readHolidays(fileOf(''))).toEqual(new Set())
})

it('reads one day a line, with comments, blanks and the line ends of any system', () => {
  const text = '\ufeff# NSE, 2026\r\n2026-01-26  # Republic Day\r\n\r\n  2026-03-03\n2026-01-26'
  expect(readHolidays(fileOf(text))).toEqual(new Set(['2026-01-26', '2026-03-03']))
})

it.each([
  '26-01-2026',
  '2026-1-26',
  '2026-02-30',
  '2026-01-26 Republic Day',
  '2026-01-26,2026-03-03',
  'none',
])('refuses %j', (line) => {
  const path = fileOf(`# 2026\n2026-03-03\n${line}\n`)
  const { message, issues } = errorOf(path)
  expect(message).toBe(
    `holidays: ${path}:3: invalid date ${JSON.stringify(line)}; use YYYY-MM-DD, one a line`,
  )
  expect(issues).toEqual([{ path: 'holidays', message }])
})

it('names a file that is missing', () => {
  const path = join(temporaryFolder(), 'gone.txt')
  expect(errorOf(path).message).toMatch(`holidays: the file ${JSON.stringify(path)} cannot be read: `)
})
