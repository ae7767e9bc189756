import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toInstant } from '../../src/model/trading-day.js'
import { readPreviousOutputs } from '../../src/storage/previous-outputs.js'
import { EVENING } from '../streams/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { copyOf, journalsIn, STOCKS, STREAMS, type Trying, tryRun } from './support.js'

const SYMBOLS = STOCKS.map(({ Sym }) => Sym)
const CALLS = {
  'fundamental-data': 'fundamental',
  'new-announcements': 'announcements',
  'market-news': 'getLiveNews',
}

/** Stocks of streams, as `fundamental ALPHA`. */
const pairsOf = (
  only: readonly string[] = STREAMS,
  symbols: readonly string[] = SYMBOLS,
): readonly string[] =>
  Object.entries(CALLS).flatMap(([stream, call]) =>
    only.includes(stream) ? symbols.map((symbol) => `${call} ${symbol}`) : [],
  )

const listIn = (out: string): Readonly<Record<string, readonly string[]>> => {
  const list = join(out, '.scripstream', 'failed.json')
  return existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : {}
}

const missingIn = (out: string): readonly string[] =>
  Object.entries(listIn(out))
    .flatMap(([stream, items]) => items.map((item) => `${CALLS[stream as keyof typeof CALLS]} ${item}`))
    .sort()

const hangs = (request: string): boolean => /GAMMA|DELTA/.test(request)

const oneOf = (failing: readonly string[]) => (request: string) => failing.includes(request)

/** What was requested, but for the list of stocks. */
const itemsIn = (requests: readonly string[]): readonly string[] =>
  [...new Set(requests.filter((request) => request !== 'fetchdt all'))].sort()

describe('what failed', () => {
  const failing = fc.subarray([...pairsOf()])
  const run = fc.record({
    how: fc.constantFrom('again', 'only', 'symbols', 'killed'),
    failing,
    only: fc.subarray([...STREAMS], { minLength: 1 }),
    symbols: fc.subarray(SYMBOLS, { minLength: 1 }),
  })

  it('stays listed through other runs and interruptions, until the same command has fetched everything', async () => {
    const golden = temporaryFolder()
    await tryRun({ out: golden })
    await fc.assert(
      fc.asyncProperty(failing, fc.array(run, { maxLength: 3 }), async (first, runs) => {
        const out = temporaryFolder()
        await tryRun({ out, fails: oneOf(first) })
        let missing = new Set(first)
        let wasKilled = false
        for (const { how, failing, only, symbols } of runs) {
          const fails = oneOf(failing)
          const options = { again: {}, only: { only }, symbols: { symbols }, killed: { hangs } }[how]
          const { requests } = await tryRun({ out, fails, ...options })
          // An interrupted run has no report.
          wasKilled ||= how === 'killed'
          const requested = pairsOf().filter((pair) => requests.includes(pair))
          missing = new Set(
            [...missing].filter((pair) => !requested.includes(pair)).concat(requested.filter(fails)),
          )
          if (!wasKilled) expect(missingIn(out)).toEqual([...missing].sort())
        }
        // The first one may resume an interrupted run.
        for (let again = 0; again < 2; again += 1) await tryRun({ out })
        expect([(await tryRun({ out })).requests, listIn(out)]).toEqual([[], {}])
        expect(hashOutputs(out)).toEqual(hashOutputs(golden))
      }),
      { seed: 20_260_212, numRuns: 8, endOnFailure: true },
    )
  })

  const lost = ['fundamental BETA', 'getLiveNews ALPHA']
  const commands: readonly (readonly [string, 'new' | 'finished', Omit<Trying, 'out'>])[] = [
    ['everything', 'new', {}],
    ['a stream', 'new', { only: ['fundamental-data', 'market-news'] }],
    ['some stocks', 'new', { symbols: ['ALPHA', 'BETA'] }],
    ['a stream of a finished folder', 'finished', { only: ['fundamental-data', 'market-news'] }],
    ['some stocks of a finished folder', 'finished', { symbols: ['ALPHA', 'BETA'] }],
    [
      'a stream and a stock',
      'finished',
      { only: ['fundamental-data', 'market-news'], symbols: ['ALPHA', 'BETA'] },
    ],
  ]

  it.each(commands)('for good is all that the same command requests: %s', async (_, folder, options) => {
    const out = temporaryFolder()
    if (folder === 'finished') await tryRun({ out })
    const first = await tryRun({ out, ...options, fails: oneOf(lost) })
    expect(first.report?.outcome).toBe('partial')
    const inVain = await tryRun({ out, ...options, fails: oneOf(lost) })
    expect([itemsIn(inVain.requests), inVain.report?.outcome]).toEqual([lost, 'partial'])
    const again = await tryRun({ out, ...options })
    expect([itemsIn(again.requests), again.report?.outcome]).toEqual([lost, 'complete'])
    expect([(await tryRun({ out, ...options })).requests, listIn(out)]).toEqual([[], {}])
    const clean = temporaryFolder()
    await tryRun({ out: clean, ...(folder === 'finished' ? {} : options) })
    expect(hashOutputs(out)).toEqual(hashOutputs(clean))
  })

  it.each([
    ['in the session', '12:00', '12:10'],
    ['before the data is published', '16:00', '18:30'],
  ])('does not keep a part from being fetched as it is now: %s', async (_, first, then) => {
    const out = temporaryFolder()
    const part = { out, symbols: ['ALPHA', 'BETA'], only: ['fundamental-data', 'market-news'] }
    await tryRun({ ...part, now: toInstant('2026-02-12', first), fails: oneOf(lost) })
    const { requests } = await tryRun({ ...part, now: toInstant('2026-02-12', then) })
    expect(itemsIn(requests)).toEqual(pairsOf(part.only, part.symbols).toSorted())
  })

  it('is resumed after an interruption, and an item that is no longer listed is a warning', async () => {
    const out = temporaryFolder()
    await tryRun({ out, fails: oneOf(['getLiveNews ALPHA', 'getLiveNews DELTA', 'announcements BETA']) })
    expect((await tryRun({ out, hangs })).report).toBeUndefined()
    const unlisted = copyOf(out)
    const goneOn = await tryRun({
      out: unlisted,
      only: ['new-announcements', 'market-news'],
      pairs: { 'new-announcements': ['BETA'], 'market-news': ['ALPHA', 'DELTA'] },
      stocks: STOCKS.filter(({ Sym }) => Sym !== 'BETA'),
      fails: oneOf(['getLiveNews DELTA']),
      fresh: true,
    })
    expect(goneOn.report?.scripts['new-announcements']).toMatchObject({
      outcome: 'success',
      problems: [{ reason: 'no longer listed, skipped: BETA' }],
    })
    expect(missingIn(unlisted)).toEqual(['getLiveNews DELTA'])

    const resumed = await tryRun({ out })
    expect(resumed.requests).toEqual(['getLiveNews DELTA'])
    expect([resumed.report?.outcome, missingIn(out)]).toEqual(['complete', []])
  })

  it('is assumed for all items not yet requested, if the list is damaged', async () => {
    const out = temporaryFolder()
    await tryRun({ out, fails: oneOf(['getLiveNews ALPHA']) })
    writeFileSync(join(out, '.scripstream', 'failed.json'), '{"market-news": ["AL')
    const { report } = await tryRun({ out, only: ['new-announcements'] })
    expect(report?.missing).toMatchObject({ 'market-news': 'all' })
    expect(report?.missing).not.toHaveProperty('new-announcements')
    expect((await tryRun({ out })).requests).toContain('getLiveNews ALPHA')
    expect(listIn(out)).not.toHaveProperty('market-news')
  })
})

const DAY = 86_400_000
const isNewsOfTwo = (request: string): boolean =>
  request === 'getLiveNews ALPHA' || request === 'getLiveNews BETA'
const stateOf = (out: string, name: string): string => join(out, '.scripstream', name)
const recordIn = (out: string): Record<string, unknown> =>
  JSON.parse(readFileSync(stateOf(out, 'run.json'), 'utf8'))

const golden = async (): Promise<unknown> => {
  const out = temporaryFolder()
  await tryRun({ out })
  return hashOutputs(out)
}

describe('a run that ended with losses by an outage', () => {
  it('is resumed by the same command, which requests only the failed items, and then is complete', async () => {
    const out = temporaryFolder()
    const first = await tryRun({ out, isAway: isNewsOfTwo })
    expect(first.report).toMatchObject({
      outcome: 'partial',
      isResumable: true,
      missing: { 'market-news': 2 },
    })
    expect(recordIn(out).endedAt).toBe(EVENING)
    expect(journalsIn(out)).not.toEqual([])
    const second = await tryRun({ out })
    expect([...second.requests].sort()).toEqual(['getLiveNews ALPHA', 'getLiveNews BETA'])
    expect(second.events[0]).toMatchObject({ isContinued: true })
    expect(second.report?.outcome).toBe('complete')
    expect(second.report).not.toHaveProperty('isResumable')
    expect(hashOutputs(out)).toEqual(await golden())
    expect([existsSync(stateOf(out, 'run.json')), journalsIn(out), listIn(out)]).toEqual([false, [], {}])
    expect((await tryRun({ out })).requests).toEqual([])
  })

  it('can be resumed as often as the outage comes back', async () => {
    const out = temporaryFolder()
    await tryRun({ out, isAway: (request) => /GAMMA|ALPHA/.test(request) })
    const second = await tryRun({ out, isAway: (request) => /ALPHA/.test(request) })
    expect(second.requests.filter((request) => /all|BETA|DELTA/.test(request))).toEqual([])
    expect(second.report).toMatchObject({ outcome: 'partial', isResumable: true })
    expect(new Set((await tryRun({ out })).requests.filter((request) => !request.endsWith('ALPHA')))).toEqual(
      new Set(),
    )
    expect(hashOutputs(out)).toEqual(await golden())
  })

  it('also requests degraded items again', async () => {
    const out = temporaryFolder()
    const first = await tryRun({ out, isAway: (request) => request === 'lodr GAMMA' })
    expect(first.report).toMatchObject({ isResumable: true, scripts: { 'company-filings': { degraded: 1 } } })
    expect([...(await tryRun({ out })).requests].sort()).toEqual(['company_filings GAMMA', 'lodr GAMMA'])
    expect(hashOutputs(out)).toEqual(await golden())
  })

  it('is reduced to its losses, not resumed, if they are permanent', async () => {
    const out = temporaryFolder()
    const { report } = await tryRun({ out, fails: isNewsOfTwo })
    expect(report?.outcome).toBe('partial')
    expect(report).not.toHaveProperty('isResumable')
    expect(existsSync(stateOf(out, 'run.json'))).toBe(false)
  })

  it('is not resumed on the next day, whose run compares its changes with what this run left', async () => {
    const out = temporaryFolder()
    const { events } = await tryRun({ out, isAway: isNewsOfTwo, now: EVENING })
    const next = await tryRun({ out, now: EVENING + DAY })
    expect(next.requests[0]).toBe('fetchdt all')
    expect(next.events[0]).not.toHaveProperty('givenUp')
    expect((await readPreviousOutputs(out))?.run).toBe((events[0] as { run: string }).run)
  })

  it('differs from an interrupted run, which does not become the baseline for changes', async () => {
    const out = temporaryFolder()
    const first = await tryRun({ out, now: EVENING })
    await tryRun({ out, now: EVENING + DAY, hangs: (request) => /DELTA/.test(request) })
    expect(recordIn(out)).not.toHaveProperty('endedAt')
    await tryRun({ out, now: EVENING + 2 * DAY })
    expect((await readPreviousOutputs(out))?.run).toBe((first.events[0] as { run: string }).run)
  })

  it('leaves the sizes of its files for verify to compare', async () => {
    const out = temporaryFolder()
    await tryRun({ out, isAway: isNewsOfTwo })
    expect(readFileSync(stateOf(out, 'output-digests'), 'utf8')).toContain(' market_news/DELTA_news.json\n')
  })
})

describe('an unavailable master list', () => {
  const isMaster = (request: string): boolean => request === 'fetchdt all'

  it('leaves an unfinished run of another configuration resumable', async () => {
    const out = temporaryFolder()
    await tryRun({ out, isAway: isNewsOfTwo })
    const { report } = await tryRun({ out, isAway: isMaster, only: ['fundamental-data'] })
    expect(report?.outcome).toBe('failed')
    expect([...(await tryRun({ out })).requests].sort()).toEqual(['getLiveNews ALPHA', 'getLiveNews BETA'])
  })

  it('leaves nothing to resume if nothing was stored', async () => {
    const out = temporaryFolder()
    await tryRun({ out, isAway: isMaster })
    expect([existsSync(stateOf(out, 'run.json')), journalsIn(out)]).toEqual([false, []])
    expect((await tryRun({ out })).report?.outcome).toBe('complete')
  })

  it('is requested again if its file was changed, and its failure leaves the run resumable', async () => {
    const out = temporaryFolder()
    await tryRun({ out, isAway: isNewsOfTwo })
    writeFileSync(join(out, 'master_isin_map.json'), '[]')
    expect((await tryRun({ out, isAway: isMaster })).report?.outcome).toBe('failed')
    expect([...(await tryRun({ out })).requests].sort()).toEqual([
      'fetchdt all',
      'getLiveNews ALPHA',
      'getLiveNews BETA',
    ])
    expect(hashOutputs(out)).toEqual(await golden())
  })
})
