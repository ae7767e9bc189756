import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { toInstant } from '../../../src/model/trading-day.js'
import { deleteDays } from '../../../src/storage/history/delete.js'
import { acquireLock } from '../../../src/storage/lock.js'
import { describeHistory } from '../../../src/tables/history/describe-history.js'
import { streams } from '../../../streams/registry.js'
import { temporaryFolder } from '../../support/folders.js'
import { recordRun, tablesOf } from '../../support/recorded-run.js'

const DAYS = ['2026-02-05', '2026-02-06', '2026-02-09', '2026-02-10', '2026-02-11']

/** Two streams with one list each. */
const FILES: Readonly<Record<string, string>> = {
  'all-indices': 'all_indices_list.json',
  'fundamental-data': 'fundamental_data.json',
}
const [A, B] = ['fundamental-data', 'all-indices'] as const

/** The facts of the record of a day. */
const factsOf = (root: string, day: string): string =>
  join(root, '.scripstream', 'history', day, `${day.replaceAll('-', '')}T140000Z`, 'record.json')

/** A folder with candles of five sessions, and a history of some days. */
const folderWithDays = async (recorded: Readonly<Record<string, readonly string[]>>): Promise<string> => {
  const root = temporaryFolder()
  mkdirSync(join(root, 'ohlcv_data', 'indices'), { recursive: true })
  const writeCandles = (until: string): void => {
    const candles = DAYS.filter((day) => day <= until).map((day) => `${toInstant(day) / 1_000},1,1,1,1,1\n`)
    writeFileSync(
      join(root, 'ohlcv_data', 'indices', 'A.csv'),
      `Timestamp,Open,High,Low,Close,Volume\n${candles.join('')}`,
    )
  }
  for (const [day, names] of Object.entries(recorded)) {
    writeCandles(day)
    for (const file of Object.values(FILES)) rmSync(join(root, file), { force: true })
    for (const name of names) writeFileSync(join(root, FILES[name] ?? ''), '[]')
    await recordRun(root, { day, request: { tables: tablesOf(...Object.values(FILES)) } })
  }
  writeCandles('9999')
  return root
}

const summaryOf = async (root: string) => (await describeHistory(root, { streams, exchange: 'NSE' })).days

describe('the summary of a history', () => {
  it('has the days, the sessions between them without a record, and the streams that a day lacks', async () => {
    const root = await folderWithDays({ '2026-02-06': [A, B], '2026-02-10': [A], '2026-02-11': [A, B] })
    expect(
      (await summaryOf(root)).map(({ day, streams: own, missing, knownAt }) => [day, own, missing, knownAt]),
    ).toEqual([
      ['2026-02-06', [A, B], [], '2026-02-06T14:00:00.000Z'],
      ['2026-02-09', [], [A, B], undefined],
      ['2026-02-10', [A], [B], '2026-02-10T14:00:00.000Z'],
      ['2026-02-11', [A, B], [], '2026-02-11T14:00:00.000Z'],
    ])
  })

  it('names a damaged day, and reads the others', async () => {
    const root = await folderWithDays({ '2026-02-10': [A], '2026-02-11': [A] })
    writeFileSync(factsOf(root, '2026-02-10'), 'x')
    expect(await summaryOf(root)).toMatchObject([
      { damage: expect.stringContaining('its digest is wrong') },
      { streams: [A] },
    ])
  })

  it('has no day that does not exist', async () => {
    const root = await folderWithDays({ '2026-02-10': [A] })
    for (const name of ['2026-02-99', '2026-02-30', '2026-13-01'])
      mkdirSync(join(root, '.scripstream', 'history', name, '20260210T140000Z'), { recursive: true })
    expect((await summaryOf(root)).map(({ day }) => day)).toEqual(['2026-02-10'])
  })

  it('is empty before the first record', async () => {
    expect(await summaryOf(temporaryFolder())).toEqual([])
  })
})

describe('deleting days', () => {
  it('is possible although a later one is damaged, and keeps all bases', async () => {
    const root = await folderWithDays({ '2026-02-09': [A], '2026-02-10': [A, B], '2026-02-11': [A] })
    const history = join(root, '.scripstream', 'history')
    const bases = readdirSync(join(history, 'bases'))
    writeFileSync(factsOf(root, '2026-02-10'), 'x')
    const { days, files } = await deleteDays(root, { before: '2026-02-10' }, 0)
    expect(days).toEqual(['2026-02-09'])
    expect(files.every(({ path }) => path.includes('/2026-02-09/'))).toBe(true)
    expect(readdirSync(join(history, 'bases'))).toEqual(expect.arrayContaining(bases))
  })

  it('waits for no run: it is refused while one uses the folder, and changes nothing', async () => {
    const root = await folderWithDays({ '2026-02-10': [A], '2026-02-11': [A] })
    const release = await acquireLock(join(root, '.scripstream', 'lock'), 0)
    const days = async () => (await summaryOf(root)).map(({ day }) => day)
    await expect(deleteDays(root, { before: '2026-02-11' }, 0)).rejects.toThrow(
      'another run is using this folder',
    )
    expect(await days()).toEqual(['2026-02-10', '2026-02-11'])
    release()
    expect((await deleteDays(root, { before: '2026-02-11' }, 0)).days).toEqual(['2026-02-10'])
    expect(await days()).toEqual(['2026-02-11'])
  })
})
