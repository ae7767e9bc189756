import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLost } from '../../src/model/outcome.js'
import type { RunReport } from '../../src/model/report.js'
import { type Simulator, serveSimulator } from '../../src/simulator/index.js'
import { differencesOf, temporariesIn } from '../crash/support.js'
import { run } from '../e2e/command.js'
import { accountOf, type Folders, type State, streamOfList } from './account.js'
import { faultsOfFirstAnswers, PATIENT, STOCKS } from './faults.js'
import { openFaultyNetwork } from './faulty-network.js'
import { createWrongEndpoints, NOTHING_WRONG, pickWrongAnswers, RENAMED, type WrongAnswers } from './wrong-answers.js'

/** The seeds of the mixes of wrong answers; add more with `CHAOS_SEEDS=1,2,3,…`. */
const SEEDS = (process.env.CHAOS_SEEDS ?? '1,2,3').split(',').map(Number)
const MS_PER_STOCK = 2_000

/** Every third mix comes with all faults and outages, which take time; the others only with a slow line. */
const isStormy = (seed: number): boolean => seed % 3 === 1
const slowLine = { bitsPerSecond: 2e6 + STOCKS * 2e5, jitterMs: 100 }

/** The codes for rejected candles of another stock: as such, or by the first rule that they violate. */
const SERIES_CODES = ['identity', 'rescale', 'prices', 'shrink']

const FIRST_DAY = '2026-02-11T20:00:00+05:30'
const SECOND_DAY = '2026-02-12T20:00:00+05:30'

const root = mkdtempSync(join(tmpdir(), 'scripstream-chaos-'))
const [before, clean] = [join(root, 'before'), join(root, 'clean')]
const wrong = createWrongEndpoints()
let simulator: Simulator
let env: Record<string, string>

const collect = async (asOf: string, out: string, place: Record<string, string>) => {
  const args = ['run', '--as-of', asOf, '--out', out, '--json', '--log-level', 'warn', '--progress', 'none']
  const { code, stdout, stderr } = await run(args, { cwd: root, env: place })
  return { code, report: JSON.parse(stdout) as RunReport, stderr }
}

/** Collects the first day, and the second day as it should be, both without faults. */
beforeAll(
  async () => {
    const options = { stocks: STOCKS, candleDays: 60, cacheBytes: 0, asOf: Date.parse(FIRST_DAY) }
    simulator = await serveSimulator({ endpoints: wrong.endpoints, ...options })
    env = Object.fromEntries(simulator.environment.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]))
    expect(await collect(FIRST_DAY, before, env)).toMatchObject({ code: 0 })
    cpSync(before, clean, { recursive: true, preserveTimestamps: true })
    simulator.control({ asOf: Date.parse(SECOND_DAY) })
    expect(await collect(SECOND_DAY, clean, env)).toMatchObject({ code: 0 })
  },
  60_000 + STOCKS * MS_PER_STOCK,
)

afterAll(async () => {
  await simulator.close()
  rmSync(root, { recursive: true })
})

/** Copies the outputs of the first day for a run of the second. */
const prepareSecondRun = (): Folders => {
  const after = mkdtempSync(join(root, 'after-'))
  cpSync(before, after, { recursive: true, preserveTimestamps: true })
  return { before, clean, after }
}

/** The items that a run reported as failed or incomplete, with code, by stream; a failed stream represents all its items. */
const namedIn = (log: string, { scripts }: RunReport) => {
  const codes = new Map<string, string>()
  for (const line of log.split('\n').filter((text) => text.startsWith('{'))) {
    const { msg, stream, item, status, degraded, code } = JSON.parse(line) as Record<string, string>
    if (msg === 'item-finished' && (isLost({ status: status as 'error' }) || degraded !== undefined))
      codes.set(`${stream} ${item}`, code ?? '')
  }
  const streamCodes = (stream: string) => [
    ...(scripts[stream]?.problems ?? []).map(({ code }) => code),
    ...[...codes].filter(([key]) => key.startsWith(`${stream} `)).map(([, code]) => code),
  ]
  const isNamed = (stream: string, item: string): boolean =>
    codes.has(`${stream} ${item}`) ||
    scripts[stream]?.outcome === 'failed' ||
    [...codes.keys()].some((key) => key === `${stream} ${stream}`)
  return { isNamed, codeOf: (stream: string, item: string) => codes.get(`${stream} ${item}`), streamCodes }
}

/** The items with wrong answers, which must stay unchanged: `stream item`. */
const wrongItems = (wrong: WrongAnswers, symbolOf: (isin: string) => string): readonly string[] => [
  ...[...wrong.newestTimes100, ...wrong.candlesOf.keys()].map((isin) => `all-ohlcv ${symbolOf(isin)}`),
  ...[...wrong.filingsOf.keys()].map((isin) => `company-filings ${symbolOf(isin)}`),
]

describe.each(SEEDS)(
  `wrong but well-formed answers on a slow network, some with faults and outages (${STOCKS} stocks, seed %i)`,
  (seed) => {
    it(
      'never replace stored data: each item is right, or unchanged and reported with a code; the next run completes',
      async () => {
        const folders = prepareSecondRun()
        const { market } = simulator
        const mix = pickWrongAnswers(seed, market.stocks)
        wrong.choose(mix)
        const network = await openFaultyNetwork(simulator.origin, env)
        network.begin({ seed, outages: isStormy(seed) ? 2 : 0, requestsBetween: STOCKS * 2, line: slowLine })
        simulator.control({ faults: isStormy(seed) ? faultsOfFirstAnswers : [], reset: true })
        const { code, report, stderr } = await collect(SECOND_DAY, folders.after, { ...network.env, ...PATIENT })
        await network.end()

        const { isNamed, codeOf, streamCodes } = namedIn(stderr, report)
        const symbolOf = (isin: string): string => market.stockByIsin(isin)?.Symbol ?? ''
        const account = accountOf(folders, market)
        const states = Object.entries(account).flatMap(([stream, items]) => [...items].map(([item, state]) => ({ stream, item, state })))
        const having = (wanted: State): readonly string[] =>
          states.filter(({ state }) => state === wanted).map((one) => `${one.stream} ${one.item}`)
        // If the other stock has no filings, the answer is empty, as for any stock without filings: the earlier file stays.
        const emptied = [...mix.filingsOf]
          .filter(([, other]) => !existsSync(join(folders.clean, `company_filings/${symbolOf(other)}_filings.json`)))
          .map(([isin]) => `company-filings ${symbolOf(isin)}`)
        const silent = states.filter(
          ({ stream, item, state }) =>
            state !== 'right' &&
            !(state === 'earlier' && emptied.includes(`${stream} ${item}`)) &&
            !(stream === 'lists' ? isNamed(streamOfList(item), item) || hasProblems(report, item) : isNamed(stream, item)),
        )
        expect.soft(having('worse'), 'worse than before').toEqual([])
        expect.soft(silent, 'neither right nor named').toEqual([])
        const renamedStream = mix.renamed === undefined ? '' : RENAMED[mix.renamed].stream
        // An empty list of another stock changes nothing if the stock had no filings either.
        const wanted = wrongItems(mix, symbolOf).filter((name) => name.startsWith('all-ohlcv') || !having('right').includes(name))
        expect
          .soft(
            wanted.filter((name) => !having('earlier').includes(name) && !having('both').includes(name)),
            'not as before',
          )
          .toEqual([])
        const others = states.filter(
          ({ stream, item, state }) =>
            state !== 'right' && stream !== 'lists' && stream !== renamedStream && !wanted.includes(`${stream} ${item}`),
        )
        const messages = stderr.split('\n').filter((line) => others.some(({ item }) => line.includes(`"item":"${item}"`)))
        expect.soft(others, `lost though answered rightly:\n${messages.join('\n')}`).toEqual([])

        const codesOf = (isins: Iterable<string>) =>
          [...isins].map((isin) => [symbolOf(isin), codeOf('all-ohlcv', symbolOf(isin)) ?? ''] as const)
        expect
          .soft(
            codesOf(mix.newestTimes100).filter(([, code]) => code !== 'prices'),
            'impossible new candles',
          )
          .toEqual([])
        const ofAnother = codesOf(mix.candlesOf.keys()).filter(([, code]) => !SERIES_CODES.includes(code))
        expect.soft(ofAnother, 'candles of another stock').toEqual([])
        if (mix.renamed !== 'circuit') expect.soft(streamCodes(renamedStream), renamedStream).toContain('fields')
        if (mix.deals === 'no-count') expect.soft(account.lists?.get('bulk_block_deals.json')).toBe('right')
        else expect.soft(hasProblems(report, 'bulk_block_deals.json')).toBe(true)
        for (const [stream, items] of Object.entries(account))
          if (stream !== 'lists' && report.scripts[stream]?.outcome !== 'failed')
            expect.soft(itemsOf(report, stream), stream).toBe(items.size)
        expect.soft(code).toBe(3)
        expect.soft(network.outages.length).toBe(isStormy(seed) ? 2 : 0)
        expect.soft(temporariesIn(folders.after)).toEqual([])

        wrong.choose(NOTHING_WRONG)
        simulator.control({ faults: [], reset: true })
        expect((await collect(SECOND_DAY, folders.after, env)).code).toBe(0)
        expect(differencesOf(folders.after, folders.clean)).toEqual([])
      },
      60_000 + STOCKS * MS_PER_STOCK,
    )
  },
)

const itemsOf = ({ scripts }: RunReport, stream: string): number =>
  Object.values(scripts[stream]?.items ?? {}).reduce((sum, count) => sum + count, 0)

const hasProblems = ({ scripts }: RunReport, list: string): boolean => {
  const script = scripts[streamOfList(list)]
  return (
    script !== undefined && (script.outcome === 'failed' || script.degraded > 0 || script.problems.some(({ code }) => code !== undefined))
  )
}

describe(`a master list that is shorter than it says (${STOCKS} stocks)`, () => {
  it(
    'is rejected: no file and no record of a stock changes',
    async () => {
      const folders = prepareSecondRun()
      wrong.choose({ ...NOTHING_WRONG, isMasterCut: true })
      const { code, report } = await collect(SECOND_DAY, folders.after, env)
      expect.soft(code).not.toBe(0)
      expect.soft(report.scripts['master-data']?.problems.map(({ code }) => code)).toContain('count')
      expect(differencesOf(folders.after, folders.before)).toEqual([])
    },
    60_000 + STOCKS * MS_PER_STOCK,
  )
})
