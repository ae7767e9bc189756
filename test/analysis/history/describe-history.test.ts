import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { describeHistory } from '../../../src/analysis/history/describe-history.js'
import { toInstant } from '../../../src/model/trading-day.js'
import { pruneHistory, writeDay } from '../../../src/storage/history/history-folder.js'
import { acquireLock } from '../../../src/storage/lock.js'
import { streams } from '../../../streams/registry.js'
import { temporaryFolder } from '../../support/folders.js'

const DAYS = ['2026-02-05', '2026-02-06', '2026-02-09', '2026-02-10', '2026-02-11']

/** A folder with candles of five sessions, and a history of some days. */
const folderWithDays = async (recorded: Readonly<Record<string, readonly string[]>>): Promise<string> => {
  const root = temporaryFolder()
  mkdirSync(join(root, 'ohlcv_data', 'indices'), { recursive: true })
  const candles = DAYS.map((day) => `${toInstant(day) / 1_000},1,1,1,1,1\n`)
  writeFileSync(join(root, 'ohlcv_data', 'indices', 'A.csv'), `Timestamp,Open,High,Low,Close,Volume\n${candles.join('')}`)
  for (const [day, names] of Object.entries(recorded)) {
    const entries = names.map((stream) => [`${stream}.json`, { stream, knownAt: `${day}T18:00:00.000Z`, bytes: Buffer.from('x') }] as const)
    await writeDay(root, { day, entries: Object.fromEntries(entries) })
  }
  return root
}

const summaryOf = async (root: string) => (await describeHistory(root, { streams, exchange: 'NSE' })).days

describe('the summary of a history', () => {
  it('has the days, the sessions between them without a record, and the streams that a day lacks', async () => {
    const root = await folderWithDays({ '2026-02-06': ['a', 'b'], '2026-02-10': ['a'], '2026-02-11': ['a', 'b'] })
    expect((await summaryOf(root)).map(({ day, streams: own, missing, knownAt }) => [day, own, missing, knownAt])).toEqual([
      ['2026-02-06', ['a', 'b'], [], '2026-02-06T18:00:00.000Z'],
      ['2026-02-09', [], ['a', 'b'], undefined],
      ['2026-02-10', ['a'], ['b'], '2026-02-10T18:00:00.000Z'],
      ['2026-02-11', ['a', 'b'], [], '2026-02-11T18:00:00.000Z'],
    ])
  })

  it('names a damaged day, and reads the others', async () => {
    const root = await folderWithDays({ '2026-02-10': ['a'], '2026-02-11': ['a'] })
    writeFileSync(join(root, '.scripstream', 'history', '2026-02-10.day'), 'x')
    expect(await summaryOf(root)).toMatchObject([{ damage: expect.stringContaining('is damaged') }, { streams: ['a'] }])
  })

  it('has no day that does not exist', async () => {
    const root = await folderWithDays({ '2026-02-10': ['a'] })
    for (const name of ['2026-02-99', '2026-02-30', '2026-13-01']) writeFileSync(join(root, '.scripstream', 'history', `${name}.day`), 'x')
    expect((await summaryOf(root)).map(({ day }) => day)).toEqual(['2026-02-10'])
  })

  it('is empty before the first record', async () => {
    expect(await summaryOf(temporaryFolder())).toEqual([])
  })
})

describe('pruning', () => {
  it('deletes old days although a later one is damaged, keeps all bases, and names the damaged file', async () => {
    const root = await folderWithDays({ '2026-02-09': ['a'], '2026-02-10': ['a'], '2026-02-11': ['a'] })
    const history = join(root, '.scripstream', 'history')
    mkdirSync(join(history, 'bases'))
    writeFileSync(join(history, 'bases', `a.json 2026-02-09 ${'0'.repeat(16)}.base`), 'x')
    writeFileSync(join(history, '2026-02-10.day'), 'x')
    const warnings: string[] = []
    const deleted = await pruneHistory(root, { before: '2026-02-10', now: 0, warn: (text) => void warnings.push(text) })
    expect(deleted.map(({ path }) => path)).toEqual([join(history, '2026-02-09.day')])
    expect(warnings).toEqual([expect.stringContaining('2026-02-10.day is damaged')])
  })

  it('waits for no run: it is refused while one uses the folder, and changes nothing', async () => {
    const root = await folderWithDays({ '2026-02-10': ['a'], '2026-02-11': ['a'] })
    const release = await acquireLock(join(root, '.scripstream', 'lock'), 0)
    const files = () => readdirSync(join(root, '.scripstream', 'history'))
    await expect(pruneHistory(root, { before: '2026-02-11', now: 0 })).rejects.toThrow('another run is using this folder')
    expect(files()).toEqual(['2026-02-10.day', '2026-02-11.day'])
    release()
    expect(await pruneHistory(root, { before: '2026-02-11', now: 0 })).toHaveLength(1)
    expect(files()).toEqual(['2026-02-11.day'])
  })
})
