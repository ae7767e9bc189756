import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunReport } from '../../src/model/report.js'
import { type Simulator, serveSimulator } from '../../src/simulator/index.js'
import { differencesOf, temporariesIn } from '../crash/support.js'
import { run } from '../e2e/command.js'
import { createWrongEndpoints, NOTHING_WRONG, pickWrongAnswers } from './wrong-answers.js'

const STOCKS = 24
const FIRST_DAY = '2026-02-11T20:00:00+05:30'
const SECOND_DAY = '2026-02-12T20:00:00+05:30'

/** The codes for rejected candles of another stock: as such, or by the first rule that they violate. */
const SERIES_CODES = /^(identity|rescale|prices|shrink)$/

const root = mkdtempSync(join(tmpdir(), 'scripstream-wrong-'))
const [before, clean] = [join(root, 'before'), join(root, 'clean')]
const wrong = createWrongEndpoints()
let simulator: Simulator
let env: Record<string, string>

const collect = async (asOf: string, out: string) => {
  const args = ['run', '--as-of', asOf, '--out', out, '--json', '--log-level', 'warn', '--progress', 'none']
  const { code, stdout, stderr } = await run(args, { cwd: root, env })
  return { code, report: JSON.parse(stdout) as RunReport, stderr }
}

/** Collects the first day, and the second day as it should be. */
beforeAll(async () => {
  const options = { stocks: STOCKS, candleDays: 60, cacheBytes: 0, asOf: Date.parse(FIRST_DAY) }
  simulator = await serveSimulator({ endpoints: wrong.endpoints, ...options })
  env = Object.fromEntries(simulator.environment.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]))
  env = { ...env, SCRIPSTREAM_BACKOFF_MS: '1' }
  expect(await collect(FIRST_DAY, before)).toMatchObject({ code: 0 })
  cpSync(before, clean, { recursive: true, preserveTimestamps: true })
  simulator.control({ asOf: Date.parse(SECOND_DAY) })
  expect(await collect(SECOND_DAY, clean)).toMatchObject({ code: 0 })
})

afterAll(async () => {
  await simulator.close()
  rmSync(root, { recursive: true })
})

/** Copies the outputs of the first day for a run of the second. */
const prepareSecondRun = (): string => {
  const after = mkdtempSync(join(root, 'after-'))
  cpSync(before, after, { recursive: true, preserveTimestamps: true })
  return after
}

/** The codes of the items that a run reported as failed or incomplete, by stream and item. */
const codesIn = (log: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    log
      .split('\n')
      .filter((line) => line.includes('"item-finished"'))
      .map((line) => JSON.parse(line) as Record<string, string>)
      .map(({ stream, item, code }) => [`${stream} ${item}`, code ?? '']),
  )

type Row = Readonly<Record<string, unknown>>

/** The rows of a list, or the keys of filings: two requests may answer with the same filing, not letter by letter. */
const rowsIn = (folder: string, file: string): ReadonlySet<string> => {
  const document = JSON.parse(readFileSync(join(folder, file), 'utf8')) as readonly Row[] | { readonly data: readonly Row[] }
  if (!('data' in document)) return new Set(document.map((row) => JSON.stringify(row)))
  return new Set(document.data.map((row) => [row.isin, row.news_id, row.news_date, row.caption || row.descriptor].join()))
}

describe('wrong but well-formed answers', () => {
  it.each([
    { renamed: 'news', deals: 'cut' },
    { renamed: 'lodr', deals: 'no-count' },
    { renamed: 'circuit', deals: 'cut' },
  ] as const)('replace no stored data and have a code, and the next run completes: $renamed renamed, deals $deals', async (faults) => {
    const after = prepareSecondRun()
    const { market } = simulator
    const mix = pickWrongAnswers(market.stocks, faults)
    const symbolsOf = (isins: Iterable<string>) => [...isins].map((isin) => market.stockByIsin(isin)?.Symbol ?? '')
    wrong.choose(mix)
    const { code, stderr } = await collect(SECOND_DAY, after)
    expect(code).toBe(3)
    expect(temporariesIn(after)).toEqual([])

    const [differing, changed] = [differencesOf(after, clean), new Set(differencesOf(after, before))]
    const candles = symbolsOf([...mix.newestTimes100, ...mix.candlesOf.keys()])
    const filings = symbolsOf(faults.renamed === 'lodr' ? market.stocks.map(({ ISIN }) => ISIN) : mix.filingsOf.keys())
    const isExpected = (file: string): boolean =>
      (file.startsWith('market_news/') && faults.renamed === 'news') ||
      filings.some((symbol) => file === `company_filings/${symbol}_filings.json`) ||
      (file === 'bulk_block_deals.json' && faults.deals === 'cut')
    expect(differing.filter((file) => file.startsWith('ohlcv_data/')).sort()).toEqual(
      candles.map((symbol) => `ohlcv_data/${symbol}.csv`).sort(),
    )
    expect(differing.filter((file) => !file.startsWith('ohlcv_data/') && !isExpected(file))).toEqual([])
    // Lists of which a part was right have it, and no earlier row less; all others are as they were.
    const mixed = differing.filter((file) => changed.has(file))
    expect(mixed.filter((file) => !/^(company_filings|bulk_block_deals)/.test(file))).toEqual([])
    for (const file of mixed) {
      const [now, earlier, right] = [after, before, clean].map((folder) => rowsIn(folder, file)) as [Set<string>, Set<string>, Set<string>]
      expect(
        [...now].filter((row) => !earlier.has(row) && !right.has(row)),
        file,
      ).toEqual([])
      expect(
        [...earlier].filter((row) => right.has(row) && !now.has(row)),
        file,
      ).toEqual([])
    }

    const codes = codesIn(stderr)
    const codesOf = (stream: string, symbols: readonly string[]) => symbols.map((symbol) => codes[`${stream} ${symbol}`])
    expect(codesOf('all-ohlcv', candles)).toEqual(['prices', 'prices', ...[0, 1].map(() => expect.stringMatching(SERIES_CODES))])
    for (const [folder, stream] of [
      ['market_news', 'market-news'],
      ['company_filings', 'company-filings'],
    ] as const) {
      const symbols = differing.flatMap((file) => (file.startsWith(folder) ? [file.replace(/^.*\/|_\w+\.json$/g, '')] : []))
      expect(codesOf(stream, symbols), stream).toEqual(symbols.map(() => expect.stringMatching(/^(fields|other-stock)$/)))
    }
    expect(codes['bulk-block-deals all']).toBe(faults.deals === 'cut' ? 'count' : undefined)

    wrong.choose(NOTHING_WRONG)
    expect((await collect(SECOND_DAY, after)).code).toBe(0)
    expect(differencesOf(after, clean)).toEqual([])
  })

  it('in a master list that is shorter than it says change no file and no record of a stock', async () => {
    const after = prepareSecondRun()
    wrong.choose({ ...NOTHING_WRONG, isMasterCut: true })
    const { code, report } = await collect(SECOND_DAY, after)
    expect(code).toBe(1)
    expect(report.scripts['master-data']?.problems.map(({ code }) => code)).toContain('count')
    expect(differencesOf(after, before)).toEqual([])
  })
})
