import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { listTables } from '../../../src/engine/define-stream.js'
import { UsageError } from '../../../src/model/errors.js'
import { addDays, toInstant } from '../../../src/model/trading-day.js'
import { wholeLake } from '../../../src/tables/lake/whole-lake.js'
import { runQuery } from '../../../src/tables/query.js'
import { listViews } from '../../../src/tables/views/index.js'
import { streams } from '../../../streams/registry.js'
import { runReport } from '../../cli/support.js'
import { snapshotFolder, temporaryFolder } from '../../support/folders.js'
import { recordRun } from '../../support/recorded-run.js'
import { collected, duckdb } from '../support.js'
import { openPlain } from './known-answers.js'

const tables = listTables(streams)

/** Threads of DuckDB add in any order, which changes the last digits of an average. */
const roundFractions = (
  rows: readonly (readonly (string | null)[])[],
): readonly (readonly (string | null)[])[] =>
  rows.map((row) =>
    row.map((value) => (/^-?\d+\.\d+$/.test(value ?? '') ? Number(value).toPrecision(9) : value)),
  )

const ask = async (sql: string, out: string, asOf?: string) => {
  const { result, close, usedDay, warnings, answers } = await runQuery(sql, { out, tables, asOf })
  try {
    return {
      rows: (await result.getRows()).map((row) =>
        row.map((value) => (value === null ? null : String(value))),
      ),
      usedDay,
      warnings,
      answers,
    }
  } finally {
    close()
  }
}

const FIRST = '2026-02-02'
const DAYS = Array.from({ length: 10 }, (_, index) => addDays(FIRST, index + (index < 5 ? 0 : 2)))
const MISSED = 4
/** The stage of a stock on a day of the generated history; some days none. */
const stageOf = (stock: number, day: number): string | undefined =>
  (stock + day) % 4 === 0 ? undefined : `Stage ${(stock * 7 + day) % 5}`

const storeDay = (root: string, day: number): void => {
  const stocks = [0, 1, 2, 3, 4]
  writeFileSync(
    join(root, 'master_isin_map.json'),
    JSON.stringify(stocks.map((stock) => ({ Symbol: `S${stock}`, ISIN: `INE00000000${stock}` }))),
  )
  const staged = stocks.flatMap((stock) =>
    stageOf(stock, day) === undefined
      ? []
      : [{ Symbol: `S${stock}`, ISIN: `INE00000000${stock}`, Stage: stageOf(stock, day) }],
  )
  writeFileSync(join(root, 'nse_asm_list.json'), JSON.stringify(staged))
  writeFileSync(join(root, 'nse_gsm_list.json'), JSON.stringify([{ Symbol: 'S9', Stage: `day ${day}` }]))
}

/** Ten days of which one was missed and one was collected twice, and two were collected last. */
const generate = async (): Promise<string> => {
  const root = temporaryFolder()
  for (const day of [0, 1, 2, 3, 5, 6, 9, 7, 8]) {
    storeDay(root, day)
    await recordRun(root, { day: DAYS[day] as string })
    storeDay(root, 0)
    if (day === 6) await recordRun(root, { day: DAYS[day] as string, time: '21:00' })
  }
  return root
}

const DAMAGED = /2026-02-\d\d\/\w+\/record\.json cannot be read: its digest is wrong/

/** Cuts the facts of a recorded day, as a full disk would. */
const truncate = (root: string, day: string): void =>
  truncateSync(
    join(root, '.scripstream', 'history', day, `${day.replaceAll('-', '')}T140000Z`, 'record.json'),
    100,
  )

describe.runIf(duckdb)('a query as of a day', () => {
  it('sees every list as it was on that day, or on the newest recorded day before it', async () => {
    const root = await generate()
    for (const [index, day] of DAYS.entries()) {
      const at = index === MISSED ? index - 1 : index
      const { rows, usedDay } = await ask(
        "select symbol, stage from surveillance where list = 'ASM' order by symbol",
        root,
        day,
      )
      const truth = [0, 1, 2, 3, 4].flatMap((stock) =>
        stageOf(stock, at) === undefined ? [] : [[`S${stock}`, stageOf(stock, at)]],
      )
      expect(rows, day).toEqual(truth)
      expect(usedDay).toBe(DAYS[at])
    }
    expect((await ask('select count(*) from surveillance', root, '2027-01-01')).usedDay).toBe(DAYS[9])
  })

  it('names the first day if there is no record yet, and says if there is none at all', async () => {
    const root = await generate()
    await expect(ask('from surveillance', root, '2026-02-01')).rejects.toThrow(
      new UsageError(`the history begins on ${FIRST}; there is no record of 2026-02-01`),
    )
    rmSync(join(root, '.scripstream'), { recursive: true })
    await expect(ask('from surveillance', root, FIRST)).rejects.toThrow('no day is recorded')
  })

  it('uses the newest record of each list, if a day lacks one', async () => {
    const root = await generate()
    storeDay(root, 3)
    rmSync(join(root, 'master_isin_map.json'))
    await recordRun(root, { day: '2026-02-16' })
    const { rows, answers } = await ask(
      'select (select count(*) from master), stage from surveillance order by all limit 1',
      root,
      '2026-02-16',
    )
    expect(rows).toEqual([['5', 'Stage 1']])
    expect(answers).toEqual([`master: no record of 2026-02-16; the one before is of ${DAYS[9]}`])
  })

  it('has only what each list of that day has, also if one of its files is no longer there', async () => {
    const root = await generate()
    rmSync(join(root, 'nse_gsm_list.json'))
    await recordRun(root, { day: '2026-02-16' })
    expect((await ask('select distinct list from surveillance', root, '2026-02-16')).rows).toEqual([['ASM']])
  })

  it('leaves no file, and does not read the present lists', async () => {
    const root = await generate()
    const before = snapshotFolder(root)
    const temporary = temporaryFolder()
    vi.stubEnv('TMPDIR', temporary)
    onTestFinished(() => void vi.unstubAllEnvs())
    const sql = 'select * from surveillance order by all'
    const first = await ask(sql, root, DAYS[3])
    await expect(ask('select nothing from surveillance', root, DAYS[3])).rejects.toThrow(UsageError)
    await ask('from history.surveillance', root)
    expect(snapshotFolder(root)).toEqual(before)
    expect(readdirSync(temporary)).toEqual([])
    for (const [name, list] of Object.entries({ nse_asm_list: [], nse_gsm_list: [] }))
      writeFileSync(join(root, `${name}.json`), JSON.stringify(list))
    expect(await ask(sql, root, DAYS[3])).toEqual(first)
  })

  it.each([
    "select * from read_csv('/etc/passwd')",
    'select 1; select 2',
    'drop table master',
    "from '/etc/passwd'",
    'from history.nothing',
    'from history.candles',
  ])('refuses what any query refuses: %s', async (sql) => {
    const root = await generate()
    await expect(ask(sql, root, FIRST)).rejects.toThrow(UsageError)
  })
})

describe.runIf(duckdb)('the schema history', () => {
  it('has the recorded lists, which a refusal names', async () => {
    const refusal = /^history\.candles is not a table: the recorded lists are history\.\w+(, history\.\w+)+$/
    await expect(ask('from history.candles', await generate())).rejects.toThrow(refusal)
  })

  it('has all days of a list, with the day and the time of collection', async () => {
    const root = await generate()
    const { rows } = await ask(
      "select day, known_at, stage from history.surveillance where list = 'GSM' order by day",
      root,
    )
    expect(rows).toEqual(
      DAYS.flatMap((day, index) => (index === MISSED ? [] : [[day, `${day} 19:30:00`, `day ${index}`]])),
    )
  })

  it('has a list that did not change on every day', async () => {
    const root = await generate()
    expect((await ask('select count(*), count(distinct day) from history.master', root)).rows).toEqual([
      ['45', '9'],
    ])
  })

  it('has only the days until the day of the query', async () => {
    const root = await generate()
    for (const day of DAYS.slice(1)) {
      const { rows } = await ask('select distinct day from history.surveillance order by day', root, day)
      expect(rows.flat(), day).toEqual(DAYS.filter((one, index) => one <= day && index !== MISSED))
    }
  })

  it('leaves out a damaged day, and names its file', async () => {
    const root = await generate()
    truncate(root, DAYS[3] as string)
    const { rows, warnings } = await ask('select distinct day from history.surveillance order by day', root)
    expect(rows.flat()).toEqual(DAYS.filter((_, index) => index !== MISSED && index !== 3))
    expect(warnings).toEqual([expect.stringMatching(DAMAGED)])
    expect(await ask('from surveillance', root, DAYS[5])).toMatchObject({ usedDay: DAYS[5], warnings: [] })
    await expect(ask('from surveillance', root, DAYS[3])).rejects.toThrow(DAMAGED)
    expect((await ask('from rewritten', root)).warnings).toHaveLength(1)
  })

  it('is empty without a record', async () => {
    const root = temporaryFolder()
    storeDay(root, 0)
    expect((await ask('select count(*) from history.master', root)).rows).toEqual([['0']])
  })
})

describe.runIf(duckdb)('the candle histories that runs replaced', () => {
  const replaced = (...symbols: readonly string[]) => ({
    outcome: 'success',
    rewritten: symbols.map((item) => ({ item, reason: `a split of "2:1", it's ${item}` })),
  })

  it('can be queried, with the day and the time from which on the new prices are known', async () => {
    const root = temporaryFolder()
    storeDay(root, 0)
    await recordRun(root, { day: '2026-02-09', scripts: { 'all-ohlcv': replaced('S1', 'GONE') } })
    await recordRun(root, { day: '2026-02-10' })
    await recordRun(root, {
      day: '2026-02-11',
      scripts: { 'all-ohlcv': replaced('S1'), 'indices-ohlcv': replaced('S2') },
    })
    const first = [
      [null, 'GONE', '2026-02-09', '2026-02-09 19:30:00', 'all-ohlcv', `a split of "2:1", it's GONE`],
      ['INE000000001', 'S1', '2026-02-09', '2026-02-09 19:30:00', 'all-ohlcv', `a split of "2:1", it's S1`],
    ]
    const second = [
      ['INE000000001', 'S1', '2026-02-11', '2026-02-11 19:30:00', 'all-ohlcv', `a split of "2:1", it's S1`],
      [null, 'S2', '2026-02-11', '2026-02-11 19:30:00', 'indices-ohlcv', `a split of "2:1", it's S2`],
    ]
    const sql = 'select isin, symbol, day, known_at, stream, reason from rewritten order by day, symbol'
    expect((await ask(sql, root)).rows).toEqual([...first, ...second])
    expect((await ask(sql, root, '2026-02-10')).rows).toEqual(first)
  })

  it('give each candle the time since when its price is known, also if that is after the day asked about', async () => {
    const root = temporaryFolder()
    storeDay(root, 0)
    mkdirSync(join(root, 'ohlcv_data'))
    const days = ['2026-02-06', '2026-02-09', '2026-02-10', '2026-02-11', '2026-02-12']
    const lines = days.map((day) => `${toInstant(day, '09:15') / 1_000},1,1,1,1,1`)
    await recordRun(root, { day: '2026-02-09', scripts: { 'all-ohlcv': replaced('S1') } })
    await recordRun(root, {
      day: '2026-02-11',
      scripts: { 'all-ohlcv': replaced('S1'), 'indices-ohlcv': replaced('S2') },
    })
    for (const symbol of ['S1', 'S2'])
      writeFileSync(
        join(root, 'ohlcv_data', `${symbol}.csv`),
        ['Timestamp,Open,High,Low,Close,Volume', ...lines, ''].join('\n'),
      )
    const sql = "select day, known_since from candles_known where symbol = 'S1' order by day"
    const known = [...days.slice(0, 4).map((day) => [day, '2026-02-11 19:30:00']), ['2026-02-12', null]]
    expect((await ask(sql, root)).rows).toEqual(known)
    expect((await ask(sql, root, '2026-02-10')).rows).toEqual(known.slice(0, 3))
    expect(
      (
        await ask(
          "select isin, count(*), count(known_since) from candles_known where symbol = 'S2' group by isin",
          root,
        )
      ).rows,
    ).toEqual([['INE000000002', '5', '0']])
    // Collected late: it replaced only what was before its day.
    await recordRun(root, { day: '2026-02-18', asOf: '2026-02-06', scripts: { 'all-ohlcv': replaced('S1') } })
    expect((await ask(sql, root)).rows).toEqual([['2026-02-06', '2026-02-18 19:30:00'], ...known.slice(1)])
  })

  it('mark the candle alone that an official close replaced, and leave the stock to back-tests', async () => {
    const root = temporaryFolder()
    storeDay(root, 0)
    mkdirSync(join(root, 'ohlcv_data'))
    const days = ['2026-02-09', '2026-02-10', '2026-02-11']
    const lines = days.map((day) => `${toInstant(day, '09:15') / 1_000},1,1,1,1,1`)
    writeFileSync(
      join(root, 'ohlcv_data/S1.csv'),
      ['Timestamp,Open,High,Low,Close,Volume', ...lines, ''].join('\n'),
    )
    const rewritten = [{ item: 'S1', reason: 'another close', onlyDay: '2026-02-10' }]
    await recordRun(root, {
      day: '2026-02-11',
      scripts: { 'all-ohlcv': { ...replaced('S1'), rewritten } },
    })
    expect((await ask('select day, known_since from candles_known order by day', root)).rows).toEqual([
      ['2026-02-09', null],
      ['2026-02-10', '2026-02-11 19:30:00'],
      ['2026-02-11', null],
    ])
    const [all] = (await ask('select count(*) from screener', root)).rows
    const kept = 'select count(*) from screener where prices_known_since is null'
    expect((await ask(kept, root)).rows).toEqual([all])
  })

  it('belong to their stock after a rename', async () => {
    const root = temporaryFolder()
    storeDay(root, 0)
    mkdirSync(join(root, 'ohlcv_data'))
    await recordRun(root, { day: '2026-02-09', scripts: { 'all-ohlcv': replaced('S1') } })
    const list = join(root, 'master_isin_map.json')
    writeFileSync(list, readFileSync(list, 'utf8').replace('"S1"', '"NEW"'))
    writeFileSync(
      join(root, 'ohlcv_data/NEW.csv'),
      `Timestamp,Open,High,Low,Close,Volume\n${toInstant('2026-02-06', '09:15') / 1_000},1,1,1,1,1\n`,
    )
    await recordRun(root, { day: '2026-02-10' })
    const since = '2026-02-09 19:30:00'
    expect((await ask('select isin, symbol from rewritten', root)).rows).toEqual([['INE000000001', 'S1']])
    expect((await ask("select known_since from candles_known where symbol = 'NEW'", root)).rows).toEqual([
      [since],
    ])
    expect((await ask("select prices_known_since from screener where symbol = 'NEW'", root)).rows).toEqual([
      [since],
    ])
  })

  it('are none without a history', async () => {
    const root = temporaryFolder()
    storeDay(root, 0)
    expect((await ask('from rewritten', root)).rows).toEqual([])
    expect((await ask('from candles_known', root)).rows).toEqual([])
  })
})

describe.runIf(duckdb)('filings as of a day', () => {
  const filing = (caption: string, date: string) => ({
    news_date: `${date} 10:00:00`,
    caption,
    descriptor: 'x',
    news_body: '',
    file_url: '',
  })

  /** Stores the filings of a stock, and what a run keeps of those before it. */
  const store = (root: string, before: readonly object[] | undefined, now: readonly object[]): void => {
    const previous = join(root, '.scripstream', 'previous')
    for (const folder of [root, previous]) mkdirSync(join(folder, 'company_filings'), { recursive: true })
    writeFileSync(
      join(previous, 'note.json'),
      JSON.stringify({ ...(before ? { run: 'r' } : {}), outputs: ['company_filings/*_filings.json'] }),
    )
    const file = 'company_filings/S1_filings.json'
    if (before) writeFileSync(join(previous, file), JSON.stringify({ data: before }))
    writeFileSync(join(root, file), JSON.stringify({ data: now }))
  }

  it('are those that were known by then, whatever their own date', async () => {
    const root = temporaryFolder()
    storeDay(root, 0)
    const old = [filing('old', '2026-01-05'), filing('later', '2026-02-04')]
    store(root, undefined, old)
    await recordRun(root, { day: '2026-02-05' })
    const all = [filing('late "quoted"\n€', '2026-02-05'), ...old]
    store(root, old, all)
    await recordRun(root, { day: '2026-02-10' })
    const captions = async (day: string) =>
      (await ask('select caption from filings order by caption', root, day)).rows.flat()
    expect(await captions('2026-02-05')).toEqual(['later', 'old'])
    expect(await captions('2026-02-09')).toEqual(['later', 'old'])
    expect(await captions('2026-02-10')).toEqual(['late "quoted"\n€', 'later', 'old'])
  })

  it('are answered on other days than a damaged one, with a warning that names its file', async () => {
    const root = temporaryFolder()
    storeDay(root, 0)
    store(root, undefined, [filing('old', '2026-01-05')])
    for (const day of ['2026-02-05', '2026-02-06', '2026-02-09']) await recordRun(root, { day: day })
    truncate(root, '2026-02-06')
    const { rows, warnings } = await ask('select caption from filings', root, '2026-02-09')
    expect(rows).toEqual([['old']])
    expect(warnings).toEqual([expect.stringMatching(DAMAGED)])
    await expect(ask('select caption from filings', root, '2026-02-06')).rejects.toThrow(DAMAGED)
  })

  it('of a file that was new on a day are unknown before', async () => {
    const root = temporaryFolder()
    storeDay(root, 0)
    await recordRun(root, { day: '2026-02-05' })
    store(root, [], [filing('one', '2026-01-05')])
    await recordRun(root, { day: '2026-02-10' })
    expect((await ask('select count(*) from filings', root, '2026-02-05')).rows).toEqual([['0']])
    expect((await ask('select count(*) from filings', root, '2026-02-10')).rows).toEqual([['1']])
  })
})

describe.runIf(duckdb)('the view first_seen', () => {
  const filing = (caption: string, url = '') => ({
    news_date: '2026-01-05 10:00:00',
    caption,
    descriptor: 'x',
    file_url: url,
  })
  const news = (Title: string) => ({
    Title,
    PublishDate: Date.parse('2026-01-05T10:00:00+05:30'),
    Source: 'stocks',
  })
  const announcement = (events: string, symbol: string) => ({
    Symbol: symbol,
    ISIN: 'INE000000001',
    date: '2026-01-05 09:00:00',
    type: 't',
    events,
  })
  const deal = (cname: string, isin?: string) => ({
    date: '2026-01-05 00:00:00',
    sym: 'S1',
    isin,
    exch: 'NSE',
    deal: 'BULK',
    bs: 'B',
    cname,
    qty: 10,
    avgprice: 1.5,
  })
  /** Lists without deals of those days, and candles that show when the market traded until now. */
  const storeLists = (root: string): void => {
    storeDay(root, 0)
    storeCandles(root, 1)
  }
  const storeCandles = (root: string, count: number): void => {
    const candles = ['2026-02-09', '2026-02-10', '2026-02-11']
      .slice(0, count)
      .map((day) => `${toInstant(day) / 1_000},1,1,1,1,1\n`)
    mkdirSync(join(root, 'ohlcv_data', 'indices'), { recursive: true })
    writeFileSync(
      join(root, 'ohlcv_data', 'indices', 'A.csv'),
      `Timestamp,Open,High,Low,Close,Volume\n${candles.join('')}`,
    )
  }
  const write = (root: string, file: string, content: unknown): void => {
    mkdirSync(join(root, file, '..'), { recursive: true })
    writeFileSync(join(root, file), JSON.stringify(content))
  }

  /**
   * Stores the first `count` rows of each kind, `filing 1` and so on, and the first `before` filings and news
   * as those of the run before.
   */
  const store = (root: string, count: number, before?: number): void => {
    const upTo = <T>(last: number, create: (name: string) => T, kind: string): readonly T[] =>
      Array.from({ length: last }, (_, index) => create(`${kind} ${index + 1}`))
    storeCandles(root, count)
    const previous = join(root, '.scripstream', 'previous')
    write(previous, 'note.json', {
      ...(before === undefined ? {} : { run: 'r' }),
      outputs: ['company_filings/*', 'market_news/*'],
    })
    for (const [folder, last] of [
      [root, count] as const,
      ...(before === undefined ? [] : [[previous, before] as const]),
    ]) {
      write(folder, 'company_filings/S1_filings.json', { data: upTo(last, filing, 'filing') })
      write(folder, 'market_news/S1_news.json', {
        Symbol: 'S1',
        ISIN: 'INE000000001',
        News: upTo(last, news, 'news'),
      })
    }
    // From the third day on the stock has another symbol in one list, and an ISIN in the other.
    const isLater = count > 2
    const symbol = isLater ? 'RENAMED' : 'S1'
    write(
      root,
      'all_company_announcements.json',
      upTo(count, (name) => announcement(name, symbol), 'announcement'),
    )
    write(
      root,
      'bulk_block_deals.json',
      upTo(count, (name) => deal(name, isLater ? 'INE000000001' : undefined), 'deal'),
    )
  }
  const SQL = `select kind, regexp_extract(title, '\\d$') as number, first_seen from first_seen order by all`
  const KINDS = ['announcement', 'deal', 'filing', 'news']
  const DAY_OF = [null, '2026-02-10', '2026-02-11']
  const truth = (count: number) =>
    KINDS.flatMap((kind) => DAY_OF.slice(0, count).map((day, index) => [kind, String(index + 1), day]))

  const collectThreeDays = async (): Promise<string> => {
    const root = temporaryFolder()
    storeLists(root)
    for (const [count, day] of [
      [1, '2026-02-09'],
      [2, '2026-02-10'],
      [3, '2026-02-11'],
    ] as const) {
      store(root, count, count === 1 ? undefined : count - 1)
      await recordRun(root, { day: day })
    }
    return root
  }

  it('has the day of the first recorded run with a row, and NULL for what was there before the history began', async () => {
    const root = await collectThreeDays()
    expect((await ask(SQL, root)).rows).toEqual(truth(3))
    expect(
      (await ask("select distinct isin, day, detail from first_seen where kind = 'deal'", root)).rows,
    ).toEqual([['INE000000001', '2026-01-05', '10 at 1.5 rupees on NSE']])
  })

  it('has no later day as of a day', async () => {
    const root = await collectThreeDays()
    expect((await ask(SQL, root, '2026-02-10')).rows).toEqual(truth(2))
    expect((await ask(SQL, root, '2026-02-09')).rows).toEqual(truth(1))
  })

  it('decides in the lake, too, which filings and news a day has, whatever their own date', async () => {
    const root = await collectThreeDays()
    write(root, '.scripstream/report.json', runReport({ asOf: '2026-02-11T12:30:00.000Z' }))
    await lastValueFrom(wholeLake({ streams }).write(root))
    const lake = await openPlain(root, 'lake')
    for (const sql of ['select caption from filings order by all', 'select title from news order by all'])
      for (const [index, day] of ['2026-02-09', '2026-02-10', '2026-02-11'].entries()) {
        const rows = await lake.ask(sql, day)
        expect(rows, `${sql} as of ${day}`).toHaveLength(index + 1)
        expect(rows).toEqual((await ask(sql, root, day)).rows)
      }
    lake.close()
  })

  it('has a deal of the second day after a first day without deals', async () => {
    const root = temporaryFolder()
    storeLists(root)
    for (const [day, deals] of [['2026-02-09', []] as const, ['2026-02-10', [deal('deal 1')]] as const]) {
      write(root, 'bulk_block_deals.json', deals)
      await recordRun(root, { day: day })
    }
    expect((await ask(SQL, root)).rows).toEqual([['deal', '1', '2026-02-10']])
  })

  it('has a filing of which one copy was there before the history began without a day', async () => {
    const root = temporaryFolder()
    storeDay(root, 0)
    store(root, 1)
    await recordRun(root, { day: '2026-02-09' })
    const copies = [filing('filing 1'), { ...filing('filing 1'), news_id: 'n' }]
    write(join(root, '.scripstream', 'previous'), 'note.json', { run: 'r', outputs: ['company_filings/*'] })
    for (const [folder, data] of [
      [join(root, '.scripstream', 'previous'), copies.slice(0, 1)] as const,
      [root, copies] as const,
    ])
      write(folder, 'company_filings/S1_filings.json', { data })
    await recordRun(root, { day: '2026-02-10' })
    expect((await ask("select first_seen from first_seen where kind = 'filing'", root)).rows).toEqual([
      [null],
    ])
  })

  it('has no days without a history, and no list of tables reads the history', async () => {
    const root = temporaryFolder()
    storeDay(root, 0)
    store(root, 1)
    expect((await ask(SQL, root)).rows).toEqual(truth(1))
    const recorded = await collectThreeDays()
    const before = snapshotFolder(recorded)
    expect((await ask('show tables', recorded)).rows).toContainEqual(['first_seen'])
    await ask('from filings', recorded)
    expect(snapshotFolder(recorded)).toEqual(before)
  })
})

describe.runIf(duckdb)('as of the day of the last run', () => {
  let folder: Awaited<ReturnType<typeof collected>>
  beforeAll(async () => {
    folder = await collected()
  })
  afterAll(() => folder.remove())

  it.each([...tables, ...listViews(tables)].map(({ name }) => name))('%s is as it is now', async (name) => {
    const sql = `select * from ${name} order by all`
    const now = await ask(sql, folder.out)
    expect(roundFractions((await ask(sql, folder.out, '2026-02-12')).rows)).toEqual(roundFractions(now.rows))
  })

  it('candles of later days are not there', async () => {
    const { rows } = await ask(
      'select max(date), (select max(day) from candle_days) from candles',
      folder.out,
      '2026-02-11',
    )
    expect(rows).toEqual([['2026-02-11', '2026-02-11']])
  })
})
