import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EVENING } from '../streams/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { copyOf, journalsIn, placesIn, STOCKS, type Trying, tryRun } from './support.js'

const DAY = 86_400_000
const stateOf = (out: string, name: string): string => join(out, '.scripstream', name)
const isNewsOf = (symbol: string) => (request: string) => request === `getLiveNews ${symbol}`
const later = (request: string): boolean => /GAMMA|DELTA/.test(request) && !request.startsWith('fundamental')

const golden = async (now = EVENING): Promise<unknown> => {
  const out = temporaryFolder()
  await tryRun({ out, now })
  return hashOutputs(out)
}

describe('a smaller run after an unfinished run', () => {
  const parts: readonly (readonly [string, Omit<Trying, 'out'>])[] = [
    ['some stocks of a stream', { only: ['fundamental-data'], symbols: ['BETA'] }],
    ['a stream', { only: ['market-news'] }],
    ['some stocks', { symbols: ['ALPHA', 'BETA'] }],
    ['what failed in a stream', { only: ['market-news'], pairs: { 'market-news': ['BETA'] } }],
    ['a part that fails again', { only: ['market-news'], symbols: ['BETA'], isAway: isNewsOf('BETA') }],
    ['a part that is refused', { symbols: ['TCSS'] }],
  ]
  const now = EVENING + 60_000

  it.each(parts)('leaves a run that lost items resumable: %s', async (_, options) => {
    const out = temporaryFolder()
    const first = await tryRun({ out, now: EVENING, isAway: isNewsOf('ALPHA') })
    expect(first.report).toMatchObject({ isResumable: true })
    await tryRun({ out, now, ...options }).catch(() => undefined)
    const { requests, report, events } = await tryRun({ out, now: now + 60_000 })
    expect(events[0]).toMatchObject({ isContinued: true })
    expect(requests.filter((request) => request !== 'getLiveNews ALPHA')).toEqual([])
    expect(report?.outcome).toBe('complete')
    expect(hashOutputs(out)).toEqual(await golden())
    expect([existsSync(stateOf(out, 'run.json')), existsSync(stateOf(out, 'part')), journalsIn(out)]).toEqual(
      [false, false, []],
    )
    expect((await tryRun({ out, now: now + 60_000 })).requests).toEqual([])
  })

  it.each(parts)('leaves an interrupted run resumable: %s', async (_, options) => {
    const out = temporaryFolder()
    await tryRun({ out, now: EVENING, hangs: later })
    await tryRun({ out, now, ...options }).catch(() => undefined)
    const { requests, report } = await tryRun({ out, now: now + 60_000 })
    expect(requests.filter((request) => !later(request))).toEqual([])
    expect(report?.outcome).toBe('complete')
    expect(hashOutputs(out)).toEqual(await golden())
  })

  it('passes on what it stored: the unfinished run does not request it again', async () => {
    const out = temporaryFolder()
    await tryRun({ out, now: EVENING, isAway: (request) => /getLiveNews (ALPHA|BETA|DELTA)/.test(request) })
    for (const symbol of ['ALPHA', 'BETA'])
      await tryRun({ out, now, only: ['market-news'], symbols: [symbol] })
    expect((await tryRun({ out, now })).requests).toEqual(['getLiveNews DELTA'])
    expect(hashOutputs(out)).toEqual(await golden())
  })

  it('keeps its newer records in a file over all stocks', async () => {
    const out = temporaryFolder()
    await tryRun({ out, now: EVENING, isAway: isNewsOf('ALPHA') })
    await tryRun({
      out,
      now,
      only: ['fundamental-data'],
      symbols: ['BETA'],
      answers: (request) =>
        request === 'fundamental BETA' ? { data: [{ isin: STOCKS[1]?.Isin, CV: { PE: 'new' } }] } : undefined,
    })
    const inFile = (): unknown => JSON.parse(readFileSync(join(out, 'fundamental_data.json'), 'utf8'))
    const expected = inFile()
    expect(JSON.stringify(expected)).toContain('new')
    await tryRun({ out, now })
    expect(inFile()).toEqual(expected)
    expect((expected as { Symbol: string }[]).map(({ Symbol: symbol }) => symbol)).toEqual(
      STOCKS.map(({ Sym }) => Sym),
    )
  })

  it('is resumed by its own command after a kill, and the unfinished run after that', async () => {
    const out = temporaryFolder()
    await tryRun({ out, now: EVENING, isAway: isNewsOf('ALPHA') })
    const part = { out, now, only: ['market-news'] }
    await tryRun({ ...part, hangs: isNewsOf('DELTA') })
    expect((await tryRun(part)).requests).toEqual(['getLiveNews DELTA'])
    expect((await tryRun({ out, now })).requests).toEqual([])
    expect(hashOutputs(out)).toEqual(await golden())
  })

  it('does not prevent a plain run from resuming after a kill', async () => {
    const out = temporaryFolder()
    await tryRun({ out, now: EVENING, isAway: isNewsOf('ALPHA') })
    await tryRun({ out, now, only: ['market-news'], hangs: isNewsOf('DELTA') })
    expect((await tryRun({ out, now })).requests).toEqual([])
    expect(hashOutputs(out)).toEqual(await golden())
  })

  it('can be killed at any place of a line while its journals are taken over', async () => {
    const out = temporaryFolder()
    const only = ['market-news', 'new-announcements']
    await tryRun({ out, only, now: EVENING, isAway: isNewsOf('ALPHA') })
    await tryRun({ out, now, only: ['market-news'], hangs: isNewsOf('DELTA') })
    const whole = temporaryFolder()
    await tryRun({ out: whole, only, now: EVENING })
    const part = readFileSync(stateOf(out, 'part/journals/market-news.ndjson'))
    expect(part.length).toBeGreaterThan(100)
    for (const bytes of [...placesIn(part), part.length]) {
      const killed = copyOf(out)
      appendFileSync(stateOf(killed, 'journals/market-news.ndjson'), `\n${part.subarray(0, bytes)}`)
      expect((await tryRun({ out: killed, only, now })).requests).toEqual([])
      expect(hashOutputs(killed)).toEqual(hashOutputs(whole))
      rmSync(killed, { recursive: true })
    }
  })

  it('leaves what diff compares with as it was', async () => {
    const out = temporaryFolder()
    await tryRun({ out, now: EVENING - DAY })
    await tryRun({ out, now: EVENING, isAway: isNewsOf('ALPHA') })
    const baseline = hashOutputs(stateOf(out, 'previous'))
    await tryRun({ out, now, only: ['market-news'], symbols: ['BETA'] })
    await tryRun({ out, now })
    expect(hashOutputs(stateOf(out, 'previous'))).toEqual(baseline)
  })

  it('is forgotten when another run replaces the unfinished one', async () => {
    const out = temporaryFolder()
    await tryRun({ out, now: EVENING, isAway: isNewsOf('ALPHA') })
    await tryRun({ out, now, only: ['market-news'], hangs: isNewsOf('DELTA') })
    expect(existsSync(stateOf(out, 'part'))).toBe(true)
    expect((await tryRun({ out, now, fresh: true, isAway: isNewsOf('ALPHA') })).requests[0]).toBe(
      'fetchdt all',
    )
    expect(existsSync(stateOf(out, 'part'))).toBe(false)
  })
})

describe('a plain run', () => {
  const now = EVENING + 60_000
  const complete = async (): Promise<string> => {
    const out = temporaryFolder()
    await tryRun({ out, now: EVENING - DAY })
    await tryRun({ out, now: EVENING })
    return out
  }
  /** The second day ended with an item missing that a later attempt may not get either. */
  const incomplete = async (): Promise<string> => {
    const out = temporaryFolder()
    await tryRun({ out, now: EVENING - DAY })
    expect((await tryRun({ out, now: EVENING, fails: isNewsOf('BETA') })).report).toMatchObject({
      missing: { 'market-news': 1 },
    })
    return out
  }
  const retry = { only: ['market-news'], pairs: { 'market-news': ['BETA'] } }

  it.each([
    ['for a temporary reason', { isAway: isNewsOf('ALPHA') }],
    ['for good', { fails: isNewsOf('ALPHA') }],
  ])('requests only what a part of a finished run lost %s', async (_, loss) => {
    const out = await complete()
    const baseline = hashOutputs(stateOf(out, 'previous'))
    expect((await tryRun({ out, now, only: ['market-news'], ...loss })).report?.outcome).toBe('partial')
    const again = await tryRun({ out, now: now + 60_000, ...loss })
    expect(new Set(again.requests)).toEqual(new Set(['fetchdt all', 'getLiveNews ALPHA']))
    expect(again.report?.outcome).toBe('partial')
    const { requests, report, events } = await tryRun({ out, now: now + 60_000 })
    expect(requests.filter((request) => request !== 'fetchdt all')).toEqual(['getLiveNews ALPHA'])
    expect(events[0]).toMatchObject({ isRemainder: true })
    expect(report?.outcome).toBe('complete')
    expect((await tryRun({ out, now: now + 60_000 })).requests).toEqual([])
    expect(hashOutputs(stateOf(out, 'previous'))).toEqual(baseline)
  })

  it('resumes a part of a finished run that was killed', async () => {
    const out = await complete()
    await tryRun({ out, now, only: ['market-news'], hangs: isNewsOf('DELTA') })
    expect((await tryRun({ out, now })).requests).toEqual(['getLiveNews DELTA'])
    expect((await tryRun({ out, now })).requests).toEqual([])
    expect(hashOutputs(out)).toEqual(await golden())
  })

  it('requests everything once a file has changed, or in the next session, or with --fresh', async () => {
    for (const [change, options] of [
      [true, { now }],
      [false, { now: EVENING + DAY }],
      [false, { now, fresh: true }],
    ] as const) {
      const out = await complete()
      await tryRun({ out, now, only: ['market-news'], fails: isNewsOf('ALPHA') })
      if (change) rmSync(join(out, 'ohlcv_data', 'GAMMA.csv'))
      expect((await tryRun({ out, ...options })).requests.length).toBeGreaterThan(15)
    }
  })

  it('requests everything where the list of failed items is damaged', async () => {
    const out = await complete()
    await tryRun({ out, now, only: ['market-news'], fails: isNewsOf('ALPHA') })
    rmSync(stateOf(out, 'failed.json'))
    expect((await tryRun({ out, now })).requests.length).toBeGreaterThan(15)
  })

  it('requests nothing once a retry has fetched what a run of everything lost for good', async () => {
    const out = await incomplete()
    const baseline = hashOutputs(stateOf(out, 'previous'))
    expect((await tryRun({ out, now, ...retry })).report?.outcome).toBe('complete')
    expect(hashOutputs(stateOf(out, 'previous'))).toEqual(baseline)
    const { requests, report } = await tryRun({ out, now: now + 60_000 })
    expect(requests).toEqual([])
    expect(report).toMatchObject({
      outcome: 'complete',
      scripts: { 'market-news': { outcome: 'success', items: { success: 3, empty: 1 } } },
    })
    expect(report).not.toHaveProperty('missing')
    expect(hashOutputs(out)).toEqual(await golden())
  })

  it('requests only what is missing after a retry in vain, and without one', async () => {
    for (const isRetried of [true, false]) {
      const out = await incomplete()
      const baseline = hashOutputs(stateOf(out, 'previous'))
      if (isRetried) await tryRun({ out, now, ...retry, fails: isNewsOf('BETA') })
      expect((await tryRun({ out, now })).requests).toEqual(['fetchdt all', 'getLiveNews BETA'])
      expect(hashOutputs(stateOf(out, 'previous'))).toEqual(baseline)
      expect((await tryRun({ out, now })).requests).toEqual([])
    }
  })
})
