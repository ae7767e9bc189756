import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { firstValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { planRetry } from '../../src/cli/run/retry.js'
import { streams } from '../../streams/registry.js'
import { EVENING } from '../streams/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { copyOf, STOCKS, STREAMS, type Tried, type Trying, tryRun } from './support.js'

const SYMBOLS = STOCKS.map(({ Sym }) => Sym)
const CALLS = {
  'fundamental-data': 'fundamental',
  'new-announcements': 'announcements',
  'market-news': 'getLiveNews',
}

/** Stocks of streams, as `fundamental ALPHA`. */
const pairsOf = (only: readonly string[] = STREAMS, symbols: readonly string[] = SYMBOLS): readonly string[] =>
  Object.entries(CALLS).flatMap(([stream, call]) => (only.includes(stream) ? symbols.map((symbol) => `${call} ${symbol}`) : []))

/** A run of what failed before; nothing if nothing did. */
const retry = async (trying: Trying): Promise<Tried | undefined> => {
  const storage = folder(trying.out)
  const found = await firstValueFrom(
    planRetry({}, { folder: storage, streams, settings: { fetchOhlcv: true, out: trying.out }, now: trying.now ?? EVENING }),
  )
  return 'run' in found ? tryRun({ ...found.run, ...trying }) : undefined
}

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

describe('what failed', () => {
  const failing = fc.subarray([...pairsOf()])
  const run = fc.record({
    how: fc.constantFrom('retry', 'only', 'symbols', 'killed'),
    failing,
    only: fc.subarray([...STREAMS], { minLength: 1 }),
    symbols: fc.subarray(SYMBOLS, { minLength: 1 }),
  })

  it('stays listed through retries, other runs and interruptions, until a retry has fetched everything', async () => {
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
          const scopes = { retry: [...missing], only: pairsOf(only), symbols: pairsOf(undefined, symbols), killed: [] }
          const requested: readonly string[] = scopes[how]
          missing = new Set([...missing].filter((pair) => !requested.includes(pair)).concat(requested.filter(fails)))
          if (how === 'retry') await retry({ out, fails })
          else if (how === 'killed') await tryRun({ out, fails, hangs })
          else await tryRun({ out, fails, ...(how === 'only' ? { only } : { symbols }) })
          // An interrupted run has no report.
          wasKilled ||= how === 'killed'
          if (!wasKilled) expect(missingIn(out)).toEqual([...missing].sort())
        }
        // The first one may resume an interrupted run.
        for (let again = 0; again < 2; again += 1) await retry({ out })
        expect(await retry({ out })).toBeUndefined()
        expect(hashOutputs(out)).toEqual(hashOutputs(golden))
      }),
      { seed: 20_260_212, numRuns: 8, endOnFailure: true },
    )
  })

  it('resumes an interrupted retry, and warns about items that are no longer listed', async () => {
    const out = temporaryFolder()
    await tryRun({ out, fails: oneOf(['getLiveNews ALPHA', 'getLiveNews DELTA', 'announcements BETA']) })
    expect((await retry({ out, hangs }))?.report).toBeUndefined()
    const stocks = STOCKS.filter(({ Sym }) => Sym !== 'BETA')
    const unlisted = copyOf(out)
    const goneOn = await retry({ out: unlisted, stocks, fails: oneOf(['getLiveNews DELTA']), fresh: true })
    expect(goneOn?.report?.scripts['new-announcements']).toMatchObject({
      outcome: 'success',
      problems: [{ reason: 'no longer listed, skipped: BETA' }],
    })
    expect(missingIn(unlisted)).toEqual(['getLiveNews DELTA'])

    const resumed = await retry({ out })
    expect(resumed?.requests).toEqual(['getLiveNews DELTA'])
    expect([resumed?.report?.outcome, missingIn(out)]).toEqual(['complete', []])
  })

  it('is assumed for all items not yet requested, if the list is damaged', async () => {
    const out = temporaryFolder()
    await tryRun({ out, fails: oneOf(['getLiveNews ALPHA']) })
    const list = join(out, '.scripstream', 'failed.json')
    writeFileSync(list, '{"market-news": ["AL')
    await expect(retry({ out })).rejects.toThrow('failed.json (the failed items) is damaged')
    const { report } = await tryRun({ out, only: ['new-announcements'] })
    expect(report?.missing).toMatchObject({ 'market-news': 'all' })
    expect(report?.missing).not.toHaveProperty('new-announcements')
    expect((await retry({ out }))?.requests).toContain('getLiveNews ALPHA')
    expect(listIn(out)).not.toHaveProperty('market-news')
  })
})
