import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findDamages } from '../../../src/storage/history/check.js'
import { deleteDays, findDeletable } from '../../../src/storage/history/delete.js'
import { openHistory } from '../../../src/storage/history/record.js'
import { snapshotFolder } from '../../support/folders.js'
import { createRecorded, readVersion, record, storeVersion, toHistoryFolder } from './support.js'

const DAYS = ['2026-03-30', '2026-03-31', '2026-04-01', '2026-04-02'] as const
const NOW = Date.parse('2026-04-03T00:00:00Z')

const listDays = async (root: string): Promise<readonly string[]> =>
  (await openHistory(root)).records.map(({ day }) => day)
const listBases = (root: string): readonly string[] =>
  readdirSync(join(toHistoryFolder(root), 'bases')).map((name) => name.slice(0, -25))
const checkAll = async (root: string) => findDamages(await openHistory(root))
const bases = (day: string): readonly string[] => ['listed', 'prices'].map((table) => `${table}-${day}`)

describe('deleting from the history', () => {
  it('of one day leaves all others readable, and the bases that they need', async () => {
    const root = await createRecorded(...DAYS)
    const found = await findDeletable(root, { day: '2026-03-30' })
    expect(found.days).toEqual(['2026-03-30'])
    // The other lists of that quarter are changes of its bases.
    expect(found.files.map(({ path }) => path.split('/').at(-1)).sort()).toEqual([
      'about.parquet',
      'listed.parquet',
      'prices.parquet',
      'record.json',
    ])
    expect(found.files.every(({ bytes }) => bytes > 0)).toBe(true)
    expect(await listDays(root)).toEqual(DAYS)
    expect(await deleteDays(root, { day: '2026-03-30' }, NOW)).toEqual(found)
    expect(await listDays(root)).toEqual(DAYS.slice(1))
    for (const [index, day] of DAYS.entries())
      expect(await readVersion(root, day)).toBe(index === 0 ? undefined : index + 1)
    // The hole in the chain of records has a reason.
    expect(await checkAll(root)).toEqual([])
    expect((await openHistory(root)).deleted).toMatchObject([
      {
        number: 1,
        name: '2026-03-30/20260330T143000Z',
        lists: {},
        deleted: { at: '2026-04-03T00:00:00.000Z' },
      },
    ])
    expect(readdirSync(join(toHistoryFolder(root), '2026-03-30', '20260330T143000Z'))).toEqual([
      'record.json',
    ])
    await expect(deleteDays(root, { day: '2026-03-30' }, NOW)).rejects.toThrow(
      '2026-03-30 is not recorded in',
    )
  })

  it('of the days before a day takes the bases that only they need', async () => {
    const root = await createRecorded(...DAYS)
    expect(listBases(root).toSorted()).toEqual([...bases('2026-03-30'), ...bases('2026-04-01')].sort())
    const { days, files } = await deleteDays(root, { before: '2026-04-01' }, NOW)
    expect(days).toEqual(DAYS.slice(0, 2))
    expect(files.filter(({ path }) => path.includes('/bases/'))).toHaveLength(2)
    expect(listBases(root).toSorted()).toEqual(bases('2026-04-01'))
    expect(await readVersion(root, '2026-04-02')).toBe(4)
    expect(await checkAll(root)).toEqual([])
  })

  it('of the last day leaves a number that no later record gets', async () => {
    const root = await createRecorded(...DAYS)
    await deleteDays(root, { day: '2026-04-02' }, NOW)
    await record(root, '2026-04-02')
    expect((await openHistory(root)).records.map(({ number }) => number)).toEqual([1, 2, 3, 5])
    expect(await checkAll(root)).toEqual([])
  })

  it('of all days leaves a history that can be continued', async () => {
    const root = await createRecorded(...DAYS)
    await deleteDays(root, { before: '2027-01-01' }, NOW)
    expect([await listDays(root), listBases(root)]).toEqual([[], []])
    storeVersion(root, 9)
    expect(await record(root, '2026-04-03')).toBeUndefined()
    expect(await readVersion(root, '2026-04-03')).toBe(9)
    expect(await checkAll(root)).toEqual([])
  })

  it('refuses a day without a record, and changes nothing', async () => {
    const root = await createRecorded(DAYS[0])
    const before = snapshotFolder(toHistoryFolder(root))
    await expect(deleteDays(root, { day: '2026-04-02' }, NOW)).rejects.toThrow(
      '2026-04-02 is not recorded in',
    )
    expect(snapshotFolder(toHistoryFolder(root))).toEqual(before)
    expect(existsSync(join(root, '.scripstream', 'run.lock'))).toBe(false)
  })

  it('of nothing but unneeded bases keeps what any day needs', async () => {
    const root = await createRecorded(...DAYS)
    expect((await findDeletable(root, {})).files).toEqual([])
    const path = join(toHistoryFolder(root), 'bases', 'old-2025-01-01-0123456789abcdef.parquet')
    writeFileSync(path, 'x')
    // A kill may leave one; it is no damage.
    expect(await checkAll(root)).toEqual([])
    expect((await deleteDays(root, {}, NOW)).files).toEqual([
      { path: '.scripstream/history/bases/old-2025-01-01-0123456789abcdef.parquet', bytes: 1 },
    ])
    expect(existsSync(path)).toBe(false)
    expect(await readVersion(root, '2026-03-31')).toBe(2)
  })

  it('keeps all bases while another day is damaged, which a backup may restore', async () => {
    const root = await createRecorded(...DAYS)
    for (const day of DAYS.slice(2)) writeFileSync(toFacts(root, day), '{}')
    expect(
      (await findDeletable(root, { before: '2026-04-01' })).files.filter(({ path }) =>
        path.includes('/bases/'),
      ),
    ).toEqual([])
  })

  it('of a damaged day leaves a record without damages', async () => {
    const root = await createRecorded(...DAYS)
    writeFileSync(toFacts(root, '2026-03-31'), '{}')
    await deleteDays(root, { day: '2026-03-31' }, NOW)
    await record(root, '2026-04-03')
    expect(await checkAll(root)).toEqual([])
    expect(await readVersion(root, '2026-04-01')).toBe(3)
  })

  it('of the day that a base was copied from leaves a second file of the base', async () => {
    const root = await createRecorded(...DAYS.slice(0, 3), '2026-04-02')
    await deleteDays(root, { day: '2026-03-30' }, NOW)
    const folder = join(toHistoryFolder(root), 'bases')
    const copies = bases('2026-03-30').map((name) => `copy-${name}`)
    expect(listBases(root).toSorted()).toEqual(
      [...bases('2026-03-30'), ...bases('2026-04-01'), ...copies].sort(),
    )
    const [base = ''] = readdirSync(folder).filter((name) => name.startsWith('prices-2026-03-30'))
    for (const [damaged, other] of [
      [base, `copy-${base}`],
      [`copy-${base}`, base],
    ] as const) {
      const bytes = readFileSync(join(folder, damaged))
      writeFileSync(join(folder, damaged), 'x')
      expect(await readVersion(root, '2026-03-31')).toBe(2)
      expect(await checkAll(root)).toMatchObject([
        {
          file: `.scripstream/history/bases/${damaged}`,
          detail: expect.stringContaining(`bases/${other} is the same file`),
        },
      ])
      writeFileSync(join(folder, damaged), bytes)
    }
    // They go with the last day that needs the base.
    const { files } = await deleteDays(root, { day: '2026-03-31' }, NOW)
    expect(files.filter(({ path }) => path.includes('2026-03-30'))).toHaveLength(4)
    expect(listBases(root).toSorted()).toEqual(bases('2026-04-01'))
    expect(await checkAll(root)).toEqual([])
  })

  it('that a kill broke off is finished by the next run', async () => {
    const root = await createRecorded(...DAYS)
    const history = toHistoryFolder(root)
    await deleteDays(root, { day: '2026-03-31' }, NOW)
    const left = join(history, '2026-03-31', '20260331T143000Z', 'about.parquet')
    writeFileSync(left, 'x')
    expect(await checkAll(root)).toEqual([])
    await record(root, '2026-04-03')
    expect(existsSync(left)).toBe(false)
  })
})

const toFacts = (root: string, day: string): string => {
  const folder = join(toHistoryFolder(root), day)
  return join(folder, String(readdirSync(folder)[0]), 'record.json')
}

describe('a hole in the records', () => {
  it('may be a record in the folder of another day, which says where it belongs', async () => {
    const root = await createRecorded(...DAYS)
    renameSync(join(toHistoryFolder(root), '2026-03-31'), join(toHistoryFolder(root), '2026-03-29'))
    expect((await openHistory(root)).damages).toMatchObject([
      { day: '2026-03-29', detail: 'it belongs to 2026-03-31/20260331T143000Z' },
    ])
  })

  it('is named with the record that is missing', async () => {
    const root = await createRecorded(...DAYS)
    rmSync(join(toHistoryFolder(root), '2026-03-31'), { recursive: true })
    expect((await checkAll(root))[0]).toMatchObject({
      file: '.scripstream/history/2026-03-31/20260331T143000Z',
      detail: expect.stringContaining('was not deleted on request'),
    })
  })

  it('is named if the newest record is missing', async () => {
    const root = await createRecorded(...DAYS)
    rmSync(join(toHistoryFolder(root), '2026-04-02'), { recursive: true })
    expect((await checkAll(root))[0]).toEqual({
      day: '2026-04-02',
      file: '.scripstream/history/2026-04-02/20260402T143000Z',
      detail: expect.stringContaining('missing record: views.sql names it'),
    })
  })

  it.each<readonly [string, (root: string) => void]>([
    [
      'a record that was moved away',
      (root) => rmSync(join(toHistoryFolder(root), '2026-03-31'), { recursive: true }),
    ],
    [
      'the newest one that was moved away',
      (root) => rmSync(join(toHistoryFolder(root), '2026-04-02'), { recursive: true }),
    ],
    [
      'a folder under another day',
      (root) =>
        renameSync(join(toHistoryFolder(root), '2026-03-31'), join(toHistoryFolder(root), '2026-03-29')),
    ],
    [
      'a note of a deleted record that was edited',
      (root) => edit(join(toHistoryFolder(root), '2026-03-30/20260330T143000Z/record.json')),
    ],
    [
      'a note of a deleted record that is gone',
      (root) => rmSync(join(toHistoryFolder(root), '2026-03-30'), { recursive: true }),
    ],
    ['views.sql that was edited', (root) => edit(join(toHistoryFolder(root), 'views.sql'))],
    ['views.sql that is missing', (root) => rmSync(join(toHistoryFolder(root), 'views.sql'))],
    ['the README that was edited', (root) => edit(join(toHistoryFolder(root), 'README.md'))],
    ['a file of somebody else', (root) => writeFileSync(join(toHistoryFolder(root), 'notes.txt'), 'x')],
    [
      'a folder of somebody else in a day',
      (root) => mkdirSync(join(toHistoryFolder(root), '2026-03-31', 'copy')),
    ],
  ])('is noticed: %s', async (_, change) => {
    const root = await createRecorded(...DAYS)
    await deleteDays(root, { day: '2026-03-30' }, NOW)
    expect(await checkAll(root)).toEqual([])
    change(root)
    expect(await checkAll(root)).not.toEqual([])
  })
})

/** Changes one digit. */
const edit = (path: string): void =>
  writeFileSync(
    path,
    readFileSync(path, 'utf8').replace(/\d(?=\D*$)/, (digit) => (digit === '1' ? '2' : '1')),
  )
