import { cpSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { RewrittenFile, RunReport } from '../../../src/model/report.js'
import type { RunSelection } from '../../../src/pipeline/session.js'
import { fileCalls } from '../../../src/storage/file-system.js'
import { listBases, toBasePath } from '../../../src/storage/history/bases.js'
import { unpack } from '../../../src/storage/history/day-file.js'
import { listDays, pruneHistory, readRecordedDay } from '../../../src/storage/history/history-folder.js'
import { recordDay } from '../../../src/storage/history/record-day.js'
import { runReport } from '../../cli/support.js'
import { snapshotFolder, temporaryFolder } from '../../support/folders.js'
import { readEntryRows } from '../../support/history.js'

const FILES = {
  prices: { stream: 'prices', file: 'prices.json', isPerItem: true },
  lists: { stream: 'lists', file: 'list.csv', isPerItem: false },
  about: { stream: 'lists', file: 'about.json', isPerItem: false },
} as const

const NEWS = { pattern: 'news/*.json', lists: ['News'], identity: ['At', 'Title'] }
const HISTORY = { files: Object.values(FILES), documents: [NEWS] }

const rowsOf = (version: number) =>
  Array.from({ length: 300 }, (_, rank) => ({ Symbol: `S${rank}`, Price: version * rank, Note: `a long note of ${rank}` }))

const storeVersion = (root: string, version: number): void => {
  writeFileSync(join(root, 'prices.json'), JSON.stringify(rowsOf(version)))
  writeFileSync(join(root, 'list.csv'), `SYMBOL,VERSION\nA,${version}\nB,1\n`)
  writeFileSync(join(root, 'about.json'), JSON.stringify({ version }))
}

interface Given {
  readonly chosen?: RunSelection
  readonly outcomes?: Readonly<Record<string, 'success' | 'partial'>>
  readonly missing?: RunReport['missing']
  readonly isPartOfEnded?: boolean
  readonly finishedAt?: string
  readonly rewritten?: Readonly<Record<string, readonly RewrittenFile[]>>
}

const record = (
  root: string,
  day: string,
  { chosen = {}, outcomes = {}, missing, isPartOfEnded = false, finishedAt, rewritten = {} }: Given = {},
) => {
  const scripts = Object.fromEntries(
    ['prices', 'lists'].map((name) => [
      name,
      { outcome: outcomes[name] ?? 'success', ...(rewritten[name] ? { rewritten: rewritten[name] } : {}) },
    ]),
  )
  const report = {
    ...runReport({}),
    scripts,
    ...(missing ? { missing } : {}),
    ...(finishedAt ? { finishedAt } : {}),
  } as unknown as RunReport
  const asOf = Date.parse(`${day}T20:00:00+05:30`)
  return recordDay(root, { history: HISTORY, record: { run: 'r', asOf, configuration: 'c', chosen }, report, isPartOfEnded })
}

const readRows = async (root: string, day: string, file: string): Promise<unknown> => {
  const entry = (await readRecordedDay(root, day))?.entries[file]
  return entry && (await readEntryRows(root, file, entry))
}

/** A folder with a recorded day. */
const recorded = async (day = '2026-02-09'): Promise<string> => {
  const root = temporaryFolder()
  storeVersion(root, 1)
  expect(await record(root, day)).toBeUndefined()
  return root
}

const file = (item: string, reason: string): RewrittenFile => ({ item, reason })

const historyOf = (root: string): string => join(root, '.scripstream', 'history')

afterEach(() => void vi.restoreAllMocks())

describe('the record of a day', () => {
  it('has the content of every list, of every day', async () => {
    const root = await recorded()
    storeVersion(root, 2)
    expect(await record(root, '2026-02-10')).toBeUndefined()
    for (const [day, version] of [
      ['2026-02-09', 1],
      ['2026-02-10', 2],
    ] as const) {
      expect(await readRows(root, day, 'prices.json')).toEqual(rowsOf(version))
      expect(await readRows(root, day, 'list.csv')).toEqual(['SYMBOL,VERSION', `A,${version}`, 'B,1', ''])
      expect(await readRows(root, day, 'about.json')).toEqual({ version })
    }
  })

  it('is replaced by another run of the day, which changes no other day', async () => {
    const root = await recorded()
    await record(root, '2026-02-10')
    const before = snapshotFolder(historyOf(root))
    storeVersion(root, 2)
    await record(root, '2026-02-10', { finishedAt: '2026-02-10T18:00:00.000Z' })
    expect(await listDays(root)).toEqual(['2026-02-09', '2026-02-10'])
    expect(await readRows(root, '2026-02-10', 'prices.json')).toEqual(rowsOf(2))
    expect((await readRecordedDay(root, '2026-02-10'))?.entries['prices.json']?.knownAt).toBe('2026-02-10T18:00:00.000Z')
    expect(snapshotFolder(historyOf(root))['2026-02-09.day']).toBe(before['2026-02-09.day'])
  })

  it('is sorted by its day if it was collected late, and says when that was', async () => {
    const root = await recorded('2026-03-10')
    storeVersion(root, 2)
    await record(root, '2026-02-10', { finishedAt: '2026-03-11T18:00:00.000Z' })
    expect(await listDays(root)).toEqual(['2026-02-10', '2026-03-10'])
    expect((await readRecordedDay(root, '2026-02-10'))?.entries['list.csv']?.knownAt).toBe('2026-03-11T18:00:00.000Z')
    expect(await readRows(root, '2026-03-10', 'prices.json')).toEqual(rowsOf(1))
  })

  it.each<readonly [string, Given]>([
    ['lost items', { outcomes: { prices: 'partial' } }],
    ['lacks items of an earlier run', { missing: { prices: 3 } }],
    ['requested some stocks only', { chosen: { symbols: ['S1'] } }],
    ['requested some items only', { chosen: { pairs: { prices: ['S1'] } } }],
  ])('leaves out a list whose stream %s, and keeps the others', async (_, given) => {
    const root = await recorded()
    storeVersion(root, 2)
    await record(root, '2026-02-10', given)
    await record(root, '2026-02-09', given)
    expect(await readRows(root, '2026-02-10', 'prices.json')).toBeUndefined()
    expect(await readRows(root, '2026-02-10', 'about.json')).toEqual({ version: 2 })
    expect(await readRows(root, '2026-02-09', 'prices.json')).toEqual(rowsOf(1))
    expect(await readRows(root, '2026-02-09', 'about.json')).toEqual({ version: 2 })
  })

  it('gains the lists that a retry of what was missing completes', async () => {
    const root = temporaryFolder()
    storeVersion(root, 1)
    await record(root, '2026-02-09', { outcomes: { prices: 'partial' } })
    expect(await readRows(root, '2026-02-09', 'prices.json')).toBeUndefined()
    await record(root, '2026-02-09', { chosen: { pairs: { prices: ['S1'] } }, isPartOfEnded: true })
    expect(await readRows(root, '2026-02-09', 'prices.json')).toEqual(rowsOf(1))
    expect(await readRows(root, '2026-02-09', 'list.csv')).toBeDefined()
  })

  it('lists the files that any run of the day replaced, with the last reason and its time', async () => {
    const root = await recorded()
    const runs: readonly NonNullable<Given['rewritten']>[] = [
      { prices: [file('A', 'first'), file('B', 'first')], lists: [file('X', 'first')] },
      { prices: [file('B', 'second'), file('C', 'second')] },
      {},
    ]
    const at = (hour: number): string => `2026-02-10T${hour}:00:00.000Z`
    for (const [index, rewritten] of runs.entries()) await record(root, '2026-02-10', { rewritten, finishedAt: at(14 + index) })
    const entry = (await readRecordedDay(root, '2026-02-10'))?.entries['.rewritten']
    expect(entry && (await unpack(entry))).toEqual({
      prices: [
        { ...file('A', 'first'), knownAt: at(14) },
        { ...file('B', 'second'), knownAt: at(15) },
        { ...file('C', 'second'), knownAt: at(15) },
      ],
      lists: [{ ...file('X', 'first'), knownAt: at(14) }],
    })
  })

  it('is unchanged by a damaged or missing file', async () => {
    const root = await recorded()
    writeFileSync(join(root, 'prices.json'), '[{')
    rmSync(join(root, 'about.json'))
    expect(await record(root, '2026-02-09')).toBeUndefined()
    expect(await readRows(root, '2026-02-09', 'prices.json')).toEqual(rowsOf(1))
    expect(await readRows(root, '2026-02-09', 'about.json')).toEqual({ version: 1 })
  })
})

describe('recording', () => {
  it.each(['open', 'write', 'sync', 'rename'] as const)(
    'never fails a run: it warns, and the earlier state stays, if the disk fails at %s',
    async (call) => {
      const root = await recorded()
      const before = snapshotFolder(historyOf(root))
      storeVersion(root, 2)
      vi.spyOn(fileCalls, call).mockRejectedValue(Object.assign(new Error('no'), { code: 'ENOSPC' }))
      expect(await record(root, '2026-02-09')).toBe('this day could not be added to the history: the disk is full')
      vi.restoreAllMocks()
      expect(Object.keys(snapshotFolder(historyOf(root)))).toEqual(Object.keys(before))
      expect(await readRows(root, '2026-02-09', 'prices.json')).toEqual(rowsOf(1))
    },
  )

  it('uses a new base instead of a damaged one, and warns', async () => {
    const root = await recorded()
    for (const { name } of await listBases(root)) writeFileSync(toBasePath(root, name), 'x')
    await expect(readRows(root, '2026-02-09', 'prices.json')).rejects.toThrow('is damaged')
    storeVersion(root, 2)
    expect(await record(root, '2026-02-10')).toMatch(/prices\.json 2026-02-09 \w+\.base is damaged: .*; restore it from a backup/)
    expect(await readRows(root, '2026-02-10', 'prices.json')).toEqual(rowsOf(2))
  })

  it('keeps the readable part of a damaged day, and warns of what is lost', async () => {
    const root = await recorded()
    const path = join(historyOf(root), '2026-02-09.day')
    const bytes = readFileSync(path)
    const { length } = bytes
    bytes.write('damaged', length - 1)
    writeFileSync(path, Buffer.concat([bytes.subarray(0, length - 1), Buffer.from('x')]))
    storeVersion(root, 2)
    expect(await record(root, '2026-02-09', { outcomes: { prices: 'partial', lists: 'partial' } })).toMatch(/2026-02-09\.day was damaged/)
  })

  it('uses one base a quarter, and none that is no longer needed survives the next deletion', async () => {
    const root = await recorded('2026-03-30')
    for (const day of ['2026-03-31', '2026-04-01', '2026-04-02']) await record(root, day)
    expect((await listBases(root)).map(({ file, day }) => `${file} ${day}`).sort()).toEqual(
      Object.values(FILES)
        .flatMap(({ file }) => [`${file} 2026-03-30`, `${file} 2026-04-01`])
        .sort(),
    )
    expect(await pruneHistory(root, { now: 0 })).toEqual([])
    await pruneHistory(root, { before: '2026-04-02', now: 0 })
    expect(await listDays(root)).toEqual(['2026-04-02'])
    expect((await listBases(root)).map(({ file, day }) => `${file} ${day}`)).toEqual(['prices.json 2026-04-01'])
    expect(await readRows(root, '2026-04-02', 'prices.json')).toEqual(rowsOf(1))
  })

  it('deletes the temporary files of a killed run', async () => {
    const root = await recorded()
    const left = '.2026-02-09.day.01234567-0123-0123-0123-0123456789ab.tmp'
    writeFileSync(join(historyOf(root), left), 'x')
    mkdirSync(join(historyOf(root), 'work-abc'))
    writeFileSync(join(historyOf(root), 'work-abc', '0'), 'x')
    await record(root, '2026-02-10')
    expect(readdirSync(historyOf(root)).filter((name) => name.endsWith('.tmp') || name.startsWith('work-'))).toEqual([])
  })
})

describe('the first day of a record of a file for each stock', () => {
  const news = (...titles: readonly string[]): string => JSON.stringify({ News: titles.map((Title, At) => ({ Title, At })) })

  const firstSeen = async (root: string, day: string): Promise<unknown> => {
    const entry = (await readRecordedDay(root, day))?.entries['.first-seen']
    return entry && (await unpack(entry))
  }

  /** A folder in which a run has replaced the news of some stocks. */
  const folderWithNews = (before: Readonly<Record<string, string>>, now: Readonly<Record<string, string>>): string => {
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

  it('is recorded for records that the file lacked before', async () => {
    const before = { 'A.json': news('one', 'two'), 'B.json': news('one') }
    const root = folderWithNews(before, { ...before, 'A.json': news('one', 'two', 'three'), 'C.json': news('x', 'y') })
    await record(root, '2026-02-10')
    expect(await firstSeen(root, '2026-02-10')).toEqual({ 'news/A.json': [expect.stringMatching(/^[\da-f]{10}$/)], 'news/C.json': 'all' })
  })

  it('is also recorded if the stream is partial, and joined with that of other runs of the day', async () => {
    const root = folderWithNews({ 'A.json': news('one') }, { 'A.json': news('one', 'two') })
    await record(root, '2026-02-10', { outcomes: { prices: 'partial', lists: 'partial' } })
    writeFileSync(join(root, 'news', 'A.json'), news('one', 'two', 'three'))
    cpSync(join(root, 'news', 'A.json'), join(root, 'news', 'B.json'))
    await record(root, '2026-02-10')
    expect(await firstSeen(root, '2026-02-10')).toEqual({ 'news/A.json': [expect.any(String), expect.any(String)], 'news/B.json': 'all' })
  })

  it('is unknown for what the first run found', async () => {
    const root = folderWithNews({}, { 'A.json': news('one') })
    writeFileSync(join(root, '.scripstream', 'previous', 'note.json'), JSON.stringify({ outputs: ['news/*.json'] }))
    storeVersion(root, 1)
    await record(root, '2026-02-10')
    expect(await firstSeen(root, '2026-02-10')).toBeUndefined()
  })
})
