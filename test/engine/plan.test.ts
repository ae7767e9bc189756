import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { perRowOf } from '../../src/engine/define-stream.js'
import {
  checkRequirements,
  type PlannedStream,
  planRun,
  type Selection,
  selectPhase,
} from '../../src/engine/plan.js'
import { countConnections } from '../../src/engine/run-services.js'
import { UsageError } from '../../src/model/errors.js'
import { Settings, type SettingsInput } from '../../src/model/settings.js'
import { createCall, tiny, tinyMaster, tinyOnce } from '../support/tiny.js'

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
const planned = (selection: Selection = {}, settings: SettingsInput = {}) =>
  planRun(streams, Settings.parse(settings), selection)
const brief = (plan: readonly PlannedStream[]) => plan.map(({ stream, state }) => `${stream.name}: ${state}`)
const running = (plan: readonly PlannedStream[]) =>
  plan.filter(({ state }) => state === 'waiting').map(({ stream }) => stream.name)
const all = streams.map(({ name }) => name)

describe('the plan of a run', () => {
  it('contains every stream, in the order of the registry', () => {
    expect(running(planned())).toStrictEqual(all)
  })

  it('disables the candle streams if FETCH_OHLCV is false', () => {
    expect(brief(planned({}, { fetchOhlcv: false })).slice(-3)).toStrictEqual([
      'all-indices: waiting',
      'ohlcv: disabled',
      'indices-ohlcv: disabled',
    ])
  })

  it('excludes skipped streams', () => {
    expect(running(planned({ skip: ['market-news', 'ohlcv'] }))).toStrictEqual([
      'master-data',
      'fundamentals',
      'all-indices',
      'indices-ohlcv',
    ])
  })

  it('adds the streams that a requested stream needs', () => {
    expect(brief(planned({ only: ['market-news'] }))).toStrictEqual([
      'master-data: waiting',
      'fundamentals: skipped',
      'market-news: waiting',
      'all-indices: skipped',
      'ohlcv: skipped',
      'indices-ohlcv: skipped',
    ])
  })

  it('adds the source of a stream, without the master list if no stream needs it', () => {
    expect(
      brief(planned({ only: ['indices-ohlcv'] })).filter((line) => !line.endsWith('skipped')),
    ).toStrictEqual(['all-indices: waiting', 'indices-ohlcv: waiting'])
  })

  it('adds indirect sources', () => {
    const chain = [...streams, tiny('reports', { work: perRowOf('market-news', nothing) })]

    expect(
      brief(planRun(chain, Settings.parse({}), { only: ['reports'] })).filter(
        (line) => !line.endsWith('skipped'),
      ),
    ).toStrictEqual(['master-data: waiting', 'market-news: waiting', 'reports: waiting'])
  })

  it('runs nothing if nothing is requested', () => {
    expect(running(planned({ only: [] }))).toStrictEqual([])
  })

  it('rejects a stream that is both requested and skipped', () => {
    const why = 'only and skip both name market-news; leave it out of one of them'
    expect(() => planned({ only: ['market-news', 'fundamentals'], skip: ['market-news'] })).toThrow(
      new UsageError(why),
    )
  })

  it('divides into phases, in order, without what does not run', () => {
    const plan = planned({ skip: ['ohlcv'] })
    const names = (['core', 'enrichment', 'candles'] as const).map((phase) =>
      selectPhase(plan, phase).map(({ name }) => name),
    )

    expect(names).toStrictEqual([
      ['master-data', 'fundamentals'],
      ['market-news', 'all-indices'],
      ['indices-ohlcv'],
    ])
  })

  it('rejects an unknown stream, and suggests a similar one', () => {
    for (const selection of [{ only: ['news'] }, { skip: ['news'] }])
      expect(() => planned(selection)).toThrow(
        `unknown stream: "news" (did you mean market-news?); streams: ${all.join(', ')}`,
      )
    for (const name of ['nonsense', ''])
      expect(() => planned({ only: [name] })).toThrow(`unknown stream: ${JSON.stringify(name)}`)
  })

  it('rejects skipping a stream that a requested one needs', () => {
    const why =
      'indices-ohlcv needs all-indices, which is skipped; skip indices-ohlcv too, or do not skip all-indices'

    expect(() => planned({ skip: ['all-indices'] })).toThrow(new UsageError(why))
    expect(() => planned({ only: ['indices-ohlcv'], skip: ['all-indices'] })).toThrow(new UsageError(why))
    expect(running(planned({ skip: ['all-indices', 'indices-ohlcv'] }))).not.toContain('all-indices')
  })

  it('can skip what only a disabled stream needs', () => {
    expect(running(planned({ skip: ['all-indices'] }, { fetchOhlcv: false }))).toStrictEqual([
      'master-data',
      'fundamentals',
      'market-news',
    ])
  })

  it('rejects a requested candle stream if FETCH_OHLCV is false', () => {
    expect(() => planned({ only: ['ohlcv'] }, { fetchOhlcv: false })).toThrow(
      new UsageError(
        'ohlcv is requested, but FETCH_OHLCV (fetchOhlcv) is false; set it to true, or do not request ohlcv',
      ),
    )
  })

  it('rejects a stream whose source is disabled', () => {
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

const news = { ...createCall('news'), host: 'news' } as const
const sheet = { ...createCall('sheet'), host: 'sheet' } as const
const needed = z.string().optional().meta({ description: 'an id', resume: 'same', isRequired: true })
const needy = [
  tinyMaster,
  tiny('market-news', { endpoints: [createCall('a'), news] }),
  tiny('lists', { endpoints: [sheet, sheet], options: { sheetId: needed, asmTabId: needed } }),
]
const checking = (given: SettingsInput, selection: Selection = {}) => {
  const settings = Settings.parse(given)
  return () => checkRequirements(planRun(needy, settings, selection), settings)
}
const every: SettingsInput = {
  urls: { static: 'http://a.test', news: 'http://b.test', sheet: 'http://c.test' },
  options: { lists: { sheetId: 'sheet', asmTabId: '0' } },
}

describe('checkRequirements', () => {
  it('passes if all required settings are present', () => {
    expect(checking(every)).not.toThrow()
  })

  it('names every missing setting once, with its variable, its streams and the remedy', () => {
    const lines = [
      'not set:',
      '  SCRIPSTREAM_STATIC_URL (urls.static), needed by master-data, market-news',
      '  SCRIPSTREAM_NEWS_URL (urls.news), needed by market-news',
      '  SCRIPSTREAM_SHEET_URL (urls.sheet), needed by lists',
      '  SCRIPSTREAM_SHEET_ID (options.lists.sheetId), needed by lists',
      '  SCRIPSTREAM_ASM_TAB_ID (options.lists.asmTabId), needed by lists',
      'Set the variables, or the names in brackets in scripstream.config.json.',
    ]

    const paths = [
      'urls.static',
      'urls.news',
      'urls.sheet',
      'options.lists.sheetId',
      'options.lists.asmTabId',
    ]
    const issues = paths.map((path, index) => ({ path, message: `${lines[index + 1]}`.trim() }))

    expect(checking({})).toThrow(new UsageError(lines.join('\n'), { code: 'missing-setting', issues }))
  })

  it('does not require settings of skipped streams', () => {
    const { urls, ...others } = every

    expect(checking({ urls: { static: 'http://a.test' } }, { only: ['master-data'] })).not.toThrow()
    expect(checking({ urls, ...others }, { skip: ['lists'] })).not.toThrow()
    expect(checking({ urls }, { skip: ['lists'] })).not.toThrow()
    expect(checking({ urls })).toThrow(/SCRIPSTREAM_SHEET_ID/)
  })

  it('requires the settings of an indirectly added stream', () => {
    expect(checking({ urls: { news: 'http://b.test' } }, { only: ['market-news'] })).toThrow(
      /needed by master-data, market-news/,
    )
  })
})

it('an origin gets one connection per worker of every endpoint on it, for all its hosts', () => {
  const settings = Settings.parse({
    urls: { static: 'http://one.test/static', news: 'http://one.test/news', ticks: 'http://two.test' },
    workers: { filings: 20, news: 3 },
  })
  const both = [createCall('old'), createCall('new')]
  const needy = [
    tinyMaster,
    tiny('filings', { endpoints: both }),
    tiny('news', { endpoints: [{ ...createCall('news'), host: 'news' }] }),
    tiny('candles', { workers: 15, endpoints: [{ ...createCall('candles'), host: 'ticks' }] }),
    tiny('others', { workers: 7 }),
  ]
  const plan = planRun(needy, settings, { skip: ['others'] })
  expect([...countConnections(plan, settings)]).toEqual([
    ['http://one.test', tinyMaster.workers + 2 * 20 + 3],
    ['http://two.test', 15],
  ])
})
