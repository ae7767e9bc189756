import { describe, expect, it } from 'vitest'
import { UsageError } from '../../src/model/errors.js'
import { Settings, type SettingsInput } from '../../src/model/settings.js'
import { type Planned, phaseOf, planRun, type Selection } from '../../src/pipeline/plan.js'
import { perRowOf } from '../../src/pipeline/work.js'
import { tiny, tinyMaster, tinyOnce } from '../support/tiny.js'

const nothing = () => {
  throw new Error('nothing is asked while planning')
}
const streams = [
  tinyMaster,
  tiny('fundamentals', { phase: 'core' }),
  tiny('market-news', { offers: () => [] }),
  tinyOnce('all-indices', { offers: () => [] }),
  tiny('ohlcv', { phase: 'candles' }),
  tiny('indices-ohlcv', { phase: 'candles', work: perRowOf('all-indices', nothing) }),
]
const planned = (selection: Selection = {}, settings: SettingsInput = {}) => planRun(streams, Settings.parse(settings), selection)
const brief = (plan: readonly Planned[]) => plan.map(({ stream, state }) => `${stream.name}: ${state}`)
const running = (plan: readonly Planned[]) => plan.filter(({ state }) => state === 'waiting').map(({ stream }) => stream.name)
const all = streams.map(({ name }) => name)

describe('the plan of a run', () => {
  it('holds every stream, in the order of the registry', () => {
    expect(running(planned())).toStrictEqual(all)
  })

  it('disables the candle streams where FETCH_OHLCV is false', () => {
    expect(brief(planned({}, { fetchOhlcv: false })).slice(-3)).toStrictEqual([
      'all-indices: waiting',
      'ohlcv: disabled',
      'indices-ohlcv: disabled',
    ])
  })

  it('leaves out what is skipped', () => {
    expect(running(planned({ skip: ['market-news', 'ohlcv'] }))).toStrictEqual([
      'master-data',
      'fundamentals',
      'all-indices',
      'indices-ohlcv',
    ])
  })

  it('brings in what a stream needs', () => {
    expect(brief(planned({ only: ['market-news'] }))).toStrictEqual([
      'master-data: waiting',
      'fundamentals: skipped',
      'market-news: waiting',
      'all-indices: skipped',
      'ohlcv: skipped',
      'indices-ohlcv: skipped',
    ])
  })

  it('brings in the stream that another one follows, without the master list where nobody needs that', () => {
    expect(brief(planned({ only: ['indices-ohlcv'] })).filter((line) => !line.endsWith('skipped'))).toStrictEqual([
      'all-indices: waiting',
      'indices-ohlcv: waiting',
    ])
  })

  it('brings in all that is needed by what is needed', () => {
    const chain = [...streams, tiny('reports', { work: perRowOf('market-news', nothing) })]

    expect(brief(planRun(chain, Settings.parse({}), { only: ['reports'] })).filter((line) => !line.endsWith('skipped'))).toStrictEqual([
      'master-data: waiting',
      'market-news: waiting',
      'reports: waiting',
    ])
  })

  it('runs nothing where nothing is asked for', () => {
    expect(running(planned({ only: [] }))).toStrictEqual([])
  })

  it('takes out of the wanted streams those to skip', () => {
    expect(running(planned({ only: ['market-news', 'fundamentals'], skip: ['market-news'] }))).toStrictEqual([
      'master-data',
      'fundamentals',
    ])
  })

  it('divides into phases, in order, without what does not run', () => {
    const plan = planned({ skip: ['ohlcv'] })
    const names = (['core', 'enrichment', 'candles'] as const).map((phase) => phaseOf(plan, phase).map(({ name }) => name))

    expect(names).toStrictEqual([['master-data', 'fundamentals'], ['market-news', 'all-indices'], ['indices-ohlcv']])
  })

  it('refuses a stream that there is not, and names the one that may be meant', () => {
    for (const selection of [{ only: ['news'] }, { skip: ['news'] }])
      expect(() => planned(selection)).toThrow(
        new UsageError(`unknown stream: "news" (did you mean market-news?); streams: ${all.join(', ')}`),
      )
    for (const name of ['nonsense', '']) expect(() => planned({ only: [name] })).toThrow(`unknown stream: ${JSON.stringify(name)}`)
  })

  it('refuses to skip what a wanted stream needs, whether it was wanted by name or not', () => {
    const why = 'indices-ohlcv needs all-indices, which is skipped; skip indices-ohlcv too, or do not skip all-indices'

    expect(() => planned({ skip: ['all-indices'] })).toThrow(new UsageError(why))
    expect(() => planned({ only: ['indices-ohlcv'], skip: ['all-indices'] })).toThrow(new UsageError(why))
    expect(running(planned({ skip: ['all-indices', 'indices-ohlcv'] }))).not.toContain('all-indices')
  })

  it('may skip what only a disabled stream needs', () => {
    expect(running(planned({ skip: ['all-indices'] }, { fetchOhlcv: false }))).toStrictEqual(['master-data', 'fundamentals', 'market-news'])
  })

  it('refuses a candle stream that is asked for although FETCH_OHLCV is false', () => {
    expect(() => planned({ only: ['ohlcv'] }, { fetchOhlcv: false })).toThrow(
      new UsageError('ohlcv is requested, but FETCH_OHLCV (fetchOhlcv) is false; set it to true, or do not request ohlcv'),
    )
  })

  it('refuses a stream that follows one which is switched off', () => {
    const offering = [
      tinyMaster,
      tiny('ohlcv', { phase: 'candles', offers: () => [] }),
      tiny('ranks', { phase: 'candles', work: perRowOf('ohlcv', nothing) }),
    ]
    expect(() => planRun(offering, Settings.parse({ fetchOhlcv: false }), { only: ['ranks'] })).toThrow(
      /ranks is requested, but FETCH_OHLCV/,
    )
  })
})
