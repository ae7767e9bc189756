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
import { openWeather } from './weather.js'
import { createWrongEndpoints, NOTHING_WRONG, pickWrongAnswers, RENAMED, type WrongAnswers } from './wrong-answers.js'

/** Mixes of wrong answers, each with its own seed; more of them by `CHAOS_SEEDS=1,2,3,…`. */
const SEEDS = (process.env.CHAOS_SEEDS ?? '1,2,3').split(',').map(Number)
const MS_PER_STOCK = 2_000

/** Every third mix comes among faults of all kinds and outages, which take their time; the others just over a slow line. */
const isStormy = (seed: number): boolean => seed % 3 === 1
const slowLine = { bitsPerSecond: 2e6 + STOCKS * 2e5, jitterMs: 100 }

/** How the candles of another stock may be refused: as such, or by the first rule that they break. */
const SERIES_CODES = ['identity', 'rescale', 'prices', 'shrink']

const FIRST_EVENING = '2026-02-11T20:00:00+05:30'
const SECOND_EVENING = '2026-02-12T20:00:00+05:30'

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

/** The first evening is collected without a fault, and the second one as it should be. */
beforeAll(
  async () => {
    const options = { stocks: STOCKS, candleDays: 60, cacheBytes: 0, asOf: Date.parse(FIRST_EVENING) }
    simulator = await serveSimulator({ endpoints: wrong.endpoints, ...options })
    env = Object.fromEntries(simulator.environment.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]))
    expect(await collect(FIRST_EVENING, before, env)).toMatchObject({ code: 0 })
    cpSync(before, clean, { recursive: true, preserveTimestamps: true })
    simulator.control({ asOf: Date.parse(SECOND_EVENING) })
    expect(await collect(SECOND_EVENING, clean, env)).toMatchObject({ code: 0 })
  },
  60_000 + STOCKS * MS_PER_STOCK,
)

afterAll(async () => {
  await simulator.close()
  rmSync(root, { recursive: true })
})

/** A copy of what the first evening left, for the second one. */
const secondEvening = (): Folders => {
  const after = mkdtempSync(join(root, 'after-'))
  cpSync(before, after, { recursive: true, preserveTimestamps: true })
  return { before, clean, after }
}

/** Items that a run named as lost or as lacking something, with the code, by stream; a stream that failed stands for all of its items. */
const namedIn = (log: string, { scripts }: RunReport) => {
  const codes = new Map<string, string>()
  for (const line of log.split('\n').filter((text) => text.startsWith('{'))) {
    const { msg, stream, item, status, degraded, code } = JSON.parse(line) as Record<string, string>
    if (msg === 'settled' && (isLost({ status: status as 'error' }) || degraded !== undefined)) codes.set(`${stream} ${item}`, code ?? '')
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

/** Items that were answered wrongly, and must therefore be as they were before: `stream item`. */
const wrongItems = (wrong: WrongAnswers, symbolOf: (isin: string) => string): readonly string[] => [
  ...[...wrong.newestTimes100, ...wrong.candlesOf.keys()].map((isin) => `all-ohlcv ${symbolOf(isin)}`),
  ...[...wrong.filingsOf.keys()].map((isin) => `company-filings ${symbolOf(isin)}`),
]

describe.each(SEEDS)(
  `wrong answers that are well-formed, on a slow line, some among faults and outages (${STOCKS} stocks, seed %i)`,
  (seed) => {
    it(
      'never replace what is stored: each item is right, or as before and named with a code; the next run has everything',
      async () => {
        const folders = secondEvening()
        const { market } = simulator
        const mix = pickWrongAnswers(seed, market.stocks)
        wrong.choose(mix)
        const weather = await openWeather(simulator.origin, env)
        weather.begin({ seed, outages: isStormy(seed) ? 2 : 0, requestsBetween: STOCKS * 2, line: slowLine })
        simulator.control({ faults: isStormy(seed) ? faultsOfFirstAnswers : [], reset: true })
        const { code, report, stderr } = await collect(SECOND_EVENING, folders.after, { ...weather.env, ...PATIENT })
        await weather.end()

        const { isNamed, codeOf, streamCodes } = namedIn(stderr, report)
        const symbolOf = (isin: string): string => market.stockByIsin(isin)?.Symbol ?? ''
        const account = accountOf(folders, market)
        const states = Object.entries(account).flatMap(([stream, items]) => [...items].map(([item, state]) => ({ stream, item, state })))
        const having = (wanted: State): readonly string[] =>
          states.filter(({ state }) => state === wanted).map((one) => `${one.stream} ${one.item}`)
        // Where the other stock has no filings, the answer is as empty as that of a stock that has none: the earlier file stays.
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
        // Filings of another stock change nothing where there were none, and are none.
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
        const told = stderr.split('\n').filter((line) => others.some(({ item }) => line.includes(`"item":"${item}"`)))
        expect.soft(others, `lost though answered rightly:\n${told.join('\n')}`).toEqual([])

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
        expect.soft(weather.outages.length).toBe(isStormy(seed) ? 2 : 0)
        expect.soft(temporariesIn(folders.after)).toEqual([])

        wrong.choose(NOTHING_WRONG)
        simulator.control({ faults: [], reset: true })
        expect((await collect(SECOND_EVENING, folders.after, env)).code).toBe(0)
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
    'is refused: no file and no record of any stock changes',
    async () => {
      const folders = secondEvening()
      wrong.choose({ ...NOTHING_WRONG, isMasterCut: true })
      const { code, report } = await collect(SECOND_EVENING, folders.after, env)
      expect.soft(code).not.toBe(0)
      expect.soft(report.scripts['master-data']?.problems.map(({ code }) => code)).toContain('count')
      expect(differencesOf(folders.after, folders.before)).toEqual([])
    },
    60_000 + STOCKS * MS_PER_STOCK,
  )
})
