import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { RewrittenFile } from '../../../src/model/report.js'
import { disk } from '../../../src/storage/disk.js'
import { findDamages } from '../../../src/storage/history/check.js'
import { listListedDays } from '../../../src/storage/history/choose.js'
import { readSeen as readAll } from '../../../src/storage/history/first-seen.js'
import { openHistory } from '../../../src/storage/history/record.js'
import { snapshotFolder, temporaryFolder } from '../../support/folders.js'
import { readRecordedList } from '../../support/history.js'
import {
  createRecorded,
  type Given,
  HISTORY,
  readVersion,
  record,
  storeSessions,
  storeVersion,
  toHistoryFolder,
} from './support.js'

const file = (item: string, reason: string): RewrittenFile => ({ item, reason })

const readSeen = async (root: string): Promise<readonly object[]> =>
  readAll(await openHistory(root), (text) => expect.fail(text))

/** The records as `day time timing`. */
const listRecords = async (root: string): Promise<readonly string[]> =>
  (await openHistory(root)).records.map(
    ({ day, knownAt, timing }) => `${day} ${knownAt.slice(0, 16)} ${timing}`,
  )

afterEach(() => void vi.restoreAllMocks())

describe('the record of a day', () => {
  it('has the rows of every list, of every day', async () => {
    const root = await createRecorded('2026-02-09', '2026-02-10')
    for (const [day, version] of [['2026-02-09', 1] as const, ['2026-02-10', 2] as const])
      for (const table of ['prices', 'listed', 'about'])
        expect(await readVersion(root, day, table)).toBe(version)
    expect(await findDamages(await openHistory(root))).toEqual([])
  })

  it('keeps what the first run of an evening knew, and stores what a second one knows beside it', async () => {
    const root = await createRecorded('2026-02-09')
    const before = snapshotFolder(toHistoryFolder(root))
    storeVersion(root, 2)
    expect(await record(root, '2026-02-09', { at: '2026-02-09T17:00:00.000Z' })).toBeUndefined()
    expect(await listRecords(root)).toEqual([
      '2026-02-09 2026-02-09T14:30 final',
      '2026-02-09 2026-02-09T17:00 final',
    ])
    expect(await readVersion(root, '2026-02-09')).toBe(1)
    const kept = Object.keys(before).filter((name) => /\d{4}.*\.|^bases\//.test(name))
    expect(kept.length).toBeGreaterThan(3)
    const after = snapshotFolder(toHistoryFolder(root))
    for (const name of kept) expect(after[name], name).toBe(before[name])
  })

  it('is not stored again by a second run that knows the same', async () => {
    const root = await createRecorded('2026-02-09')
    await record(root, '2026-02-09', { at: '2026-02-09T17:00:00.000Z' })
    expect(await listRecords(root)).toHaveLength(1)
  })

  it('is that of the evening, not that of a run during the session', async () => {
    const root = temporaryFolder()
    storeVersion(root, 1)
    await record(root, '2026-02-09', { at: '2026-02-09T05:00:00.000Z' })
    expect(await readVersion(root, '2026-02-09')).toBe(1)
    storeVersion(root, 2)
    await record(root, '2026-02-09')
    expect(await readVersion(root, '2026-02-09')).toBe(2)
  })

  it('stays as it was if a run with an earlier --as-of, or a clock behind, comes later', async () => {
    const root = temporaryFolder()
    storeSessions(root, ['2026-02-04', '2026-02-10', '2026-02-12'])
    for (const [day, version] of [['2026-02-04', 1] as const, ['2026-02-12', 2] as const]) {
      storeVersion(root, version)
      await record(root, day)
    }
    storeVersion(root, 9)
    // --as-of 2026-02-04 on the evening of 02-12; a clock that is two and eight days behind.
    await record(root, '2026-02-04', { at: '2026-02-12T15:00:00.000Z' })
    await record(root, '2026-02-10')
    await record(root, '2026-02-04', { at: '2026-02-04T15:00:00.000Z' })
    expect(await readVersion(root, '2026-02-04')).toBe(1)
    expect(await readVersion(root, '2026-02-12')).toBe(2)
    const records = await listRecords(root)
    expect(
      records.slice(2).filter((line) => !line.endsWith('late') && !line.startsWith('2026-02-12')),
    ).toEqual([])
    expect(records).toContain('2026-02-10 2026-02-12T14:30 late')
    expect(await findDamages(await openHistory(root))).toEqual([])
  })

  it('is that of the newest session if the clock is years ahead', async () => {
    const root = temporaryFolder()
    storeSessions(root, ['2026-02-11', '2026-02-12'])
    storeVersion(root, 1)
    await record(root, '2036-02-12')
    expect(readdirSync(toHistoryFolder(root)).filter((name) => /^\d/.test(name))).toEqual(['2026-02-12'])
  })

  it('is not used once a run without fresh candles turns out to have had a clock years ahead', async () => {
    const root = temporaryFolder()
    const partial = { outcomes: { lists: 'partial' } } as const
    storeSessions(root, ['2026-02-12'])
    storeVersion(root, 1)
    await record(root, '2026-02-12')
    storeVersion(root, 2)
    expect(await record(root, '2036-02-13', partial)).toMatch(
      /^check the clock: .*2026-02-12.*delete 2036-02-13 from the history$/,
    )
    expect(await readVersion(root, '2036-02-13')).toBe(2)
    storeVersion(root, 3)
    expect(await record(root, '2026-02-13', partial)).toMatch(
      /^the clock was ahead when 2036-02-13 was recorded/,
    )
    expect(listListedDays(await openHistory(root))).toEqual(['2026-02-12', '2026-02-13'])
    expect(await readVersion(root, '2036-02-13')).toBeUndefined()
    const views = readFileSync(join(toHistoryFolder(root), 'views.sql'), 'utf8')
    expect(views).toContain("WHEN as_of_day() >= DATE '2026-02-13'")
    expect(views).not.toContain('2036-02-13')
    expect(await record(root, '2026-02-16', partial)).toBeUndefined()
    expect(await findDamages(await openHistory(root))).toEqual([])
  })

  it('is left out of views.sql with its table if no other day has one', async () => {
    const root = temporaryFolder()
    storeSessions(root, ['2026-02-12'])
    storeVersion(root, 1)
    await record(root, '2026-02-12', { outcomes: { prices: 'partial' } })
    await record(root, '2036-02-13', { outcomes: { lists: 'partial' } })
    storeVersion(root, 2)
    storeSessions(root, ['2026-02-12', '2026-02-13'])
    await record(root, '2026-02-13', { outcomes: { prices: 'partial' } })
    const views = readFileSync(join(toHistoryFolder(root), 'views.sql'), 'utf8')
    expect(views).toContain('"listed"')
    expect(views).not.toContain('"prices"')
    expect(await findDamages(await openHistory(root))).toEqual([])
  })

  it('is used after a long pause, also without fresh candles', async () => {
    const root = temporaryFolder()
    storeSessions(root, ['2026-02-12'])
    for (const [version, day] of ['2026-02-12', '2026-04-13', '2026-04-14', '2026-04-15'].entries()) {
      storeVersion(root, version)
      if (day === '2026-04-15') storeSessions(root, ['2026-02-12', day])
      const warning = await record(root, day, day === '2026-04-15' ? {} : { outcomes: { lists: 'partial' } })
      expect(warning).toEqual(
        day === '2026-04-13'
          ? expect.stringMatching(/^check the clock: .*If the clock is right, ignore this/)
          : undefined,
      )
    }
    for (const [version, day] of ['2026-02-12', '2026-04-13', '2026-04-14', '2026-04-15'].entries())
      if (version > 0) expect(await readVersion(root, day)).toBe(version)
  })

  it('is that of a partial run of the evening, whatever a complete run finds on the weekend', async () => {
    const root = temporaryFolder()
    storeSessions(root, ['2026-02-12'])
    storeVersion(root, 1)
    await record(root, '2026-02-13', { outcomes: { lists: 'partial' }, at: '2026-02-13T12:30:00.000Z' })
    storeSessions(root, ['2026-02-12', '2026-02-13'])
    storeVersion(root, 2)
    await record(root, '2026-02-13', { at: '2026-02-15T04:30:00.000Z' })
    expect(await listRecords(root)).toEqual([
      '2026-02-13 2026-02-13T12:30 final',
      '2026-02-13 2026-02-15T04:30 final',
    ])
    expect(await readVersion(root, '2026-02-13')).toBe(1)
  })

  it('of another day has only the lists that follow --as-of, unless --record-late is given', async () => {
    const tables = HISTORY.tables.map((one) => ({ ...one, followsAsOf: one.stream === 'prices' }))
    const root = temporaryFolder()
    storeSessions(root, ['2026-02-10', '2026-02-12'])
    storeVersion(root, 1)
    const at = '2026-02-12T14:30:00.000Z'
    await record(root, '2026-02-10', { at, history: { tables } })
    expect(await readVersion(root, '2026-02-10', 'prices')).toBe(1)
    expect(await readVersion(root, '2026-02-10', 'about')).toBeUndefined()
    await record(root, '2026-02-10', { at, history: { tables, isLateAllowed: true } })
    expect(await readVersion(root, '2026-02-10', 'about')).toBe(1)
    expect(
      (await listRecords(root)).filter((line) => line.startsWith('2026-02-10')).map((line) => line.slice(-4)),
    ).toEqual(['late', 'late'])
  })

  it('belongs to the session before if no list that changes daily has changed', async () => {
    const root = temporaryFolder()
    storeSessions(root, ['2026-02-12'])
    storeVersion(root, 1)
    await record(root, '2026-02-12')
    // A holiday that no file names.
    await record(root, '2026-02-13')
    expect(existsSync(join(toHistoryFolder(root), '2026-02-13'))).toBe(false)
    storeVersion(root, 2)
    await record(root, '2026-02-13')
    expect(await readVersion(root, '2026-02-13')).toBe(2)
  })

  it.each<readonly [string, Given]>([
    ['lost items', { outcomes: { prices: 'partial' } }],
    ['lacks items of an earlier run', { missing: { prices: 3 } }],
    ['requested some stocks only', { chosen: { symbols: ['S1'] } }],
    ['requested some items only', { chosen: { pairs: { prices: ['S1'] } } }],
  ])('leaves out a list whose stream %s, and keeps the others', async (_, given) => {
    const root = await createRecorded('2026-02-09')
    storeVersion(root, 2)
    await record(root, '2026-02-10', given)
    expect(await readVersion(root, '2026-02-10', 'prices')).toBeUndefined()
    expect(await readVersion(root, '2026-02-10', 'about')).toBe(2)
    expect(await readVersion(root, '2026-02-09', 'prices')).toBe(1)
  })

  it('gains the lists that a retry of what was missing completes', async () => {
    const root = temporaryFolder()
    storeVersion(root, 1)
    await record(root, '2026-02-09', { outcomes: { prices: 'partial' } })
    expect(await readVersion(root, '2026-02-09')).toBeUndefined()
    const at = '2026-02-09T16:00:00.000Z'
    await record(root, '2026-02-09', { chosen: { pairs: { prices: ['S1'] } }, isPartOfEnded: true, at })
    expect(await readVersion(root, '2026-02-09')).toBe(1)
    expect(await readVersion(root, '2026-02-09', 'listed')).toBe(1)
  })

  it('lists the candle files that each run of the day replaced', async () => {
    const root = await createRecorded('2026-02-09')
    const runs: readonly NonNullable<Given['rewritten']>[] = [
      { prices: [file('A', 'first'), file('B', 'first')], lists: [file('X', 'first')] },
      { prices: [file('B', 'second')] },
      {},
    ]
    for (const [index, rewritten] of runs.entries())
      await record(root, '2026-02-10', { rewritten, at: `2026-02-10T${14 + index}:00:00.000Z` })
    const row = (stream: string, item: string, reason: string, hour: string) => ({
      day: '2026-02-10',
      known_at: `2026-02-10 ${hour}:00`,
      stream,
      item,
      reason,
    })
    expect((await openHistory(root)).records.flatMap(({ rewritten = [] }) => rewritten)).toEqual([
      row('prices', 'A', 'first', '19:30'),
      row('prices', 'B', 'first', '19:30'),
      row('lists', 'X', 'first', '19:30'),
      row('prices', 'B', 'second', '20:30'),
    ])
  })

  it('lacks a damaged list, with a warning, and a missing one', async () => {
    const root = await createRecorded('2026-02-09')
    storeVersion(root, 2)
    writeFileSync(join(root, 'prices.json'), '[{')
    rmSync(join(root, 'about.json'))
    expect(await record(root, '2026-02-10')).toMatch(/prices was not recorded: prices\.json is damaged/)
    expect(await readVersion(root, '2026-02-10', 'listed')).toBe(2)
    expect(await readVersion(root, '2026-02-10', 'prices')).toBeUndefined()
    expect(await readVersion(root, '2026-02-10', 'about')).toBeUndefined()
  })

  it('has U+FFFD for half a character of a text', async () => {
    const root = temporaryFolder()
    storeVersion(root, 1)
    writeFileSync(
      join(root, 'prices.json'),
      '[{"Symbol":"S\\ud83d","Note":"\\ud83d\\ude42","More":["\\udc00","\\\\ud83d"]}]',
    )
    expect(await record(root, '2026-02-09')).toBeUndefined()
    expect(await readRecordedList(root, 'prices', '2026-02-09')).toMatchObject([
      { symbol: 'S\ufffd', price: null, note: '🙂', extra: '{"More":["\ufffd","\\\\ud83d"]}' },
    ])
  })
})

describe('recording', () => {
  it.each(['openSync', 'writeSync', 'fdatasync', 'renameSync', 'rename'] as const)(
    'never fails a run: it warns, and the earlier records stay, if the disk fails at %s',
    async (call) => {
      const root = await createRecorded('2026-02-09')
      const before = snapshotFolder(toHistoryFolder(root))
      storeVersion(root, 2)
      vi.spyOn(disk, call).mockImplementation(() => {
        throw Object.assign(new Error('no'), { code: 'ENOSPC' })
      })
      expect(await record(root, '2026-02-10')).toBe(
        'this day could not be added to the history: the disk is full',
      )
      vi.restoreAllMocks()
      const after = snapshotFolder(toHistoryFolder(root))
      for (const [name, state] of Object.entries(before))
        if (!state.endsWith('folder')) expect(after[name]).toBe(state)
      expect(Object.keys(after).filter((name) => name.includes('record.json'))).toHaveLength(1)
      expect(await findDamages(await openHistory(root))).toEqual([])
      expect(await record(root, '2026-02-10')).toBeUndefined()
      expect(await readVersion(root, '2026-02-10')).toBe(2)
    },
  )

  it('uses the copy of a damaged base in the record of its day, and says so', async () => {
    const root = await createRecorded('2026-02-09', '2026-02-10')
    const bases = join(toHistoryFolder(root), 'bases')
    for (const name of readdirSync(bases)) writeFileSync(join(bases, name), 'x')
    storeVersion(root, 3)
    expect(await record(root, '2026-02-11')).toMatch(
      /bases\/prices-2026-02-09-\w+\.parquet is damaged; .* is the same file, and is read instead/,
    )
    for (const [index, day] of ['2026-02-09', '2026-02-10', '2026-02-11'].entries())
      expect(await readVersion(root, day)).toBe(index + 1)
    // No base of the same content is added.
    expect(readdirSync(bases)).toHaveLength(2)
  })

  it('begins with a new base if both copies of one are damaged, and warns', async () => {
    const root = await createRecorded('2026-02-09')
    const { records } = await openHistory(root)
    const bases = join(toHistoryFolder(root), 'bases')
    for (const name of readdirSync(bases)) writeFileSync(join(bases, name), 'x')
    for (const { name } of records) writeFileSync(join(toHistoryFolder(root), name, 'prices.parquet'), 'x')
    await expect(readVersion(root, '2026-02-09')).rejects.toThrow('is damaged')
    storeVersion(root, 2)
    expect(await record(root, '2026-02-10')).toMatch(/prices\.parquet is damaged; restore it from a backup/)
    expect(await readVersion(root, '2026-02-10')).toBe(2)
  })

  it('does not hide what a clock that was ahead saw first until the day of that clock', async () => {
    const root = folderWithNews({ 'A.json': news('one') }, { 'A.json': news('one', 'two') })
    storeSessions(root, ['2026-02-12'])
    for (const [version, day] of ['2026-02-12', '2036-02-13'].entries()) {
      storeVersion(root, version)
      await record(root, day, { outcomes: { lists: 'partial' } })
    }
    expect((await readSeen(root)).length).toBeGreaterThan(0)
    storeVersion(root, 3)
    await record(root, '2026-02-13', { outcomes: { lists: 'partial' } })
    expect(await readSeen(root)).not.toContainEqual(expect.objectContaining({ day: '2036-02-13' }))
  })

  it('is not stopped by a damaged file with the keys of new records', async () => {
    const root = folderWithNews({ 'A.json': news('one') }, { 'A.json': news('one', 'two') })
    storeVersion(root, 1)
    await record(root, '2026-02-10')
    const [one] = (await openHistory(root)).records
    writeFileSync(join(toHistoryFolder(root), String(one?.name), 'first-seen.parquet'), 'x')
    storeVersion(root, 2)
    expect(await record(root, '2026-02-10', { at: '2026-02-10T16:00:00.000Z' })).toMatch(
      /first-seen\.parquet is damaged/,
    )
    expect(await listRecords(root)).toHaveLength(2)
  })

  it('begins each quarter with a base of its own', async () => {
    const root = await createRecorded('2026-03-30', '2026-03-31', '2026-04-01', '2026-04-02')
    expect(readdirSync(join(toHistoryFolder(root), 'bases')).map((name) => name.slice(0, -25))).toEqual(
      // The only row of the third list changes each day.
      ['listed', 'prices'].flatMap((table) => [`${table}-2026-03-30`, `${table}-2026-04-01`]),
    )
  })

  it('deletes the temporary files of a killed run', async () => {
    const root = await createRecorded('2026-02-09')
    const history = toHistoryFolder(root)
    writeFileSync(join(history, '.views.sql.01234567-0123-0123-0123-0123456789ab.tmp'), 'x')
    mkdirSync(join(history, 'work-abc'))
    writeFileSync(join(history, 'work-abc', 'record.json'), 'x')
    expect(await findDamages(await openHistory(root))).toEqual([])
    await record(root, '2026-02-10')
    expect(readdirSync(history).filter((name) => name.endsWith('.tmp') || name.startsWith('work-'))).toEqual(
      [],
    )
  })
})

const news = (...titles: readonly string[]): string =>
  JSON.stringify({ News: titles.map((Title, At) => ({ Title, At })) })

/** A folder in which a run has replaced the news of some stocks. */
const folderWithNews = (
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): string => {
  const root = temporaryFolder()
  const previous = join(root, '.scripstream', 'previous')
  for (const folder of [join(root, 'news'), join(previous, 'news')]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(previous, 'note.json'), JSON.stringify({ run: 'r', outputs: ['news/*.json'] }))
  for (const [name, text] of Object.entries(before)) writeFileSync(join(previous, 'news', name), text)
  for (const [name, text] of Object.entries(now)) {
    if (text === before[name]) linkSync(join(previous, 'news', name), join(root, 'news', name))
    else writeFileSync(join(root, 'news', name), text)
  }
  return root
}

describe('the first day of a record of a file for each stock', () => {
  const day = '2026-02-10'
  const key = expect.stringMatching(/^[\da-f]{10}$/)

  it('is recorded for records that the file lacked before', async () => {
    const before = { 'A.json': news('one', 'two'), 'B.json': news('one') }
    const root = folderWithNews(before, {
      ...before,
      'A.json': news('one', 'two', 'three'),
      'C.json': news('x', 'y'),
    })
    await record(root, day)
    expect(await readSeen(root)).toEqual([
      { file: 'news/A.json', key, day },
      { file: 'news/C.json', key: 'all', day },
    ])
  })

  it('is also recorded if the stream is partial, and another run of the day adds only what is new', async () => {
    const root = folderWithNews({ 'A.json': news('one') }, { 'A.json': news('one', 'two') })
    await record(root, day, { outcomes: { prices: 'partial', lists: 'partial' } })
    writeFileSync(join(root, 'news', 'A.json'), news('one', 'two', 'three'))
    cpSync(join(root, 'news', 'A.json'), join(root, 'news', 'B.json'))
    await record(root, day, { at: `${day}T16:00:00.000Z` })
    const seen = await readSeen(root)
    expect(seen).toEqual([
      { file: 'news/A.json', key, day },
      { file: 'news/A.json', key, day },
      { file: 'news/B.json', key: 'all', day },
    ])
    expect(new Set(seen.map((row) => JSON.stringify(row))).size).toBe(3)
  })

  it('is the day of the run, also if its lists belong to the session before', async () => {
    const root = folderWithNews({ 'A.json': news('one') }, { 'A.json': news('one', 'two') })
    storeVersion(root, 1)
    // A Saturday.
    await record(root, '2026-02-14')
    expect(await readSeen(root)).toEqual([{ file: 'news/A.json', key, day: '2026-02-14' }])
    expect(await readVersion(root, '2026-02-13')).toBe(1)
  })

  it('is not that of a record whose broken text was repaired', async () => {
    const root = folderWithNews(
      { 'A.json': news('one \ud83d\0') },
      { 'A.json': news('one \ufffd\ufffd', 'two') },
    )
    await record(root, '2026-02-10')
    expect(await readSeen(root)).toEqual([{ file: 'news/A.json', key, day }])
  })

  it('is unknown for what the first run found', async () => {
    const root = folderWithNews({}, { 'A.json': news('one') })
    writeFileSync(
      join(root, '.scripstream', 'previous', 'note.json'),
      JSON.stringify({ outputs: ['news/*.json'] }),
    )
    storeVersion(root, 1)
    await record(root, day)
    expect(await readSeen(root)).toEqual([])
  })
})
