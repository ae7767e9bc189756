import { lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { type CollectorOptions, createCollector, type RunOptions } from '../../src/collector.js'
import type { UsageIssue } from '../../src/model/errors.js'
import { createCall, tiny, tinyMaster } from '../support/tiny.js'

/** What JavaScript, or a configuration, may pass. */
type Wrong = Readonly<Record<string, unknown>>

const collect = (options: Wrong, settings: unknown = {}) =>
  createCollector({ settings, storage: memory(), ...options } as unknown as CollectorOptions)

const issuesOf = async (act: () => unknown): Promise<readonly UsageIssue[]> => {
  const error = await Promise.resolve()
    .then(act)
    .catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ name: 'UsageError' })
  return (error as { readonly issues: readonly UsageIssue[] }).issues
}

describe('a wrong name is a UsageError with path and suggestion as data', () => {
  it.each<readonly [unknown, path: string, suggestion: string]>([
    [{ retrys: 1 }, 'retrys', 'retries'],
    [{ options: { 'market-news': { newLimit: 1 } } }, 'options.market-news.newLimit', 'newsLimit'],
    [{ options: { 'market-new': {} } }, 'options.market-new', 'market-news'],
    [{ urls: { newz: 'http://x' } }, 'urls.newz', 'news'],
    [{ workers: { 'market-new': 1 } }, 'workers.market-new', 'market-news'],
    [{ timeoutsMs: { 'market-new': 1 } }, 'timeoutsMs.market-new', 'market-news'],
  ])('in the settings of a collector: %j', async (settings, path, suggestion) => {
    const issues = await issuesOf(() => collect({}, settings))
    expect(issues).toEqual([
      { path, suggestion, message: expect.stringContaining(`(did you mean ${suggestion}?)`) },
    ])
  })

  it.each<readonly [Wrong, path: string, suggestion: string]>([
    [{ onli: [] }, 'onli', 'only'],
    [{ only: ['market-new'] }, 'only', 'market-news'],
    [{ skip: ['market-new'] }, 'skip', 'market-news'],
    [{ pairs: { 'market-new': ['TCS'] } }, 'pairs.market-new', 'market-news'],
    [{ accept: ['shrin'] }, 'accept', 'shrink'],
    [{ wrongSymbols: 'rejec' }, 'wrongSymbols', 'reject'],
  ])('in the options of a run: %j', async (options, path, suggestion) => {
    const issues = await issuesOf(() => lastValueFrom(collect({}).run(options as RunOptions)))
    expect(issues).toEqual([
      { path, suggestion, message: expect.stringContaining(`(did you mean ${suggestion}?)`) },
    ])
  })

  it('in the options of a collector and of a stream; all of them', async () => {
    const storages = await issuesOf(() => collect({ storages: 1, transprot: 2 }))
    expect(storages.map(({ path, suggestion }) => [path, suggestion])).toEqual([
      ['storages', 'storage'],
      ['transprot', 'transport'],
    ])
    const symbol = await issuesOf(() =>
      lastValueFrom(collect({}).stream('market-news', { symbol: 1 } as object)),
    )
    expect(symbol).toMatchObject([{ path: 'symbol', suggestion: 'symbols' }])
  })
})

it('a misspelt host is named where the address of its right name is not set', async () => {
  const endpoint = { ...createCall('chain'), host: 'options' }
  const streams = [tinyMaster, tiny('chains', { endpoints: [endpoint] })]
  const settings = { urls: { static: 'http://x' }, hosts: { optoins: 'http://x' } }
  const issues = await issuesOf(() => lastValueFrom(collect({ streams }, settings).run()))
  expect(issues).toMatchObject([
    { path: 'hosts.options', message: expect.stringContaining('(hosts.options, not hosts.optoins?)') },
  ])
})

describe('a wrong value is one with its path', () => {
  it.each([
    [
      { options: { 'market-news': { newsLimit: 0 } }, notifyOn: 'allways', hosts: { Opt: 'http://x' } },
      ['hosts.Opt', 'options.market-news.newsLimit', 'notifyOn'],
    ],
    [undefined, ['settings']],
    [7, ['settings']],
  ])('in the settings: %j', async (settings, paths) => {
    const issues = await issuesOf(() => createCollector({ settings } as unknown as CollectorOptions))
    expect(issues.map(({ path }) => path)).toEqual(paths)
  })

  it('in the instant of a run', async () => {
    const issues = await issuesOf(() => lastValueFrom(collect({}).run({ asOf: Number.NaN })))
    expect(issues).toEqual([{ path: 'asOf', message: 'invalid asOf: NaN; use epoch milliseconds' }])
  })
})
