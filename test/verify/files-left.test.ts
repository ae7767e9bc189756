import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { RunOptions } from '../../src/collector.js'
import { type Trying, tryRun } from '../resume/support.js'
import { temporaryFolder } from '../support/folders.js'
import { copyOf, EVENING, type OutputFolder, outputFolder, runInto, verified } from './support.js'

const NEXT_EVENING = EVENING + 86_400_000
const clean = temporaryFolder()
const names = { a: '', b: '' }

beforeAll(async () => {
  await runInto(clean)
  const [a, b] = outputFolder(clean)
    .rows('master_isin_map.json')
    .slice(10)
    .map(({ Symbol: symbol }) => String(symbol))
  Object.assign(names, { a, b })
})

/** A folder with a complete run and further runs on the next day. */
const folderAfter = async (...runs: readonly RunOptions[]): Promise<OutputFolder> => {
  const folder = copyOf(clean)
  for (const run of runs) await runInto(folder.path, { asOf: NEXT_EVENING, ...run })
  return folder
}

const filesWrong = async (folder: OutputFolder): Promise<readonly string[]> =>
  (await verified(folder, { only: ['files'] })).findings.map(
    ({ file, detail }) => `${file}: ${detail.replace(/\d[\d,]*/g, 'N')}`,
  )

const candlesOf = (symbol: string): string => `ohlcv_data/${symbol}.csv`

describe('a file that a later run did not write', () => {
  const runs: readonly (readonly [string, readonly (() => RunOptions)[]])[] = [
    ['a run of some streams', [() => ({ only: ['circuit-stocks'] })]],
    ['a retry', [() => ({ only: ['market-news'], pairs: { 'market-news': [names.a] } })]],
    ['two runs of some streams', [() => ({ only: ['circuit-stocks'] }), () => ({ only: ['all-indices'] })]],
  ]
  it.each(runs)('by %s is still compared file by file', async (_, options) => {
    const folder = await folderAfter(...options.map((one) => one()))
    expect(await filesWrong(folder)).toEqual([])
    folder.remove(candlesOf(names.a))
    folder.put('bulk_block_deals.json', '[]\n')
    expect(await filesWrong(folder)).toEqual([
      'bulk_block_deals.json: it has N bytes; the last run wrote N',
      `${candlesOf(names.a)}: it is missing; the last run wrote N bytes`,
    ])
  })

  it('of a stock is reported as missing, whether it was removed before the run or after it', async () => {
    const folder = copyOf(clean)
    folder.remove(candlesOf(names.b))
    await runInto(folder.path, { asOf: NEXT_EVENING, only: ['all-ohlcv'], symbols: [names.a] })
    expect(await filesWrong(folder)).toEqual([
      `${candlesOf(names.b)}: it is missing; the last run wrote N bytes`,
    ])
    folder.remove(candlesOf(names.a))
    expect((await filesWrong(folder)).toSorted()).toEqual(
      [names.a, names.b]
        .toSorted()
        .map((name) => `${candlesOf(name)}: it is missing; the last run wrote N bytes`),
    )
  })

  it('is reported once, by name, for a stream in a run that was not complete', async () => {
    const path = temporaryFolder()
    await tryRun({ out: path })
    const { report } = await tryRun({
      out: path,
      fresh: true,
      fails: (request) => request === 'fundamental BETA',
    })
    expect(report?.outcome).toBe('partial')
    const folder = outputFolder(path)
    expect(await filesWrong(folder)).toEqual([])
    folder.remove('market_news/ALPHA_news.json')
    expect(await filesWrong(folder)).toEqual([
      'market_news/ALPHA_news.json: it is missing; the last run wrote N bytes',
    ])
  })

  it('is reported after runs of which none was complete', async () => {
    const path = temporaryFolder()
    const fails = (request: string): boolean => request === 'fundamental BETA'
    await tryRun({ out: path, fails })
    const folder = outputFolder(path)
    folder.remove('market_news/ALPHA_news.json')
    const { report } = await tryRun({ out: path, only: ['fundamental-data'], fails })
    expect(report?.outcome).toBe('partial')
    folder.remove(candlesOf('ALPHA'))
    folder.put('market_news/BETA_news.json', '{}\n')
    expect(await filesWrong(folder)).toEqual([
      'market_news/ALPHA_news.json: it is missing; the last run wrote N bytes',
      'market_news/BETA_news.json: it has N bytes; the last run wrote N',
      `${candlesOf('ALPHA')}: it is missing; the last run wrote N bytes`,
    ])
  })

  it('is reported if the report is missing too', async () => {
    const folder = await folderAfter({ only: ['circuit-stocks'] })
    folder.remove('.scripstream/report.json')
    folder.remove(candlesOf(names.a))
    expect(await filesWrong(folder)).toEqual([
      `${candlesOf(names.a)}: it is missing; the last run wrote N bytes`,
    ])
  })
})

describe('a file that a later run wrote', () => {
  it.each<readonly [string, Pick<Trying, 'fails' | 'hangs'>]>([
    ['not complete', { fails: (request) => request === 'getLiveNews BETA' }],
    ['interrupted', { hangs: (request) => request === 'getLiveNews BETA' }],
  ])('is not compared with its earlier size if the run was %s', async (_, how) => {
    const path = temporaryFolder()
    await tryRun({ out: path })
    const folder = outputFolder(path)
    const file = 'market_news/ALPHA_news.json'
    folder.put(file, '{}\n')
    await tryRun({ out: path, only: ['market-news'], ...how })
    expect(folder.text(file)).not.toBe('{}\n')
    expect(await filesWrong(folder)).toEqual([])
    for (const gone of [file, candlesOf('ALPHA')]) folder.remove(gone)
    expect(await filesWrong(folder)).toEqual([
      `${file}: it is missing; the last run wrote N bytes`,
      `${candlesOf('ALPHA')}: it is missing; the last run wrote N bytes`,
    ])
  })

  it('is only that of selected stocks: the others are not reported as stocks without candles', async () => {
    const path = temporaryFolder()
    await runInto(path, { symbols: [names.a] })
    const { findings, notes } = await verified(outputFolder(path))
    expect(findings).toEqual([])
    expect(notes).toContain('stocks without candles: the last run selected 1 of 24 stocks; fetch all')
  })

  it('is only a part of those of an earlier run: stocks without candles are still reported', async () => {
    const folder = await folderAfter({ only: ['all-ohlcv'], symbols: [names.a] })
    const { notes } = await verified(folder, { only: ['stale-symbols'] })
    expect(notes).toEqual([])
  })

  it('of a stock that is not listed any more is forgotten by a complete run of everything', async () => {
    const folder = copyOf(clean)
    const log = join(folder.path, '.scripstream/output-digests')
    appendFileSync(
      log,
      readFileSync(log, 'utf8').split('\n')[0]?.replace(/\S+$/, candlesOf('GONE')).concat('\n') ?? '',
    )
    expect(await filesWrong(folder)).toEqual([
      `${candlesOf('GONE')}: it is missing; the last run wrote N bytes`,
    ])
    await runInto(folder.path, { asOf: NEXT_EVENING, only: ['all-ohlcv'], symbols: [names.a] })
    expect(await filesWrong(folder)).toEqual([
      `${candlesOf('GONE')}: it is missing; the last run wrote N bytes`,
    ])
    await runInto(folder.path, { asOf: NEXT_EVENING })
    expect(await filesWrong(folder)).toEqual([])
  })
})
