import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inflateRawSync } from 'node:zlib'
import { lastValueFrom } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StorageError, UsageError } from '../../src/model/errors.js'
import type { ShownColumn } from '../../src/model/table.js'
import { type DuckDb, openDuckDb } from '../../src/storage/duckdb.js'
import { replaceExport } from '../../src/tables/export/replace-file.js'
import { loadSheetWriter, workbook } from '../../src/tables/export/workbook.js'
import { streams } from '../../streams/registry.js'
import { collected, duckdb, folderWith, objectsOf } from './support.js'

/** The texts of the files in a zip archive, by name, from its central directory. */
const readZip = (archive: Buffer): ReadonlyMap<string, string> => {
  const end = archive.lastIndexOf(Buffer.from('PK\u0005\u0006', 'latin1'))
  const files = new Map<string, string>()
  let entry = archive.readUInt32LE(end + 16)
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    const [size, nameLength] = [archive.readUInt32LE(entry + 20), archive.readUInt16LE(entry + 28)]
    const start = archive.readUInt32LE(entry + 42)
    const data = start + 30 + archive.readUInt16LE(start + 26) + archive.readUInt16LE(start + 28)
    const bytes = archive.subarray(data, data + size)
    const isPacked = archive.readUInt16LE(entry + 10) !== 0
    files.set(
      archive.toString('utf8', entry + 46, entry + 46 + nameLength),
      (isPacked ? inflateRawSync(bytes) : bytes).toString('utf8'),
    )
    entry += 46 + nameLength + archive.readUInt16LE(entry + 30) + archive.readUInt16LE(entry + 32)
  }
  return files
}

/**
 * The cells of a workbook by their address: numbers, texts, and days or times as Excel counts them, with
 * their format.
 */
const readCells = (path: string): Readonly<Record<string, unknown>> => {
  const files = readZip(readFileSync(path))
  const texts = [...(files.get('xl/sharedStrings.xml') ?? '').matchAll(/<t[^>]*>([^<]*)<\/t>/g)].map(
    ([, text]) => text,
  )
  const formats = [...(files.get('xl/styles.xml') ?? '').matchAll(/<xf [^>]*numFmtId="(\d+)"/g)].map(
    ([, id]) => id,
  )
  const cells = (files.get('xl/worksheets/sheet1.xml') ?? '').matchAll(
    /<c r="(\w+)"(?: s="(\d+)")?(?: t="(\w+)")?><v>([^<]*)<\/v>/g,
  )
  return Object.fromEntries(
    [...cells].map(([, address = '', style = '0', type, value = '']) => {
      if (type === 's') return [address, texts[Number(value)]]
      return [address, formats[Number(style)] === '0' || style === '0' ? Number(value) : [Number(value)]]
    }),
  )
}

const columns = (names: Readonly<Record<string, ShownColumn['type']>>): readonly ShownColumn[] =>
  Object.entries(names).map(([name, type]) => ({ name, type, comment: name }))

describe.skipIf(!duckdb)('a workbook', () => {
  let duck: DuckDb
  const path = join(folderWith({}), 'sheet.xlsx')
  beforeAll(async () => {
    duck = await openDuckDb()
  })
  afterAll(() => duck.close())

  it('has typed cells', async () => {
    const select = `SELECT * FROM (VALUES
      ('=1+1', 1.5::DOUBLE, 7, DATE '2026-02-12', TIMESTAMP '2026-02-12 15:30:00', '{"a":1}'),
      (NULL, -0.1, 9007199254740993, DATE '1899-12-31', TIMESTAMP '10000-01-01 00:00:00', NULL))`
    const types = {
      text: 'VARCHAR',
      number: 'DOUBLE',
      whole: 'BIGINT',
      day: 'DATE',
      time: 'TIMESTAMP',
      json: 'JSON',
    } as const
    const rows = { name: 'sheet', columns: columns(types), select }
    expect(await loadSheetWriter()(duck.connection, path, rows)).toBe(2)
    expect(readCells(path)).toEqual({
      A1: 'text',
      B1: 'number',
      C1: 'whole',
      D1: 'day',
      E1: 'time',
      F1: 'json',
      A2: '=1+1',
      B2: 1.5,
      C2: 7,
      D2: [46_065],
      E2: [expect.closeTo(46_065.645833, 6)],
      F2: '{"a":1}',
      B3: -0.1,
      C3: '9007199254740993',
      D3: '1899-12-31',
      E3: '10000-01-01 00:00:00',
    })
    const sheet = readZip(readFileSync(path)).get('xl/worksheets/sheet1.xml')
    expect(sheet).toMatch(/<pane [^>]*ySplit="1"[^>]*state="frozen"/)
  })

  it('has texts that its format can have', async () => {
    const select = "SELECT 'a < b & \"c\"' || chr(1) AS text UNION ALL SELECT repeat('x', 40000)"
    await loadSheetWriter()(duck.connection, path, {
      name: 'sheet',
      columns: columns({ text: 'VARCHAR' }),
      select,
    })
    const { A2, A3 } = readCells(path)
    expect(A2).toBe('a &lt; b &amp; "c"')
    expect(A3).toBe('x'.repeat(32_767))
  })

  it('refuses more cells than it has room for', async () => {
    const rows = {
      name: 'candles',
      columns: columns({ a: 'BIGINT', b: 'BIGINT' }),
      select: 'SELECT 1, 2 FROM range(10)',
    }
    await expect(loadSheetWriter(20)(duck.connection, path, rows)).rejects.toThrow(
      'candles has more than the 20 cells of a workbook; query fewer columns as CSV, or read the lake',
    )
  })

  it('is named after a table or view', () => {
    expect(workbook('/srv/screener.xlsx', { streams }).name).toBe('/srv/screener.xlsx')
    expect(() => workbook('screenr.xlsx', { streams })).toThrow(
      'screenr.xlsx: unknown table screenr (did you mean screener?); name the file after a table',
    )
    expect(() => workbook('x/.xlsx', { streams })).toThrow(UsageError)
    expect(() => workbook('screener.xlsx', { streams, tables: ['deals'] })).toThrow('not among the chosen')
  })

  it('has the rows of a view, by symbol', async () => {
    const { out, remove } = await collected(12, 60)
    const target = join(out, 'deep/screener.xlsx')
    const written = await lastValueFrom(workbook(target, { streams }).write(out))
    expect(written).toMatchObject({ table: 'screener', rows: 12, leftOut: 0, isSkipped: false })
    const cells = readCells(target)
    const isin = Object.keys(cells).find((address) => cells[address] === 'isin') ?? ''
    const isins = Array.from({ length: 12 }, (_, row) => cells[isin.replace('1', String(row + 2))])
    const expected = await objectsOf('from screener order by symbol', out)
    expect(isins).toEqual(expected.map((row) => row.isin))
    expect(readdirSync(join(out, 'deep'))).toEqual(['screener.xlsx'])
    remove()
  })

  it('stays after a failure', async () => {
    const folder = folderWith({ 'master.xlsx': 'before' })
    const write = (name: string, out: string) =>
      lastValueFrom(workbook(join(folder, name), { streams }).write(out))
    await expect(write('master.xlsx', folderWith({ 'master_isin_map.json': '{"a"' }))).rejects.toThrow()
    await expect(write('master.xlsx', folderWith({}))).rejects.toThrow(UsageError)
    expect(readFileSync(join(folder, 'master.xlsx'), 'utf8')).toBe('before')
    mkdirSync(join(folder, 'candles.xlsx', 'x'), { recursive: true })
    const out = folderWith({
      'ohlcv_data/A.csv': 'Timestamp,Open,High,Low,Close,Volume\n1093372200,1,2,0.5,1.5,10\n',
    })
    await expect(write('candles.xlsx', out)).rejects.toThrow(StorageError)
    expect(readdirSync(folder).sort()).toEqual(['candles.xlsx', 'master.xlsx'])
    expect(existsSync(join(folder, 'candles.xlsx', 'x'))).toBe(true)
  })

  it('replaces the file of a table', async () => {
    const out = folderWith({
      'master_isin_map.json': [{ Symbol: 'A', ISIN: 'INE009A01021', Name: 'B & C', Sid: '7', FnoFlag: 1 }],
    })
    const target = join(out, 'x/master.xlsx')
    expect(await lastValueFrom(workbook(target, { streams }).write(out))).toMatchObject({
      table: 'master',
      rows: 1,
    })
    expect(Object.values(readCells(target))).toEqual([
      'symbol',
      'isin',
      'name',
      'sid',
      'fno',
      'extra',
      'as_of',
      'A',
      'INE009A01021',
      'B &amp; C',
      '7',
      1,
    ])
  })

  it('is not replaced once the export was stopped', async () => {
    const folder = folderWith({ 'a.txt': 'before' })
    const write = (temporary: string) => writeFile(temporary, 'after').then(() => 1)
    await expect(replaceExport(join(folder, 'a.txt'), write, { isStopped: () => true })).rejects.toThrow(
      'stopped',
    )
    expect(readdirSync(folder)).toEqual(['a.txt'])
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('before')
    await replaceExport(join(folder, 'a.txt'), write)
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('after')
  })
})
