import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { filter, firstValueFrom } from 'rxjs'
import { beforeAll, describe, expect, it } from 'vitest'
import { createCollector } from '../../../src/collector.js'
import type { StreamDefinition } from '../../../src/engine/define-stream.js'
import type { Change } from '../../../src/model/change.js'
import { UsageError } from '../../../src/model/errors.js'
import type { Row } from '../../../src/model/row.js'
import { serveSimulator } from '../../../src/simulator/index.js'
import { diff } from '../../../src/tables/changes/diff.js'
import { temporaryFolder } from '../../support/folders.js'
import { copyOf, EVENING, type OutputFolder, outputFolder, runInto, streams } from '../../verify/support.js'

const first = temporaryFolder()
const STOCKS = 8
/** No candles: diff ignores them, and they take most of the time. */
const SKIP = ['all-ohlcv', 'indices-ohlcv']

beforeAll(() => runInto(first, { stocks: STOCKS, skip: SKIP }))

const again = (folder: OutputFolder, run: Parameters<typeof runInto>[1] = {}): Promise<void> =>
  runInto(folder.path, { stocks: STOCKS, fresh: true, skip: SKIP, ...run })

const diffFolder = (folder: OutputFolder, options: Partial<Parameters<typeof diff>[1]> = {}) =>
  diff(folder.path, { exchange: 'NSE', streams, ...options })

const gist = ({ section, change, symbol, from, to, count }: Change): string =>
  [section, change, symbol, from, to, count].filter((part) => part !== undefined).join(' ')

const symbolOf = (folder: OutputFolder, place: number): string =>
  String(folder.rows('master_isin_map.json')[place]?.Symbol)

/** Changes the folder to an earlier state; returns the expected changes. */
const otherwise = (folder: OutputFolder): readonly string[] => {
  const change = (file: string, to: (rows: readonly Row[]) => readonly Row[]): void =>
    folder.putRows(file, to(folder.rows(file)))
  const [a, b, c] = [symbolOf(folder, 1), symbolOf(folder, 2), symbolOf(folder, 3)]
  const isinOfC = String(folder.rows('master_isin_map.json')[3]?.ISIN)
  change('master_isin_map.json', (rows) => [
    ...rows
      .filter(({ Symbol: symbol }) => symbol !== a)
      .map((row) =>
        row.Symbol === b
          ? { ...row, Symbol: 'OLD' }
          : row.Symbol === c
            ? { ...row, ISIN: 'INE000000000' }
            : row,
      ),
    { Symbol: 'GONE', ISIN: 'INE999999999', Name: 'Gone', Sid: '9', FnoFlag: 0 },
  ])
  const [entering, moving] = folder.rows('nse_asm_list.json').map(({ Symbol: symbol }) => String(symbol))
  const [entered, stage] = folder.rows('nse_asm_list.json').map(({ Stage }) => String(Stage))
  change('nse_asm_list.json', ([, second, ...rest]) => [
    { ...second, Stage: 'STASM - I' },
    ...rest,
    { Symbol: 'LEFT', ISIN: 'X', Stage: 'STASM - II' },
  ])
  const band = String(folder.rows('complete_price_bands.json')[0]?.Band)
  const was = band === '2' ? '5' : '2'
  change('complete_price_bands.json', ([row, ...rest]) => [{ ...row, Band: was }, ...rest])
  const [reaching] = folder.rows('upper_circuit_stocks.json').map(({ Symbol: symbol }) => String(symbol))
  change('upper_circuit_stocks.json', ([, ...rest]) => rest)
  const deal = String(folder.rows('bulk_block_deals.json')[0]?.sym)
  change('bulk_block_deals.json', ([, ...rest]) => rest)
  const announced = String(folder.rows('all_company_announcements.json')[0]?.Symbol)
  change('all_company_announcements.json', ([, ...rest]) => rest)
  const acting = folder.rows('history_corporate_actions.json')[0]
  change('history_corporate_actions.json', ([, ...rest]) => rest)
  const [filed, fresh] = readdirSync(join(folder.path, 'company_filings')).map((name) =>
    name.replace(/_filings\.json$/, ''),
  ) as [string, string]
  const fileOf = (symbol: string): string => `company_filings/${symbol}_filings.json`
  const { code, data } = JSON.parse(folder.text(fileOf(filed)))
  folder.put(fileOf(filed), JSON.stringify({ code, data: data.slice(1) }))
  const count = JSON.parse(folder.text(fileOf(fresh))).data.length
  folder.remove(fileOf(fresh))
  // A renamed stock had its files under its earlier symbol.
  for (const [kind, end] of [
    ['company_filings', 'filings'],
    ['market_news', 'news'],
  ] as const) {
    const file = join(folder.path, kind, `${b}_${end}.json`)
    if (existsSync(file)) renameSync(file, join(folder.path, kind, `OLD_${end}.json`))
  }
  return [
    `listings back ${a} ${folder.rows('master_data_response.json')[1]?.Isin}`,
    'listings left GONE INE999999999',
    `renames renamed ${b} OLD ${b}`,
    `renames changed ${c} INE000000000 ${isinOfC}`,
    `surveillance entered ${entering} ${entered}`,
    `surveillance changed ${moving} STASM - I ${stage}`,
    'surveillance left LEFT STASM - II',
    `bands changed ${folder.rows('complete_price_bands.json')[0]?.Symbol} ${was} ${band}`,
    `circuits entered ${reaching}`,
    `deals new ${deal}`,
    ...([acting?.CorpAct].flat() as readonly Row[]).map(() => `actions new ${acting?.Sym}`),
    `announcements new ${announced} 1`,
    ...[`filings new ${filed} 1`, `filings new ${fresh} ${count}`].sort(),
  ].sort()
}

describe('diff', () => {
  it('has nothing to compare with after the first run, and reports that', async () => {
    const folder = outputFolder(first)
    expect(await diffFolder(folder)).toMatchObject({ since: null, changes: [], run: expect.any(String) })
  })

  it('shows exactly what changed', async () => {
    const folder = copyOf(first)
    const expected = otherwise(folder)
    await again(folder)
    const { changes, counts, notes, since, asOf } = await diffFolder(folder)
    expect(changes.map(gist).sort()).toEqual(expected)
    expect(notes).toEqual([])
    expect({ since, asOf }).toMatchObject({
      since: { asOf: new Date(EVENING).toISOString() },
      asOf: new Date(EVENING).toISOString(),
    })
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(expected.length)
  })

  it('shows nothing if nothing changed, and the same result after a run without requests', async () => {
    const folder = copyOf(first)
    await again(folder)
    expect((await diffFolder(folder)).changes).toEqual([])
    const changed = copyOf(first)
    otherwise(changed)
    await again(changed)
    const before = await diffFolder(changed)
    await again(changed, { fresh: false })
    expect(await diffFolder(changed)).toEqual(before)
  })

  it('shows a rename or another ISIN once, and not again as changes of every list that names the stock', async () => {
    const folder = copyOf(first)
    const symbols = folder.rows('history_corporate_actions.json').map(({ Sym }) => String(Sym))
    const [renamed, reissued] = [...new Set(symbols)] as [string, string]
    const toEarlier = (row: Row): Row => {
      if ([row.Symbol, row.Sym, row.sym].includes(renamed))
        return Object.fromEntries(
          Object.entries(row).map(([field, value]) => [field, value === renamed ? 'OLD' : value]),
        )
      return row.Symbol === reissued && row.ISIN !== undefined ? { ...row, ISIN: 'INE000000000' } : row
    }
    for (const file of readdirSync(folder.path).filter(
      (name) => name.endsWith('.json') && Array.isArray(JSON.parse(folder.text(name))),
    ))
      folder.putRows(file, folder.rows(file).map(toEarlier))
    await again(folder)
    const { changes } = await diffFolder(folder)
    const lists = changes.filter(({ section }) => section !== 'filings' && section !== 'news')
    expect(lists.map(({ section, symbol }) => [section, symbol])).toEqual([
      ['renames', renamed],
      ['renames', reissued],
    ])
  })

  it('shows an added stock without earlier files as new, and not its first documents', async () => {
    const folder = copyOf(first)
    const all = folder.rows('master_isin_map.json')
    const filesOf = (one: unknown): readonly string[] => [
      `company_filings/${one}_filings.json`,
      `market_news/${one}_news.json`,
    ]
    const symbol = all
      .map((row) => row.Symbol)
      .find((one) => filesOf(one).every((file) => existsSync(join(folder.path, file))))
    for (const file of filesOf(symbol)) folder.remove(file)
    folder.putRows(
      'master_isin_map.json',
      all.filter((row) => row.Symbol !== symbol),
    )
    await again(folder)
    expect(folder.text(`company_filings/${symbol}_filings.json`)).toContain('news_date')
    expect(
      (await diffFolder(folder)).changes.map(({ section, change, detail }) => [section, change, detail]),
    ).toEqual([['listings', 'new', expect.stringMatching(/ is new$/)]])
  })

  it('shows selected sections or stocks, also a stock that has left', async () => {
    const folder = copyOf(first)
    otherwise(folder)
    await again(folder)
    expect(
      (await diffFolder(folder, { only: ['circuits', 'deals'] })).changes.map(({ section }) => section),
    ).toEqual(['circuits', 'deals'])
    expect((await diffFolder(folder, { symbols: ['gone'] })).changes.map(gist)).toEqual([
      'listings left GONE INE999999999',
    ])
    await expect(diffFolder(folder, { symbols: ['NOBODY'] })).rejects.toThrow(UsageError)
  })

  it('shows nothing as new that the last run did not cover', async () => {
    const folder = copyOf(first)
    await again(folder, { only: ['circuit-stocks'], skip: [] })
    expect((await diffFolder(folder)).changes).toEqual([])
  })

  it('skips a damaged file, and reports that', async () => {
    const folder = copyOf(first)
    folder.put('bulk_block_deals.json', '[{"sym":')
    // Otherwise a run of fewer streams would be part of the first one and keep its previous version.
    folder.remove('.scripstream/full-run.json')
    await again(folder, { skip: [...SKIP, 'bulk-block-deals'] })
    await again(folder, { skip: [...SKIP, 'bulk-block-deals'] })
    folder.put('upper_circuit_stocks.json', '[')
    expect((await diffFolder(folder)).notes).toEqual([expect.stringContaining('upper_circuit_stocks.json')])
  })

  it('needs an output folder', async () => {
    await expect(diffFolder(outputFolder(join(first, 'none')))).rejects.toThrow(/there is no folder/)
  })
})

describe('the previous version', () => {
  /** Starts a run like `again`, and interrupts it after this many files. */
  const brokenOff = async (folder: OutputFolder, files: number): Promise<void> => {
    const simulator = await serveSimulator({
      endpoints: streams.flatMap(({ endpoints }) => endpoints),
      stocks: STOCKS,
      asOf: EVENING,
    })
    const collector = createCollector<readonly StreamDefinition[]>({
      settings: { ...simulator.settings, out: folder.path },
      streams,
    })
    let stored = 0
    const enough$ = collector.events({ asOf: EVENING, variant: 'simulated', fresh: true, skip: SKIP }).pipe(
      filter(({ type }) => {
        if (type === 'stored') stored += 1
        return stored === files
      }),
    )
    await firstValueFrom(enough$)
    await simulator.close()
    expect(existsSync(join(folder.path, '.scripstream/run.json'))).toBe(true)
  }

  it.each([1, 12])('survives a run that is interrupted after %i files and resumed', async (files) => {
    const folder = copyOf(first)
    const expected = otherwise(folder)
    await brokenOff(folder, files)
    await again(folder, { fresh: false })
    expect((await diffFolder(folder)).changes.map(gist).sort()).toEqual(expected)
  })

  it('survives a run that is interrupted and replaced by another one', async () => {
    const folder = copyOf(first)
    const expected = otherwise(folder)
    await brokenOff(folder, 12)
    await again(folder)
    expect((await diffFolder(folder)).changes.map(gist).sort()).toEqual(expected)
  })

  it('leaves nothing behind if a run is interrupted while it is stored', async () => {
    const folder = copyOf(first)
    const expected = otherwise(folder)
    await again(copyOf(first))
    interruptStoring(folder)
    await again(folder)
    expect((await diffFolder(folder)).changes.map(gist).sort()).toEqual(expected)
    expect(readdirSync(join(folder.path, '.scripstream'))).not.toContain('previous.next')
  })

  it('does not fail the run if it cannot be stored', async () => {
    const folder = copyOf(first)
    folder.put('.scripstream/previous.next', 'a file is in the way')
    await again(folder)
    const { outcome, scripts } = JSON.parse(folder.text('.scripstream/report.json'))
    expect(outcome).toBe('complete')
    expect(JSON.stringify(scripts).match(/could not be saved/g)).toHaveLength(1)
    expect(scripts['master-data'].problems).toEqual([
      { reason: 'the previous outputs could not be saved for diff: a file has the name of its folder' },
    ])
    expect((await diffFolder(folder)).since).toBeNull()
  })

  it('has no candles', async () => {
    const folder = copyOf(first)
    await again(folder)
    const previous = readdirSync(join(folder.path, '.scripstream/previous'), {
      recursive: true,
      encoding: 'utf8',
    })
    expect(previous).toContain('master_isin_map.json')
    expect(previous.filter((name) => name.endsWith('.csv'))).toEqual([])
  })
})

/** What remains after a kill while the previous version is stored: files without a record. */
const interruptStoring = (folder: OutputFolder): void => {
  const half = join(folder.path, '.scripstream/previous.next')
  rmSync(half, { recursive: true, force: true })
  for (const file of ['company_filings', 'market_news']) mkdirSync(join(half, file), { recursive: true })
  folder.put('.scripstream/previous.next/master_isin_map.json', '[]')
}
