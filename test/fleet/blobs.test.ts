import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  createBlobStore,
  decodeRows,
  encodeRows,
  loadRows,
  storeRows,
  toJobId,
  type WorkerOutcome,
} from '../../src/fleet/blobs.js'
import { createCsvCandles } from '../../src/market/candle-file.js'
import type { Candle } from '../../src/model/candle.js'
import type { ItemOutcome, RowList } from '../../src/model/outcome.js'
import { temporaryFolder } from '../support/folders.js'
import { createItem } from './support.js'

const LINES = '1770575400,1,2.50,0.5,1.1,100\n1770661800,1.1,3,1,2e-7,0\n'
const CANDLES = createCsvCandles(Buffer.from(LINES), 2)
const ROWS = [
  { Symbol: 'M&M', 'a "b"': 'ए\u2028é', 10: [1, null, 0.1], 2: {} },
  { __proto__: null, empty: '', deep: [{ x: [] }] },
]

const BY: Pick<WorkerOutcome, 'by' | 'requestCounts'> = { by: 'a', requestCounts: [1, 0, 0] }
const RUN = '20260212T143000Z-0001'

/** Stores an outcome as a worker and loads it as the driver; `meanwhile` can damage the blob in between. */
const thereAndBack = async (
  rows: RowList,
  meanwhile: (file: string) => void = () => undefined,
): Promise<ItemOutcome> => {
  const root = temporaryFolder()
  const blobs = createBlobStore(root)
  const item = createItem('M&M')
  const fetched: ItemOutcome = {
    item,
    status: 'success',
    rows,
    degraded: 'a page',
    whole: true,
    remark: 'new',
  }
  const stored = await storeRows('market-news', { run: RUN, item }, fetched, blobs)
  // The queue stores it as JSON.
  const outcome = JSON.parse(JSON.stringify({ ...BY, ...stored })) as WorkerOutcome
  expect(JSON.stringify(outcome).length).toBeLessThan(300)
  const folder = join(root, RUN, 'market-news')
  for (const name of readdirSync(folder).filter((one) => one.startsWith('M%26M-')))
    meanwhile(join(folder, name))
  return loadRows('market-news', { run: RUN, item }, outcome, blobs)
}

describe('storing and loading an outcome', () => {
  it('returns the same rows and all other fields', async () => {
    const { rows, ...rest } = await thereAndBack(ROWS)
    expect(JSON.stringify(rows)).toBe(JSON.stringify(ROWS))
    expect(rest).toEqual({
      item: createItem('M&M'),
      status: 'success',
      degraded: 'a page',
      whole: true,
      remark: 'new',
    })
  })

  it('returns CSV rows byte for byte', async () => {
    const { rows } = await thereAndBack(CANDLES)
    expect(Buffer.from(rows.csv ?? []).toString()).toBe(LINES)
    expect([...(rows as RowList<Candle>)]).toEqual([...CANDLES])
    expect(rows.length).toBe(2)
  })

  it('writes no blob for zero rows', async () => {
    const root = temporaryFolder()
    const item = createItem('A')
    const stored = await storeRows(
      's',
      { run: RUN, item },
      { item, status: 'empty', rows: [] },
      createBlobStore(root),
    )
    expect(stored).toEqual({ status: 'empty' })
    expect(readdirSync(root)).toEqual([])
    expect(await loadRows('s', { run: RUN, item }, { ...BY, ...stored }, createBlobStore(root))).toEqual({
      item,
      status: 'empty',
      rows: [],
    })
  })

  it.each([
    ['is missing', (file: string) => rmSync(file), /ENOENT/],
    ['is truncated', (file: string) => truncateSync(file, 7), /the file has 7 bytes instead of \d+/],
    ['is empty', (file: string) => writeFileSync(file, ''), /the file has 0 bytes/],
    ['has other content', (file: string) => writeFileSync(file, 'x'.repeat(statSync(file).size)), /JSON/],
    [
      'lacks a row',
      (file: string) => writeFileSync(file, '[0]'.padEnd(statSync(file).size)),
      /the file has 1 rows instead of 2/,
    ],
  ])('fails the item with a reason if the blob %s', async (_, meanwhile, words) => {
    const outcome = await thereAndBack(ROWS, meanwhile)
    expect(outcome).toMatchObject({ item: createItem('M&M'), status: 'error', code: 'storage', rows: [] })
    expect(outcome.reason).toMatch(/^cannot read the rows of worker a from the shared folder: /)
    expect(outcome.reason).toMatch(words)
  })
})

describe('encoding rows', () => {
  it('decodes what it encoded, and rejects a wrong number of rows', () => {
    const { form, bytes } = encodeRows(ROWS)
    expect(form).toBe('json')
    expect(decodeRows(Buffer.from(bytes), form, 2)).toEqual(JSON.parse(JSON.stringify(ROWS)))
    expect(() => decodeRows(Buffer.from(bytes), form, 3)).toThrow('the file has 2 rows instead of 3')
  })
})

describe('blobs', () => {
  it('are written atomically over an existing file, without leftover files', async () => {
    const root = temporaryFolder()
    const blobs = createBlobStore(root)
    await blobs.write('run/stream/a', Buffer.from('first'))
    await Promise.all(
      Array.from({ length: 20 }, (_, place) =>
        blobs.write('run/stream/a', Buffer.from(`${place}`.repeat(1_000))),
      ),
    )
    expect(readdirSync(join(root, 'run', 'stream'))).toEqual(['a'])
    expect(readFileSync(join(root, 'run', 'stream', 'a')).length).toBeGreaterThan(999)
    expect(new Set((await blobs.read('run/stream/a')).toString()).size).toBeLessThanOrEqual(2)
  })

  it('are written again after their folder was removed', async () => {
    const root = temporaryFolder()
    const blobs = createBlobStore(root)
    await blobs.write('run/stream/a', Buffer.from('first'))
    await blobs.removeRun('run')
    expect(readdirSync(root)).toEqual([])
    await expect(blobs.write('run/stream/a', Buffer.from('second'))).rejects.toMatchObject({ code: 'ENOENT' })
    await blobs.write('run/stream/a', Buffer.from('second'))
    expect((await blobs.read('run/stream/a')).toString()).toBe('second')
  })
})

describe('the job id of an item', () => {
  it('is not a number, has no colon, and is unique', () => {
    const names = ['1', '0', 'A', 'a', 'M&M', 'A:B', 'A%3AB', 'A/B', 'ए', 'all']
    const ids = names.map((name) => toJobId({ item: createItem(name) }))
    expect(new Set(ids).size).toBe(names.length)
    for (const id of ids) expect(id).toMatch(/^i[^:]+$/)
  })
})

describe('removing a run', () => {
  it('removes all its files and nothing outside of its folder', async () => {
    const [root, elsewhere] = [temporaryFolder(), temporaryFolder()]
    const folder = join(root, RUN, 'market-news')
    mkdirSync(folder, { recursive: true })
    for (let place = 0; place < 150; place += 1) writeFileSync(join(folder, `${place}`), '')
    for (const kept of [join(elsewhere, 'kept'), join(root, 'kept')]) writeFileSync(kept, '')
    symlinkSync(elsewhere, join(root, RUN, 'linked'))
    symlinkSync(elsewhere, join(root, 'link'))
    for (const run of [RUN, RUN, 'link', 'never was', '', '.', '..', '../..'])
      await createBlobStore(root).removeRun(run)
    expect(readdirSync(root)).toEqual(['kept'])
    expect(existsSync(join(elsewhere, 'kept'))).toBe(true)
  })
})
