import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EVENING } from '../streams/support.js'
import { temporaryFolder } from '../support/folders.js'
import { STOCKS, tryRun } from './support.js'

const DAY = 86_400_000
const only = ['market-news']
const [first, ...others] = STOCKS
const RENAMED = [{ ...first, Sym: 'OMEGA' }, ...others]
const watchlist = ['ALPHA', 'NSE:BETA', 'NOBODY']
const WRONG = [
  { given: 'ALPHA', now: 'OMEGA' },
  { given: 'NOBODY', near: [] },
]

const newsIn = (out: string, symbol: string): boolean =>
  existsSync(join(out, 'market_news', `${symbol}_news.json`))

describe('a renamed stock of a watchlist', () => {
  it('is fetched under its new symbol and reported, as is a symbol that is not listed', async () => {
    const out = temporaryFolder()
    await tryRun({ out, only, now: EVENING - DAY })
    const { report, requests } = await tryRun({
      out,
      only,
      now: EVENING,
      stocks: RENAMED,
      symbols: watchlist,
    })
    expect(report).toMatchObject({ outcome: 'partial', stocks: 2, wrongSymbols: WRONG })
    expect(report?.missing).toBeUndefined()
    expect(requests).toEqual(['fetchdt all', 'getLiveNews ALPHA', 'getLiveNews BETA'])
    expect(newsIn(out, 'OMEGA')).toBe(true)
  })

  it('is known in later runs by the document of former stocks', async () => {
    const out = temporaryFolder()
    await tryRun({ out, only, now: EVENING - DAY })
    await tryRun({ out, only, now: EVENING, stocks: RENAMED })
    const later = { out, only, stocks: RENAMED, symbols: watchlist }
    for (const now of [EVENING + DAY, EVENING + 2 * DAY, EVENING + 3 * DAY])
      expect((await tryRun({ ...later, now })).report?.wrongSymbols).toEqual(WRONG)
    rmSync(join(out, '.scripstream', 'former-stocks.json'))
    const forgotten = await tryRun({ ...later, now: EVENING + 4 * DAY })
    // Alpha is still the name of the company.
    expect(forgotten.report?.wrongSymbols).toEqual([{ given: 'NOBODY', near: [] }])
  })

  it('is no fault where its old symbol was typed', async () => {
    const out = temporaryFolder()
    await tryRun({ out, only, now: EVENING - DAY })
    const typed = { out, only, now: EVENING, stocks: RENAMED, wrongSymbols: 'reject' } as const
    const { report } = await tryRun({ ...typed, symbols: ['ALPHA'] })
    expect(report).toMatchObject({ outcome: 'complete', stocks: 1 })
    expect(report?.scripts['master-data']?.problems).toMatchObject([
      { reason: expect.stringContaining('renamed') },
      { reason: 'ALPHA is now OMEGA' },
    ])
    await expect(tryRun({ ...typed, symbols: ['ALPHA', 'NOBODY'] })).rejects.toThrow('unknown symbol: NOBODY')
  })
})

describe('another spelling of the same stocks', () => {
  const isin = `${first?.Isin}`
  const hangs = (request: string): boolean => request === 'getLiveNews BETA'

  it.each([
    ['the first run of a folder', undefined],
    ['a folder with a master list', EVENING - DAY],
  ])('resumes an unfinished run: %s', async (_, earlier) => {
    const out = temporaryFolder()
    if (earlier !== undefined) await tryRun({ out, only, now: earlier })
    await tryRun({ out, only, now: EVENING, symbols: [isin, 'BETA.NS'], hangs })
    const { requests, events } = await tryRun({ out, only, now: EVENING, symbols: ['NSE:BETA', 'alpha'] })
    expect(events[0]).toMatchObject({ isContinued: true })
    expect(requests).toEqual(['getLiveNews BETA'])
  })

  it('removes what it fetches from the failed items', async () => {
    const out = temporaryFolder()
    const failedIn = (): unknown => JSON.parse(readFileSync(join(out, '.scripstream', 'failed.json'), 'utf8'))
    await tryRun({ out, only, now: EVENING - DAY, fails: (request) => /ALPHA|GAMMA/.test(request) })
    expect(failedIn()).toEqual({ 'market-news': ['ALPHA', 'GAMMA'] })
    await tryRun({ out, only, now: EVENING, symbols: [isin] })
    expect(failedIn()).toEqual({ 'market-news': ['GAMMA'] })
    writeFileSync(join(out, 'master_isin_map.json'), '[]')
    await tryRun({ out, only, now: EVENING + DAY, symbols: [`${STOCKS[2]?.Isin}`] })
    expect(failedIn()).toEqual({})
  })

  it('is a retry of the same items', async () => {
    const out = temporaryFolder()
    const { requests } = await tryRun({ out, only, pairs: { 'market-news': ['NSE:BETA', isin] } })
    expect(requests).toEqual(['fetchdt all', 'getLiveNews ALPHA', 'getLiveNews BETA'])
  })
})
