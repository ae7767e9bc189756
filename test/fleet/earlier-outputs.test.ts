import * as files from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { planRun } from '../../src/engine/plan.js'
import { listReadableOutputs, shareFiles, toEarlierFolder } from '../../src/fleet/shared-run.js'
import { disk } from '../../src/storage/disk.js'
import { streams } from '../../streams/registry.js'
import { filesIn, temporaryFolder } from '../support/folders.js'
import { createSettings } from './support.js'

const STORED_AT = new Date('2026-02-11T20:00:00+05:30')

const stored = (texts: Readonly<Record<string, string>>): string => {
  const out = temporaryFolder()
  for (const [name, text] of Object.entries(texts)) {
    files.mkdirSync(join(out, name, '..'), { recursive: true })
    files.writeFileSync(join(out, name), text)
    files.utimesSync(join(out, name), STORED_AT, STORED_AT)
  }
  return out
}

const TEXTS = {
  'all_indices_list.json': '[]',
  'ohlcv_data/A.csv': 'a',
  'ohlcv_data/M&M.csv': 'm',
  'ohlcv_data/indices/NIFTY.csv': 'n',
  'ohlcv_data/.A.csv.next': 'torn',
  'market_news/A_news.json': 'news',
  '.scripstream/report.json': '{}',
}

describe('sharing stored outputs', () => {
  it('links the readable outputs and the report', async () => {
    const out = stored(TEXTS)
    const run = join(temporaryFolder(), 'run')
    await shareFiles(out, ['all_indices_list.json', 'ohlcv_data/*.csv', 'nowhere/*.csv', 'never.json'], run)
    expect(filesIn(toEarlierFolder(run))).toEqual({
      'all_indices_list.json': '[]',
      'ohlcv_data/A.csv': 'a',
      'ohlcv_data/M&M.csv': 'm',
      '.scripstream/report.json': '{}',
    })
    const [one, other] = [out, toEarlierFolder(run)].map((folder) =>
      files.statSync(join(folder, 'ohlcv_data/A.csv')),
    )
    expect(other?.ino).toBe(one?.ino)
    expect(other?.mtimeMs).toBe(STORED_AT.getTime())
  })

  it('keeps the linked content while outputs are replaced, until the next call', async () => {
    const out = stored(TEXTS)
    const run = join(temporaryFolder(), 'run')
    await shareFiles(out, ['ohlcv_data/*.csv'], run)
    files.writeFileSync(join(out, 'next'), 'newer')
    files.renameSync(join(out, 'next'), join(out, 'ohlcv_data/A.csv'))
    expect(filesIn(toEarlierFolder(run))).toMatchObject({ 'ohlcv_data/A.csv': 'a' })
    await shareFiles(out, ['ohlcv_data/*.csv'], run)
    await shareFiles(out, ['ohlcv_data/*.csv'], run)
    expect(filesIn(toEarlierFolder(run))).toMatchObject({
      'ohlcv_data/A.csv': 'newer',
      'ohlcv_data/M&M.csv': 'm',
    })
    expect(Object.keys(filesIn(toEarlierFolder(run))).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  it('shares nothing before the first run', async () => {
    const run = join(temporaryFolder(), 'run')
    await shareFiles(temporaryFolder(), ['all_indices_list.json', 'ohlcv_data/*.csv'], run)
    expect(files.existsSync(run) ? filesIn(run) : {}).toEqual({})
  })
})

describe('a shared folder on another disk', () => {
  it('gets copies with the modification times of the originals', async () => {
    onTestFinished(() => void vi.restoreAllMocks())
    const failure = Object.assign(new Error('EXDEV: cross-device link not permitted'), { code: 'EXDEV' })
    vi.spyOn(disk, 'link').mockRejectedValue(failure)
    const out = stored(TEXTS)
    const run = join(temporaryFolder(), 'run')
    await shareFiles(out, ['ohlcv_data/*.csv', 'never.json'], run)
    expect(filesIn(toEarlierFolder(run))).toEqual({
      'ohlcv_data/A.csv': 'a',
      'ohlcv_data/M&M.csv': 'm',
      '.scripstream/report.json': '{}',
    })
    const [one, other] = [out, toEarlierFolder(run)].map((folder) =>
      files.statSync(join(folder, 'ohlcv_data/A.csv')),
    )
    expect(other?.ino).not.toBe(one?.ino)
    expect(other?.mtimeMs).toBe(STORED_AT.getTime())
  })
})

describe('listReadableOutputs', () => {
  const settings = createSettings()

  it('lists all outputs of active streams, and single-file outputs of the others', () => {
    const names = listReadableOutputs(planRun(streams, settings, { only: ['all-ohlcv'] }), 'NSE')
    expect(names).toContain('ohlcv_data/*.csv')
    expect(names).toContain('all_indices_list.json')
    expect(names).toContain('nse_equity_list.csv')
    expect(names).not.toContain('market_news/*_news.json')
    expect(names).not.toContain('ohlcv_data/indices/*.csv')
  })

  it('lists no file twice', () => {
    const names = listReadableOutputs(planRun(streams, settings), 'NSE')
    expect(new Set(names).size).toBe(names.length)
  })
})
