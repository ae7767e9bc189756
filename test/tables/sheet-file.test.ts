import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inflateRawSync } from 'node:zlib'
import { lastValueFrom } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ShownColumn } from '../../src/model/table.js'
import { type DuckDb, openDuckDb } from '../../src/storage/duckdb.js'
import { replaceExport } from '../../src/tables/export/replace-file.js'
import { loadSheetWriter } from '../../src/tables/export/sheet-file.js'
import { tableFile } from '../../src/tables/export/table-file.js'
import { streams } from '../../streams/registry.js'
import { duckdb, folderWith } from './support.js'

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
      'candles has more than the 20 cells of a workbook; write candles.csv or candles.parquet',
    )
  })

  it('replaces the file of a table', async () => {
    const out = folderWith({
      'master_isin_map.json': [{ Symbol: 'A', ISIN: 'INE009A01021', Name: 'B & C', Sid: '7', FnoFlag: 1 }],
    })
    const target = join(out, 'x/master.xlsx')
    expect(await lastValueFrom(tableFile(target, { streams }).write(out))).toMatchObject({
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
