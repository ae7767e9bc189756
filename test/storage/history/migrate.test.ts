import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { disk } from '../../../src/storage/disk.js'
import { migrateDays } from '../../../src/storage/former-history/migrate.js'
import { findDamages } from '../../../src/storage/history/check.js'
import { readSeen } from '../../../src/storage/history/first-seen.js'
import { writeGuide } from '../../../src/storage/history/guide.js'
import { openHistory } from '../../../src/storage/history/record.js'
import { createFormer, DAYS, EXPECTED, expectMigrated, listFormer, REQUEST, readExpected, readMigrated } from './former.js'
import { toHistoryFolder } from './support.js'

const migrate = async (root: string): Promise<readonly string[]> => {
  const warnings: string[] = []
  await migrateDays(root, REQUEST, (text) => warnings.push(text))
  return warnings
}

const replace = (path: string, change: (bytes: Buffer) => Buffer): void => writeFileSync(path, change(readFileSync(path)))
const toDayFile = (root: string, day: string): string => join(toHistoryFolder(root), `${day}.day`)
/** Changes the last byte of a text in the file, or of the file. */
const damage = (bytes: Buffer): Buffer => Buffer.concat([bytes.subarray(0, -1), Buffer.from([(bytes.at(-1) ?? 0) ^ 1])])

describe('days of the former format', () => {
  it('become records with the same rows of every list, and only then their files are deleted', async () => {
    const root = createFormer()
    expect(await migrate(root)).toEqual([])
    await expectMigrated(root)
    expect(listFormer(root)).toEqual([])
    const { records } = await openHistory(root)
    expect(records.map(({ day, timing, knownAt }) => `${day} ${timing} ${knownAt.slice(0, 16)}`)).toEqual([
      '2026-02-03 final 2026-02-03T14:00',
      '2026-02-04 final 2026-02-04T14:00',
      '2026-02-05 final 2026-02-05T14:00',
      '2026-02-05 final 2026-02-05T16:30',
      '2026-02-06 late 2026-02-09T14:00',
      '2026-02-06 final 2026-02-07T06:00',
    ])
  })

  it('keep when each list was known, and the keys of new records and replaced candles', async () => {
    const root = createFormer()
    await migrate(root)
    const history = await openHistory(root)
    for (const { lists, knownAt, migrated } of history.records)
      for (const name of Object.keys(lists)) {
        const { table } = REQUEST.tables.find((one) => one.table.name === name) ?? {}
        const files = table?.files.flatMap(({ path }) => EXPECTED[String(migrated?.name.slice(0, 10))]?.[path]?.knownAt ?? []) ?? []
        expect(files.sort().at(-1)).toBe(knownAt)
      }
    const seen = DAYS.flatMap((day) => {
      const keys = (EXPECTED[day]?.['.first-seen']?.content ?? {}) as Readonly<Record<string, readonly string[] | 'all'>>
      return Object.entries(keys).flatMap(([file, own]) => [own].flat().map((key) => ({ file, key, day })))
    })
    expect(seen.length).toBeGreaterThan(9)
    const found = await readSeen(history, (text) => expect.fail(text))
    expect(found.map((row) => JSON.stringify(row)).sort()).toEqual(seen.map((row) => JSON.stringify(row)).sort())
    expect(history.records.flatMap(({ rewritten = [] }) => rewritten)).toMatchObject([
      { day: '2026-02-05', stream: 'all-ohlcv', item: 'S10', reason: 'a split of 10:1' },
    ])
  })

  it('leave a record without damages once a run has written its views', async () => {
    const root = createFormer()
    await migrate(root)
    await writeGuide(await openHistory(root))
    expect(await findDamages(await openHistory(root))).toEqual([])
  })

  it.each<readonly [string, (root: string) => void]>([
    ['a header that is no JSON', (root) => replace(toDayFile(root, '2026-02-04'), (bytes) => bytes.subarray(1))],
    ['a header of another day', (root) => cpSync(toDayFile(root, '2026-02-05'), toDayFile(root, '2026-02-04'))],
    [
      'a header with a time that is none',
      (root) =>
        replace(toDayFile(root, '2026-02-04'), (bytes) => {
          const at = bytes.indexOf('"knownAt":"2026') + 11
          return Buffer.concat([bytes.subarray(0, at), Buffer.from('x'), bytes.subarray(at + 1)])
        }),
    ],
    ['no bytes', (root) => writeFileSync(toDayFile(root, '2026-02-04'), '')],
  ])('with %s are kept and named, and the others are moved', async (_, change) => {
    const root = createFormer()
    change(root)
    const before = readFileSync(toDayFile(root, '2026-02-04'))
    for (let run = 0; run < 2; run++)
      expect((await migrate(root)).join()).toMatch(/2026-02-04\.day could not be moved to the present format: none of it can be read/)
    expect(readFileSync(toDayFile(root, '2026-02-04'))).toEqual(before)
    expect(listFormer(root).length).toBeGreaterThan(8)
    await expectMigrated(
      root,
      DAYS.filter((day) => day !== '2026-02-04'),
    )
    expect((await openHistory(root)).records).toHaveLength(5)
  })

  it('with a damaged entry are kept and named, and their other lists are moved', async () => {
    const root = createFormer()
    replace(toDayFile(root, '2026-02-05'), (bytes) => {
      // Of one of the two files of a table.
      const header = JSON.parse(bytes.toString('utf8', 0, bytes.indexOf('\n'))) as { entries: { name: string; length: number }[] }
      const at = header.entries.findIndex(({ name }) => name === 'nse_asm_list.json')
      const from = header.entries.slice(0, at + 1).reduce((sum, { length }) => sum + length, bytes.indexOf('\n') + 1)
      return Buffer.concat([damage(bytes.subarray(0, from)), bytes.subarray(from)])
    })
    const text = (await migrate(root)).join('; ')
    expect(text).toContain('2026-02-05: nse_asm_list.json: its entry of nse_asm_list.json is damaged')
    expect(text).toMatch(/2026-02-05\.day: nse_asm_list\.json could not be moved/)
    const expected = new Map(await readExpected('2026-02-05'))
    const migrated = await readMigrated(root, '2026-02-05')
    // Half of the list would say that the rows of the other half had gone.
    expect(migrated.has('surveillance')).toBe(false)
    expected.delete('surveillance')
    expect(migrated).toEqual(expected)
    expect(listFormer(root)).toContain('2026-02-05.day')
    const stored = (await openHistory(root)).records.length
    await migrate(root)
    expect((await openHistory(root)).records).toHaveLength(stored)
  })

  it('with damaged keys of new records are kept and named', async () => {
    const root = createFormer()
    replace(toDayFile(root, '2026-02-04'), damage)
    expect((await migrate(root)).join('; ')).toMatch(/2026-02-04\.day: \.first-seen could not be moved/)
    await expectMigrated(root)
  })

  it('whose base is damaged or missing are kept and named', async () => {
    for (const change of [(path: string) => replace(path, damage), (path: string) => rmSync(path)]) {
      const root = createFormer()
      const base = listFormer(root).find((name) => name.includes('master_isin_map')) ?? ''
      const path = join(toHistoryFolder(root), base)
      const bytes = readFileSync(path)
      change(path)
      const text = (await migrate(root)).join('; ')
      for (const day of DAYS) expect(text).toContain(`${day}.day: master_isin_map.json could not be moved`)
      expect(listFormer(root).filter((name) => name.endsWith('.day'))).toHaveLength(DAYS.length)
      const { records } = await openHistory(root)
      expect(records.every(({ lists }) => Object.keys(lists).length > 0)).toBe(true)
      // The base is restored from a backup: what it lacked is moved, too.
      writeFileSync(path, bytes)
      expect(await migrate(root)).toEqual([])
      await expectMigrated(root)
      expect(listFormer(root)).toEqual([])
    }
  })

  it('of which only some were moved when a run was killed are moved by the next one', async () => {
    for (let step = 1; step <= 40; step += 6) {
      const root = createFormer()
      let calls = 0
      const { rename } = disk
      const spy = vi.spyOn(disk, 'rename').mockImplementation((from, to) => {
        if (++calls >= step) throw new Error('killed')
        return rename(from, to)
      })
      await migrate(root)
      spy.mockRestore()
      expect(await migrate(root)).toEqual([])
      await expectMigrated(root)
      expect(listFormer(root)).toEqual([])
      expect((await openHistory(root)).records).toHaveLength(6)
    }
  }, 120_000)
})
