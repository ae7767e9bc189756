import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openMarketFolder } from '../../src/show/folder.js'
import { readOwnStocks, readToday } from '../../src/show/market.js'
import { LIST_NAMES, readWholeList } from '../../src/show/whole-lists.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { DAYS, MISSED, recordIndex, storeDay } from '../tables/history/ten-days.js'
import { collected, duckdb, objectsOf } from '../tables/support.js'
import { ISIN, marketWith, openFolder, report, stock } from './support.js'

describe.skipIf(!duckdb)('the whole lists of a collected market', () => {
  let market: Awaited<ReturnType<typeof collected>>
  beforeAll(async () => {
    market = await collected(16, 300)
  })
  afterAll(() => market.remove())

  const count = async (sql: string): Promise<number> =>
    Number((await objectsOf(`select count(*) as n from (${sql})`, market.out))[0]?.n)

  it.each(LIST_NAMES)(
    'have the rows of their statement, and their facets among their columns: %s',
    async (name) => {
      const list = await readWholeList(openFolder(market.out), name)
      const columns = list?.columns.map((column) => column.name) ?? []
      expect(new Set(columns).size).toBe(columns.length)
      expect(columns).toEqual(expect.arrayContaining([...(list?.facets ?? ['none'])]))
      expect(list).toMatchObject({ isCut: false })
      expect(list?.rows.length).toBe(await count(list?.sql ?? ''))
    },
  )

  it('have every stock, and every document of the week once', async () => {
    const folder = openFolder(market.out)
    expect((await readWholeList(folder, 'stocks'))?.rows.length).toBe(16)
    const filings = await readWholeList(folder, 'filings')
    expect(filings?.rows.length).toBe(
      await count('from filings_unique where day > (select max(day) from filings_unique) - 7'),
    )
    expect(filings?.rows.length).toBeGreaterThan(0)
  })

  it('are none for another name, also that of a property of every object', async () => {
    const folder = openFolder(market.out)
    expect([await readWholeList(folder, 'none'), await readWholeList(folder, 'constructor')]).toEqual([
      undefined,
      undefined,
    ])
  })
})

describe.skipIf(!duckdb)('a list that lacks something', () => {
  const action = (sym: string, date: string) => ({
    Sym: sym,
    CorpAct: [{ ActType: 'DIVIDEND', ExDate: date, Note: '2.5' }],
  })
  const files = {
    'master_isin_map.json': [stock('A')],
    'history_corporate_actions.json': [action('A', '2024-01-05')],
    'upcoming_corporate_actions.json': [action('A', '2026-02-20')],
    '.scripstream/report.json': report({
      'circuit-stocks': ['success'],
      'corporate-actions': ['success'],
      'all-ohlcv': ['success'],
    }),
  }

  it('has the actions from the day of the run on', async () => {
    expect((await readWholeList(marketWith(files), 'actions'))?.rows.map((row) => row[2])).toEqual([
      '2026-02-20',
    ])
  })

  it('has no action of a company that lost its symbol, nor has Today', async () => {
    const old = { symbol: 'A', isin: 'INE149K01016', name: 'Old', sid: '7', file: 'A', until: '2026-02-10' }
    const folder = marketWith({
      ...files,
      'upcoming_corporate_actions.json': [
        { ...action('A', '2026-02-13'), DispSym: 'Old' },
        { ...action('A', '2026-02-16'), DispSym: 'A Ltd' },
      ],
      '.scripstream/former-stocks.json': [old],
    })
    expect((await readWholeList(folder, 'actions'))?.rows.map(([symbol]) => symbol)).toEqual(['A'])
    expect((await readToday(folder)).actions).toMatchObject({ total: 1, rows: [{ symbol: 'A' }] })
  })

  it('names the file that is missing: no stock at a limit is another thing than no list', async () => {
    const one = { ...files, 'upper_circuit_stocks.json': [] }
    expect(await readWholeList(marketWith(one), 'circuits')).toMatchObject({
      rows: [],
      warnings: [expect.stringMatching(/lower_circuit_stocks.json is missing|was not part of the last run/)],
    })
    const { 'upcoming_corporate_actions.json': _, ...others } = files
    const { actions } = await readToday(marketWith(others))
    expect(actions.about.problem).toBe('upcoming_corporate_actions.json is missing')
  })

  it('leaves a damaged table out, and names it; other lists stay whole', async () => {
    const folder = marketWith({ ...files, 'bulk_block_deals.json': '[{"date":' })
    const damaged = 'bulk_block_deals.json is damaged; move it away and run again'
    expect(await readWholeList(folder, 'deals')).toMatchObject({
      rows: [],
      warnings: expect.arrayContaining([damaged]),
    })
    expect((await readWholeList(folder, 'stocks'))?.rows.map(([symbol]) => symbol)).toEqual(['A'])
  })

  it('of stocks have their tags, several in one cell', async () => {
    const upper = {
      'upper_circuit_stocks.json': [{ Symbol: 'A', Name: 'A Ltd', LTP: 5, ChangePercent: 5 }],
      'nse_asm_list.json': [{ Symbol: 'A', ISIN, Name: 'A Ltd', Stage: 'I' }],
    }
    const { columns = [], rows = [] } =
      (await readWholeList(marketWith({ ...files, ...upper }), 'stocks')) ?? {}
    const tags = columns.findIndex(({ name }) => name === 'tags')
    expect(rows.map((row) => row[tags])).toEqual(['upper limit · ASM'])
  })

  it('of a folder without data says so', async () => {
    expect(await readWholeList(marketWith({}), 'stocks')).toMatchObject({
      rows: [],
      warnings: ['there is no master list'],
    })
  })
})

describe.skipIf(!duckdb)('the stocks that one follows', () => {
  const HOSTILE = "A'B"
  const folder = () =>
    marketWith({
      'master_isin_map.json': [stock('A'), stock(HOSTILE, 'INE000000002')],
      'upper_circuit_stocks.json': [{ Symbol: 'A', Name: 'A Ltd', LTP: 5, ChangePercent: 5 }],
      'bulk_block_deals.json': [
        { date: '2026-02-12', sym: 'A', deal: 'BULK', bs: 'B', cname: 'FUND', qty: 10, avgprice: 2 },
      ],
      'all_company_announcements.json': [
        { Symbol: 'A', date: '2026-02-12 10:00:00', events: 'new plant', type: 'Company Announcements' },
        { Symbol: 'A', date: '2026-01-02 10:00:00', events: 'old', type: 'Company Announcements' },
      ],
      '.scripstream/report.json': report({ 'circuit-stocks': ['success'] }),
    })

  it('come in the order of the list, each once, with what happened lately; others are named', async () => {
    const { rows, unknown } = await readOwnStocks(folder(), ` ${HOSTILE.toLowerCase()}, A,NONE,A,`)
    expect(rows.map(({ symbol }) => symbol)).toEqual([HOSTILE, 'A'])
    expect(rows[1]).toMatchObject({ circuit: 'upper' })
    expect(rows[1]?.notes?.map(({ kind, title }) => `${kind}: ${title}`).sort()).toEqual([
      'announcement: new plant',
      'deal: BULK purchase by FUND',
    ])
    expect(unknown).toEqual(['NONE'])
    expect(await readOwnStocks(folder(), '')).toEqual({ rows: [], unknown: [] })
  })
})

describe.skipIf(!duckdb)('the morning', () => {
  it('has the ex-dates of the next seven days, each action once, and says why there are none without the list', async () => {
    const action = (sym: string, date: string) => ({
      Sym: sym,
      CorpAct: [{ ActType: 'DIVIDEND', ExDate: date, Note: '2.5' }],
    })
    const folder = marketWith({
      'master_isin_map.json': [stock('A')],
      'upcoming_corporate_actions.json': [
        action('A', '2026-02-13'),
        action('A', '2026-02-13'),
        action('A', '2026-02-20'),
        action('A', '2026-02-12'),
      ],
      '.scripstream/report.json': report({ 'corporate-actions': ['success'] }),
    })
    const { actions, results } = await readToday(folder)
    expect(actions).toMatchObject({
      total: 2,
      rows: [
        { day: '2026-02-12' },
        { symbol: 'A', name: 'A Ltd', day: '2026-02-13', action: 'dividend', amount: 2.5 },
      ],
    })
    expect(results).toMatchObject({ total: 0, rows: [] })
  })
})

it.skipIf(!duckdb)(
  'a list as of a day between two records is about the day of the record, as Today is',
  async () => {
    const root = temporaryFolder()
    mkdirSync(join(root, '.scripstream'))
    const record = MISSED - 1
    const CorpAct = [record, MISSED].map((index) => ({ ActType: 'DIVIDEND', ExDate: DAYS[index], Note: '2' }))
    writeFileSync(join(root, 'upcoming_corporate_actions.json'), JSON.stringify([{ Sym: 'S1', CorpAct }]))
    for (const index of [record, MISSED + 1]) {
      storeDay(root, index)
      await recordIndex(root, index)
    }
    const folder = openMarketFolder({ root, exchange: 'NSE', streams, day: DAYS[MISSED] })
    const { columns = [], rows, usedDay } = (await readWholeList(folder, 'actions')) ?? {}
    const place = columns.findIndex(({ name }) => name === 'ex_date')
    expect(usedDay).toBe(DAYS[record])
    expect(rows?.map((row) => row[place])).toEqual([DAYS[record], DAYS[MISSED]])
    expect((await readToday(folder)).actions.rows.map(({ day }) => day)).toEqual([DAYS[record], DAYS[MISSED]])
  },
)

it.skipIf(!duckdb)('the price band of a stock at its limit is that of its listed series', async () => {
  const band = { Symbol: 'A', 'Security Name': 'A', Remarks: '-' }
  const folder = marketWith({
    'master_isin_map.json': [stock('A')],
    'complete_price_bands.json': [
      { ...band, Series: 'W1', Band: '40' },
      { ...band, Series: 'EQ', Band: '5' },
    ],
    'nse_equity_list.csv': `SYMBOL,NAME OF COMPANY, SERIES, DATE OF LISTING, PAID UP VALUE, MARKET LOT, ISIN NUMBER, FACE VALUE\nA,A,EQ,06-OCT-2008,5,1,${ISIN},5\n`,
    'upper_circuit_stocks.json': [{ Symbol: 'A', LTP: 110 }],
  })
  const { columns = [], rows = [] } = (await readWholeList(folder, 'circuits')) ?? {}
  expect(rows[0]?.[columns.findIndex(({ name }) => name === 'band')]).toBe('5 %')
})

it.skipIf(!duckdb)('the columns of lists have the units of their tables', async () => {
  const folder = marketWith({
    'master_isin_map.json': [stock('A')],
    'upper_circuit_stocks.json': [{ Symbol: 'A', LTP: 110 }],
  })
  const readUnits = async (name: string) =>
    Object.fromEntries(
      ((await readWholeList(folder, name))?.columns ?? []).flatMap(
        ({ name: column, title, unit, isChange }) =>
          unit === undefined && !isChange ? [] : [[column, [title, unit, isChange === true]]],
      ),
    )
  expect(await readUnits('actions')).toEqual({ amount_inr: ['amount ₹', '₹', false] })
  expect(await readUnits('circuits')).toEqual({
    price: ['price ₹', '₹', false],
    change_percent: ['change %', '%', true],
  })
  // In points.
  expect(Object.keys(await readUnits('indices'))).toEqual(
    ['change', 'return_1w', 'return_1m', 'return_3m', 'return_1y', 'from_high_52w', 'from_low_52w'].map(
      (column) => `${column}_pct`,
    ),
  )
  expect(await readUnits('deals')).toEqual({
    price_inr: ['price ₹', '₹', false],
    value_cr: ['value ₹ crore', '₹ crore', false],
  })
})
