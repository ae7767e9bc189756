import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listTables } from '../../src/engine/define-stream.js'
import { DamagedFileError } from '../../src/model/errors.js'
import { createFileNames } from '../../src/model/stock.js'
import { listColumns, type Table } from '../../src/model/table.js'
import { runQuery } from '../../src/tables/query.js'
import { streams } from '../../streams/registry.js'
import { collected, duckdb, folderWith, rowsOf } from './support.js'

const catalogue = listTables(streams)
const HEADER = 'Timestamp,Open,High,Low,Close,Volume\n'
const STOCK = { Symbol: 'INFY', ISIN: 'INE009A01021', Name: 'Infosys', Sid: '1594', FnoFlag: 1 }

const folders: (() => void)[] = []
afterAll(() => {
  for (const remove of folders) remove()
})

/** The number of rows in the files of a table, counted without SQL. */
const countRows = (out: string, table: Table): number =>
  table.files
    .flatMap(({ path }) => listFiles(out, path))
    .reduce((total, file) => total + countRowsIn(file, table), 0)

const listFiles = (out: string, path: string): readonly string[] => {
  const [before = '', after = ''] = basename(path).split(/\{\w+\}/)
  const folder = join(out, dirname(path))
  const isOne = !path.includes('{')
  return readdirSync(folder)
    .filter((name) => (isOne ? name === basename(path) : name.startsWith(before) && name.endsWith(after)))
    .map((name) => join(folder, name))
}

const countRowsIn = (file: string, { shape, lists }: Table): number => {
  const text = readFileSync(file, 'utf8')
  if (shape === 'csv' || shape === 'candles') return text.trim().split('\n').length - 1
  const records = [JSON.parse(text)].flat() as readonly Record<string, unknown>[]
  if (lists === undefined) return records.length
  return records.flatMap((record) => lists.flatMap((key) => [record[key] ?? []].flat())).length
}

describe('the catalogue', () => {
  it('has a table for every output', () => {
    const paths = catalogue.flatMap(({ files }) => files.map(({ path }) => path.replaceAll(/\{\w+\}/g, '*')))
    const outputs = streams.flatMap(({ work, outputs: all }) =>
      all.flatMap(({ file }) => {
        const parts =
          file.includes('{exch}') || /\{(mode|list|side)\}/.test(file)
            ? work.parts.map(({ fileName }) => fileName)
            : ['*']
        return parts.map((part) => file.replaceAll('{exch}', '*').replaceAll(/\{\w+\}/g, part))
      }),
    )
    expect(outputs.filter((output) => !paths.includes(output))).toEqual([])
  })

  it('names each table and column once, and describes each', () => {
    expect(new Set(catalogue.map(({ name }) => name)).size).toBe(catalogue.length)
    for (const table of catalogue) {
      const names = listColumns(table).map(({ name }) => name)
      expect(new Set(names).size, table.name).toBe(names.length)
      expect(names.every((name) => /^[a-z][a-z0-9_]*$/.test(name))).toBe(true)
      expect(listColumns(table).filter(({ comment }) => comment.length < 5)).toEqual([])
      expect(names).toEqual(expect.arrayContaining([...(table.key ?? [])]))
    }
  })
})

describe.skipIf(!duckdb)('the tables of a run', () => {
  let out = ''
  beforeAll(async () => {
    const market = await collected()
    out = market.out
    folders.push(market.remove)
  })

  it('can be interrupted before the first row', async () => {
    const stops: (() => void)[] = []
    const endless =
      'select count(*) from candles a, candles b, candles c, candles d, candles e where a.close + b.close > c.close'
    const query = runQuery(endless, { out, tables: catalogue }, (stop) => stops.push(stop))
    const again = setInterval(() => stops[0]?.(), 5)
    await expect(query).rejects.toThrow(/INTERRUPT/)
    clearInterval(again)
  })

  it.each(catalogue.map((table) => [table.name, table] as const))(
    '%s has a row for each record in the files',
    async (name, table) => {
      const wanted = countRows(out, table)
      expect(wanted).toBeGreaterThan(0)
      expect(await rowsOf(`SELECT count(*) FROM ${name}`, out)).toEqual([[String(wanted)]])
    },
  )

  it.each(catalogue.map((table) => [table.name, table] as const))(
    '%s fills its columns',
    async (name, table) => {
      const columns = listColumns(table).filter((column) => column.name !== 'extra')
      const [filled = []] = await rowsOf(
        `SELECT ${columns.map((column) => `count("${column.name}")`).join(', ')} FROM ${name}`,
        out,
      )
      // Columns that the simulator does not fill.
      const unanswered = ['filings.category', 'index_spells.until']
      const empty = columns
        .filter((_, place) => filled[place] === '0')
        .map((column) => `${name}.${column.name}`)
      expect(empty.filter((column) => !unanswered.includes(column))).toEqual([])
    },
  )

  it('dates candles in India, with the numbers of the file', async () => {
    const [timestamp, ...figures] = (
      readFileSync(join(out, 'ohlcv_data/M&M.csv'), 'utf8').split('\n')[1] ?? ''
    ).split(',')
    const day = new Date(Number(timestamp) * 1_000 + 19_800_000).toISOString().slice(0, 10)
    const rows = await rowsOf(
      `SELECT date, open, high, low, close, volume FROM candles WHERE symbol = 'M&M' ORDER BY date LIMIT 1`,
      out,
    )
    expect(rows).toEqual([[day, ...figures.map((figure) => String(Number(figure)))]])
  })

  it('shows every stock of the candles under the symbol of the master list', async () => {
    expect(
      await rowsOf(
        'SELECT DISTINCT symbol FROM candles WHERE symbol NOT IN (SELECT symbol FROM master)',
        out,
      ),
    ).toEqual([])
    expect(
      await rowsOf(
        'SELECT DISTINCT symbol FROM index_candles WHERE (symbol, sid) NOT IN (SELECT (symbol, sid) FROM indices)',
        out,
      ),
    ).toEqual([])
    expect(
      await rowsOf('SELECT symbol, sid, date FROM index_candles GROUP BY ALL HAVING count(*) > 1', out),
    ).toEqual([])
    expect(
      await rowsOf(
        'SELECT DISTINCT symbol FROM filings WHERE symbol NOT IN (SELECT symbol FROM master)',
        out,
      ),
    ).toEqual([])
  })

  it('opens only the file of the requested stock', async () => {
    const [[plan = ''] = []] = (
      await rowsOf("EXPLAIN ANALYZE SELECT count(*) FROM candles WHERE symbol = 'M&M'", out)
    ).map(([, text]) => [text ?? ''])
    expect(plan).toMatch(/Scanning Files: 1\/12|Total Files Read: 1\b/)
  })
})

describe.skipIf(!duckdb)('what drifts', () => {
  const query = (sql: string, files: Parameters<typeof folderWith>[0]) => rowsOf(sql, folderWith(files))

  it('leaves a table without files empty, with its columns', async () => {
    for (const table of catalogue) {
      const other = table.name === 'master' ? { 'all_indices_list.json': [] } : { 'master_isin_map.json': [] }
      expect(await query(`SELECT count(*) FROM ${table.name}`, other)).toEqual([['0']])
      const described = await query(`SELECT column_name, column_type FROM (DESCRIBE ${table.name})`, other)
      expect(described).toEqual(listColumns(table).map(({ name, type }) => [name, type]))
    }
  })

  it('rejects a folder without any output', async () => {
    await expect(query('FROM candles', { 'notes.txt': 'x' })).rejects.toMatchObject({
      code: 'no-outputs',
      message: expect.stringContaining('contains no outputs'),
    })
    expect(await query('SELECT 1', { 'notes.txt': 'x' })).toEqual([['1']])
  })

  it('shows unknown fields in extra', async () => {
    const files = { 'master_isin_map.json': [{ ...STOCK, Lot: 25, Peers: ['TCS'] }] }
    expect(await query("SELECT symbol, extra ->> 'Lot', extra ->> '$.Peers[0]' FROM master", files)).toEqual([
      ['INFY', '25', 'TCS'],
    ])
    const actions = {
      'upcoming_corporate_actions.json': [
        { Sym: 'INFY', DispSym: 'Infosys', Exch: 'NSE', CorpAct: [{ ActType: 'SPLIT', Ratio: '1:2' }] },
      ],
    }
    expect(await query('SELECT action, extra FROM corporate_actions', actions)).toEqual([
      ['SPLIT', '{"Exch":"NSE","Ratio":"1:2"}'],
    ])
  })

  it('shows a value that does not fit its column in extra', async () => {
    const deal = {
      date: '2026-02-12 00:00:00',
      sym: 'INFY',
      qty: 12.5,
      avgprice: 'about 1100',
      bs: 'B',
      cname: 'A',
    }
    const [row] = await query('SELECT date, quantity, price, extra FROM deals', {
      'bulk_block_deals.json': [deal],
    })
    expect(row).toEqual(['2026-02-12', null, null, '{"qty":12.5,"avgprice":"about 1100"}'])
  })

  it('shows a value that is no number of its column in extra or as a text, in every table', async () => {
    const hidden: string[] = []
    for (const table of catalogue.filter(({ shape }) => shape === 'array' || shape === 'document'))
      for (const { from, type } of table.columns) {
        const keys =
          'row' in from && (type === 'BIGINT' || type === 'DOUBLE')
            ? from.row.filter((key) => !key.startsWith('$'))
            : []
        const value = type === 'BIGINT' ? 12.5 : 'about 12'
        for (const key of keys) {
          const record =
            table.lists === undefined ? { [key]: value } : { [table.lists[0] ?? '']: [{ [key]: value }] }
          const path = (table.files[0]?.path ?? '').replace('{exch}', 'nse').replace(/\{\w+\}/, 'INFY')
          const rows = await query(`FROM ${table.name}`, {
            [path]: table.shape === 'array' ? [record] : record,
          })
          if (!String(rows).includes(String(value))) hidden.push(`${table.name}.${key}`)
        }
      }
    expect(hidden).toEqual([])
  })

  it('accepts texts as numbers, other key cases, and a record instead of a list', async () => {
    const files = {
      'fundamental_data.json': [
        {
          Symbol: 'INFY',
          ISIN: 'X',
          incomeStat_cq: { Net_Profit: '10|5|4', Eps: '1.5' },
          CV: { PE: '12.5' },
        },
      ],
      'history_corporate_actions.json': [
        { Sym: 'INFY', CorpAct: { ActType: 'BONUS', ExDate: '2026-01-02T00:00:00' } },
      ],
      'bulk_block_deals.json': [{ qty: '9007199254740993' }],
    }
    expect(await query('SELECT net_profit, eps, pe FROM fundamentals', files)).toEqual([
      ['10', '1.5', '12.5'],
    ])
    expect(await query('SELECT list, action, ex_date FROM corporate_actions', files)).toEqual([
      ['history', 'BONUS', '2026-01-02'],
    ])
    expect(await query('SELECT quantity FROM deals', files)).toEqual([['9007199254740993']])
  })

  it('accepts malformed records and lists, and columns that are objects', async () => {
    const files = {
      'bulk_block_deals.json': [1, 'x', null, [2], { sym: { a: 1 } }],
      'company_filings/INFY_filings.json': { code: 0, data: 'none' },
      'market_news/INFY_news.json': { Symbol: 'INFY', News: null },
    }
    expect(await query('SELECT symbol, extra FROM deals', files)).toEqual([
      [null, '1'],
      [null, '"x"'],
      [null, 'null'],
      [null, '[2]'],
      ['{"a":1}', null],
    ])
    expect(await query('SELECT (SELECT count(*) FROM filings), (SELECT count(*) FROM news)', files)).toEqual([
      ['0', '0'],
    ])
  })

  it('accepts candle files that are empty, truncated, wider or have odd numbers', async () => {
    const files = {
      'ohlcv_data/A.csv': '',
      'ohlcv_data/B.csv': HEADER,
      'ohlcv_data/C.csv': `${HEADER}1093372200,1,2,x,1.5,10.5\n1093458600,1`,
      'ohlcv_data/D.csv': 'Timestamp,Open,High,Low,Close,Volume,More\n1093372200,1,2,3,4,5,6\n',
      'ohlcv_data/E.csv': `${HEADER}99999999999999999,1,2,3,4,5\nnever,1,2,3,4,5\n`,
    }
    expect(await query('FROM candles ORDER BY symbol, date', files)).toEqual([
      ['C', '2004-08-25', '1', '2', null, '1.5', '11'],
      ['C', '2004-08-26', '1', null, null, null, null],
      ['D', '2004-08-25', '1', '2', '3', '4', '5'],
      ['E', null, '1', '2', '3', '4', '5'],
      ['E', null, '1', '2', '3', '4', '5'],
    ])
  })

  it('accepts other columns in the list of listings, padded and in another order', async () => {
    const files = {
      'nse_equity_list.csv': 'NEW, SYMBOL ,DATE OF LISTING\nx, INFY ,08-FEB-1995\ny,TCS,sometime\n',
    }
    expect(await query('SELECT symbol, listed_on, name, extra FROM listing_dates', files)).toEqual([
      ['INFY', '1995-02-08', null, '{"NEW":"x"}'],
      ['TCS', null, null, '{"NEW":"y","DATE OF LISTING":"sometime"}'],
    ])
  })

  it('names a file that is not JSON', async () => {
    await expect(query('FROM deals', { 'bulk_block_deals.json': '[{"sym":"A"},{"sy' })).rejects.toThrow(
      /bulk_block_deals\.json/,
    )
    await expect(query('FROM deals', { 'bulk_block_deals.json': '[{"sym":"A"},{"sy' })).rejects.toThrow(
      DamagedFileError,
    )
    expect(await query('FROM deals', { 'bulk_block_deals.json': '' })).toEqual([])
  })

  it('maps file names back to their symbols, also with quotes', async () => {
    const stocks = [
      STOCK,
      { ...STOCK, Symbol: '../x', ISIN: 'INE000A01001' },
      { ...STOCK, Symbol: 'CON', ISIN: 'INE000A01002' },
      { ...STOCK, Symbol: "O'NE", ISIN: 'INE000A01003' },
    ]
    const names = [...createFileNames(stocks.map(({ Symbol: key, ISIN: id }) => ({ key, id }))), "GO'NE"]
    expect(names).toContain('_CON~INE000A01002')
    const files = Object.fromEntries(
      names.map((name) => [`ohlcv_data/${name}.csv`, `${HEADER}1093372200,1,2,3,4,5\n`]),
    )
    const sql = "SELECT string_agg(symbol, ' ' ORDER BY symbol) FROM candles"
    expect(await query(sql, { 'master_isin_map.json': stocks, ...files })).toEqual([
      ["../x CON GO'NE INFY O'NE"],
    ])
  })
})
