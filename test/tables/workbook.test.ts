import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inflateRawSync } from 'node:zlib'
import { lastValueFrom } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listTables } from '../../src/engine/define-stream.js'
import { StorageError, UsageError } from '../../src/model/errors.js'
import { listColumns, type ShownColumn } from '../../src/model/table.js'
import { type DuckDb, openDuckDb } from '../../src/storage/duckdb.js'
import { replaceExport } from '../../src/tables/export/replace-file.js'
import { loadSheetWriter, workbook } from '../../src/tables/export/workbook.js'
import { listViews } from '../../src/tables/views/index.js'
import { streams } from '../../streams/registry.js'
import { collected, duckdb, folderWith, objectsOf, rowsOf } from './support.js'

const hasOffice = spawnSync('soffice', ['--version']).status === 0

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
    const warnings: string[] = []
    const select =
      "SELECT 'a < b & \"c\"' || chr(1) AS text UNION ALL SELECT repeat('x', 40000) UNION ALL SELECT repeat('x', 32766) || chr(128512)"
    await loadSheetWriter()(duck.connection, path, {
      name: 'sheet',
      columns: columns({ text: 'VARCHAR' }),
      select,
      warn: (text) => warnings.push(text),
    })
    const { A2, A3, A4 } = readCells(path)
    expect(A4).toBe('x'.repeat(32_766))
    expect(warnings).toEqual([
      'sheet: 2 texts of text cut after 32767 characters, the most that a cell can have',
    ])
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

  it('refuses more rows than a sheet has, before it writes', async () => {
    const rows = { name: 'days', columns: columns({ a: 'BIGINT' }), select: 'SELECT 1 FROM range(1048576)' }
    const target = join(folderWith({}), 'days.xlsx')
    await expect(loadSheetWriter()(duck.connection, target, rows)).rejects.toThrow(
      'days has more than the 1048576 cells of a workbook',
    )
    expect(existsSync(target)).toBe(false)
  })

  it.skipIf(!hasOffice)(
    `has the values of query in LibreOffice${hasOffice ? '' : ' (skipped: no soffice)'}`,
    async () => {
      const { out, remove } = await collected(12, 60)
      const folder = folderWith({})
      const names = ['screener', 'events', 'deals', 'announcements']
      for (const name of names)
        await lastValueFrom(workbook(join(folder, `${name}.xlsx`), { streams }).write(out))
      // Values as they are, not as they are shown; sheets of 76: UTF-8.
      const filter = 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false'
      const books = names.map((name) => join(folder, `${name}.xlsx`))
      const profile = `-env:UserInstallation=file://${join(folder, 'profile')}`
      const args = [profile, '--headless', '--convert-to', filter, '--outdir', folder, ...books]
      expect(spawnSync('soffice', args).status).toBe(0)
      const tables = listTables(streams)
      for (const table of [...tables, ...listViews(tables)].filter(({ name }) => names.includes(name))) {
        const types = listColumns(table).map(({ name, type }) => `'${name}': '${type}'`)
        const read = `read_csv('${join(folder, table.name)}.csv', header = true, columns = {${types.join(', ')}, 'as_of': 'DATE'})`
        // Both programs keep 15 digits of a number, and show whole seconds.
        const plain = (name: string, type: string): string => {
          if (type === 'TIMESTAMP') return `date_trunc('second', ${name})`
          return type === 'DOUBLE' ? `format('{:.12g}', ${name})` : name
        }
        const list = listColumns(table)
          .map(({ name, type }) => `CAST(${plain(name, type)} AS VARCHAR)`)
          .join(', ')
        const inOffice = await duck.connection.runAndReadAll(`SELECT ${list} FROM ${read} ORDER BY ALL`)
        const asked = await rowsOf(`SELECT ${list} FROM ${table.name} ORDER BY ALL`, out)
        const texts = inOffice.getRows()
        expect(texts, table.name).toEqual(asked.map((row) => row.map((text) => text || null)))
        expect(texts.length, table.name).toBeGreaterThan(0)
      }
      remove()
    },
  )

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
