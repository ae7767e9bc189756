import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom, toArray } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createExport } from '../../src/cli/export/targets.js'
import { qlib, zipline } from '../../src/tables/export/bundle.js'
import { wholeLake } from '../../src/tables/lake/whole-lake.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { collected, duckdb, folderWith, rowsOf } from './support.js'

const DAYS = ['2026-02-02', '2026-02-03', '2026-02-04', '2026-02-05', '2026-02-06'] as const
type Price = readonly [day: number, price: number]

const csv = (prices: readonly Price[]): string =>
  `Timestamp,Open,High,Low,Close,Volume\n${prices.map(([day, price]) => `${Date.parse(`${DAYS[day]}T00:00:00+05:30`) / 1000},${price},${price + 1},${price - 1},${price},1000\n`).join('')}`

/**
 * A pays 10 rupees on the second day and is split 2:10 on the fourth: its candles are divided by the split. B
 * has the last days, with a gap.
 */
const A: readonly Price[] = [
  [0, 21],
  [1, 19],
  [2, 19],
  [3, 19],
  [4, 20],
]
const B: readonly Price[] = [
  [2, 50],
  [4, 52],
]
const market = (): string =>
  folderWith({
    '.scripstream/report.json': { run: 'a', asOf: '2026-02-06T14:30:00.000Z', scripts: {} },
    'master_isin_map.json': [
      { Symbol: 'A', ISIN: 'INE009A01021', Name: 'A', Sid: '1', FnoFlag: 0 },
      { Symbol: 'B&B', ISIN: 'INE002A01018', Name: 'B', Sid: '2', FnoFlag: 0 },
    ],
    'history_corporate_actions.json': [
      {
        Sym: 'A',
        CorpAct: [
          { ActType: 'DIVIDEND', ExDate: DAYS[1], RecDate: DAYS[1], Note: '10' },
          { ActType: 'SPLIT', ExDate: DAYS[3], RecDate: DAYS[3], Note: '2:10' },
        ],
      },
    ],
    'nse_asm_list.json': [{ Symbol: 'A', ISIN: 'INE009A01021', Name: 'A', Stage: 'x' }],
    'ohlcv_data/A.csv': csv(A),
    'ohlcv_data/B&B.csv': csv(B),
  })

const readRows = (path: string): readonly string[] => readFileSync(path, 'utf8').trim().split('\n').slice(1)

/** 32-bit floats, little-endian, as hexadecimal digits: worked out by hand. */
const HEX = {
  0: '00000000',
  2: '00000040',
  19: '00009841',
  20: '0000a041',
  21: '0000a841',
  50: '00004842',
  52: '00005042',
  NaN: '0000c07f',
} as const

describe.runIf(duckdb)('bundles', () => {
  it('for qlib have calendar, instruments and 32-bit features, byte by byte', async () => {
    const dir = temporaryFolder()
    expect(await lastValueFrom(qlib(dir, { streams }).write(market()))).toMatchObject({
      table: 'candles_adjusted',
      rows: 7,
    })
    const text = (path: string): string => readFileSync(join(dir, path), 'utf8')
    const hex = (path: string): string => readFileSync(join(dir, 'features', path)).toString('hex')
    expect(text('calendars/day.txt')).toBe('2026-02-02\n2026-02-03\n2026-02-04\n2026-02-05\n2026-02-06\n')
    expect(text('instruments/all.txt')).toBe('A\t2026-02-02\t2026-02-06\nB&B\t2026-02-04\t2026-02-06\n')
    expect(hex('a/close.day.bin')).toBe([HEX[0], HEX[21], HEX[19], HEX[19], HEX[19], HEX[20]].join(''))
    expect(hex('b&b/close.day.bin')).toBe([HEX[2], HEX[50], HEX.NaN, HEX[52]].join(''))
    // 0.2 until the split, then 1.
    expect(hex('a/factor.day.bin')).toBe(`${HEX[0]}${'cdcc4c3e'.repeat(3)}${'0000803f'.repeat(2)}`)
    expect(hex('a/volume.day.bin')).toBe(`${HEX[0]}${'00007a44'.repeat(5)}`)
  })

  it('for zipline have the prices of their days, with split and dividend', async () => {
    const dir = temporaryFolder()
    await lastValueFrom(zipline(dir, { streams }).write(market()))
    expect(readFileSync(join(dir, 'daily/A.csv'), 'utf8').split('\n')).toEqual([
      'date,open,high,low,close,volume,dividend,split',
      '2026-02-02,105,110,100,105,200,0,1',
      '2026-02-03,95,100,90,95,200,10,1',
      '2026-02-04,95,100,90,95,200,0,1',
      '2026-02-05,19,20,18,19,1000,0,5',
      '2026-02-06,20,21,19,20,1000,0,1',
      '',
    ])
  })

  it('for zipline have a row for each session of a stock and none beside, the exact split, and a calendar', async () => {
    const notes: string[] = []
    const dir = temporaryFolder()
    const out = market()
    // One row of three stocks on a Sunday is no session.
    writeFileSync(join(out, 'ohlcv_data/C.csv'), csv(A))
    const sunday = `${Date.parse('2026-02-08T00:00:00+05:30') / 1000},9,9,9,9,9\n`
    writeFileSync(
      join(out, 'ohlcv_data/A.csv'),
      csv(A.map(([day, price]) => [day, price < 21 ? 15 : 20])) + sunday,
    )
    writeFileSync(join(out, 'ohlcv_data/B&B.csv'), csv(B).replace(/1000\n$/, '4294967296\n'))
    writeFileSync(
      join(out, 'history_corporate_actions.json'),
      JSON.stringify([
        { Sym: 'A', CorpAct: [{ ActType: 'BONUS', ExDate: DAYS[1], RecDate: DAYS[1], Note: '1:3' }] },
      ]),
    )
    await lastValueFrom(zipline(dir, { streams, warn: (text) => notes.push(text) }).write(out))
    expect(readRows(join(dir, 'daily/B&B.csv'))).toEqual([
      '2026-02-04,50,51,49,50,1000,0,1',
      '2026-02-05,,,,,0,0,1',
      '2026-02-06,52,53,51,52,4294967296,0,1',
    ])
    expect(readRows(join(dir, 'daily/A.csv'))[1]).toBe('2026-02-03,15,16,14,15,1000,0,1.3333333333333333')
    expect(readFileSync(join(dir, 'sessions.txt'), 'utf8').trim().split('\n')).toEqual(DAYS)
    expect(readFileSync(join(dir, 'extension.py'), 'utf8')).toContain("register('scripstream', ingest")
    expect(notes).toEqual([
      'candles that are left out, of days that are no session: 1',
      expect.stringMatching(/a volume above 4,294,967,295, which have: B&B$/),
    ])
    writeFileSync(join(dir, 'extension.py'), 'mine')
    await expect(lastValueFrom(zipline(dir, { streams }).write(out))).rejects.toThrow(
      'has a file that no export creates: extension.py',
    )
  })

  it('for zipline lose the files of symbols that are gone, but no file of others', async () => {
    const [dir, out] = [temporaryFolder(), market()]
    const write = () => lastValueFrom(zipline(dir, { streams }).write(out))
    await write()
    const foreign = join(dir, 'daily/mine.csv')
    writeFileSync(foreign, 'a,b\n')
    rmSync(join(out, 'ohlcv_data/B&B.csv'))
    await expect(write()).rejects.toThrow('has a file that no export creates: mine.csv')
    expect(readdirSync(join(dir, 'daily'))).toHaveLength(3)
    rmSync(foreign)
    await write()
    expect(readdirSync(join(dir, 'daily'))).toEqual(['A.csv'])
  })

  it.each([qlib, zipline])('are not written into the output folder (%o)', async (bundle) => {
    const out = market()
    for (const dir of [out, join(out, 'new/bundle')])
      await expect(lastValueFrom(bundle(dir, { streams }).write(out))).rejects.toThrow(
        'is in the output folder',
      )
    expect(existsSync(join(out, 'new'))).toBe(false)
  })

  it('grow by what is new, and are written again where they do not continue', async () => {
    const [dir, out] = [temporaryFolder(), market()]
    const [whole, path] = [join(out, 'ohlcv_data/A.csv'), join(dir, 'features/a/close.day.bin')]
    writeFileSync(whole, csv(A.slice(0, 4)))
    const write = () => lastValueFrom(qlib(dir, { streams }).write(out))
    await write()
    const inode = statSync(path).ino
    writeFileSync(whole, csv(A))
    await write()
    expect(statSync(path).ino).toBe(inode)
    const wanted = readFileSync(path)
    expect(wanted.length).toBe(24)
    utimesSync(path, 1, 1)
    await write()
    expect(statSync(path).mtimeMs).toBe(1_000)
    truncateSync(path, 21)
    await write()
    expect(readFileSync(path)).toEqual(wanted)
    writeFileSync(whole, csv([[0, 42], ...A.slice(1)]))
    await write()
    expect(readFileSync(path).readFloatLE(4)).toBe(42)
  })
})

describe.runIf(duckdb)('of a simulated market', () => {
  let [out, remove] = ['', (): void => undefined]
  beforeAll(async () => {
    ;({ out, remove } = await collected(8, 60))
    await lastValueFrom(wholeLake({ streams }).write(out))
  })
  afterAll(() => remove())

  it.each(['qlib', 'zipline', 'duckdb', 'xlsx'] as const)(
    'exports to %s read the whole lake',
    async (kind) => {
      const location = join(temporaryFolder(), 'screener.xlsx')
      const sink = await createExport({ kind, location, typed: kind }, { streams })
      const loaded = await lastValueFrom(sink.write(out).pipe(toArray()))
      expect(loaded.reduce((sum, { rows }) => sum + rows, 0)).toBeGreaterThan(0)
    },
  )

  it('for zipline have a row for each session from the first to the last day of each stock, and no other', async () => {
    const dir = temporaryFolder()
    await lastValueFrom(zipline(dir, { streams }).write(out))
    const sessions = readFileSync(join(dir, 'sessions.txt'), 'utf8').trim().split('\n')
    const names = readdirSync(join(dir, 'daily'))
    expect(names.length).toBeGreaterThan(5)
    for (const name of names) {
      const rows = readRows(join(dir, 'daily', name)).map((line) => line.split(','))
      const days = rows.map(([day = '']) => day)
      const [first = '', last = ''] = [days[0], days.at(-1)]
      expect(days, name).toEqual(sessions.filter((day) => day >= first && day <= last))
      // A day without a price has no volume.
      expect(
        rows.filter((cells) => cells[4] === '' && cells[5] !== '0'),
        name,
      ).toEqual([])
    }
  })

  it('for qlib have features within the calendar, of stocks and indices, and universes of those stocks', async () => {
    const dir = temporaryFolder()
    await lastValueFrom(qlib(dir, { streams }).write(out))
    const lines = (path: string): readonly string[] =>
      readFileSync(join(dir, path), 'utf8').trim().split('\n')
    const days = lines('calendars/day.txt')
    const sessions = await rowsOf(
      "select day from sessions where kind in ('open', 'special') order by day",
      out,
    )
    expect(days).toEqual(sessions.flat())
    const floats = (name: string, field: string): readonly number[] => {
      const bytes = readFileSync(join(dir, 'features', name.toLowerCase(), `${field}.day.bin`))
      return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4))
    }
    const all = new Map(lines('instruments/all.txt').map((line) => [line.split('\t')[0] ?? '', line]))
    for (const [symbol, line] of all) {
      const [, first = '', last = ''] = line.split('\t')
      const [place, ...closes] = floats(symbol, 'close')
      expect([days[place ?? -1], days[(place ?? 0) + closes.length - 1]], symbol).toEqual([first, last])
      const [, ...changes] = floats(symbol, 'change')
      const known = closes.filter((close) => !Number.isNaN(close))
      const wanted = known.slice(1).map((close, at) => close / Number(known[at]) - 1)
      const found = changes.filter((change) => !Number.isNaN(change))
      expect(found.length, symbol).toBe(wanted.length)
      for (const [at, change] of found.entries()) expect(change).toBeCloseTo(Number(wanted[at]), 4)
      expect(floats(symbol, 'vwap')).toHaveLength(closes.length + 1)
    }
    const [[index = ''] = []] = await rowsOf('select min(symbol) from index_candles', out)
    expect(floats(String(index), 'close').length).toBeGreaterThan(10)
    for (const universe of ['nifty50', 'nifty500'])
      for (const line of lines(`instruments/${universe}.txt`)) {
        const [symbol = '', since = '', until = ''] = line.split('\t')
        expect(all.has(symbol), symbol).toBe(true)
        expect([days.includes(since), days.includes(until), since <= until]).toEqual([true, true, true])
      }
  })
})
