import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { EVENING, stockNamed } from '../streams/support.js'
import { temporaryFolder } from '../support/folders.js'
import { STOCKS, type Tried, type Trying, tryRun } from './support.js'

const stocks = [...STOCKS, ...Array.from({ length: 26 }, (_, place) => stockNamed(`S${place}`, 10 + place))]

const news = {
  news_object: { title: 'x', text: 'x', overall_sentiment: 'neutral' },
  publish_date: EVENING,
  category: 'stocks',
}

const run = (trying: Pick<Trying, 'out'> & Partial<Trying>, isDrifting: boolean): Promise<Tried> =>
  tryRun({
    only: ['market-news'],
    stocks,
    now: EVENING,
    answers: (request) =>
      request.startsWith('getLiveNews')
        ? { data: { latest_news: [isDrifting ? { ...news, language: 'en' } : news] } }
        : undefined,
    ...trying,
  })

const isAlpha = (request: string): boolean => request === 'getLiveNews ALPHA'
const DRIFT = {
  stream: 'market-news',
  kind: 'new',
  field: 'data.latest_news[].language',
  answers: 29,
  of: 29,
}

it('the drift of a run that lost items is in the report of the run that resumes it', async () => {
  const out = temporaryFolder()
  const first = await run({ out, isAway: isAlpha }, true)
  expect(first.report).toMatchObject({ outcome: 'partial', isResumable: true, drift: [DRIFT] })
  const second = await run({ out }, false)
  expect(second.requests).toEqual(['getLiveNews ALPHA'])
  expect(second.report).toMatchObject({ outcome: 'partial', drift: [DRIFT] })
  expect((await run({ out }, false)).requests.length).toBeGreaterThan(1)
})

it('the drift of a killed run is in the report of the run that resumes it, after any number of kills', async () => {
  const out = temporaryFolder()
  await run({ out, hangs: (request) => isAlpha(request) || request === 'getLiveNews BETA' }, true)
  await run({ out, hangs: isAlpha }, false)
  const { requests, report } = await run({ out }, false)
  expect(requests).toEqual(['getLiveNews ALPHA'])
  expect(report).toMatchObject({ outcome: 'partial', drift: [{ kind: 'new', field: DRIFT.field }] })
})

it('drift that was accepted in the meantime does not count', async () => {
  const out = temporaryFolder()
  const { report } = await run({ out, isAway: isAlpha }, true)
  writeFileSync(join(out, '.scripstream', 'drift-accepted.json'), JSON.stringify(report?.drift))
  expect((await run({ out }, false)).report).toMatchObject({
    outcome: 'complete',
    drift: [{ accepted: true }],
  })
  expect((await run({ out }, false)).requests).toEqual([])
})

it.each(['', '[', '{}', '[null, 1, {"stream": "market-news"}]'])(
  'ignores a damaged list of drift: %s',
  async (text) => {
    const out = temporaryFolder()
    await run({ out, isAway: isAlpha }, true)
    writeFileSync(join(out, '.scripstream', 'journals', 'drift.json'), text)
    expect((await run({ out }, false)).report?.outcome).toBe('complete')
  },
)

it('the drift of a smaller run is in the report of the unfinished run that takes over its items', async () => {
  const out = temporaryFolder()
  const both = { only: ['market-news', 'new-announcements'] }
  await run({ out, ...both, isAway: (request) => request === 'announcements ALPHA' }, false)
  expect((await run({ out, now: EVENING + 60_000 }, true)).report?.outcome).toBe('partial')
  const { requests, report } = await run({ out, ...both, now: EVENING + 60_000 }, false)
  expect(requests).toEqual(['announcements ALPHA'])
  expect(report?.drift?.filter(({ stream }) => stream === 'market-news')).toMatchObject([
    { field: DRIFT.field, answers: 30 },
  ])
})

it('drift of a part keeps a finished folder from being up to date', async () => {
  const out = temporaryFolder()
  const both = { only: ['market-news', 'master-data'], stocks }
  expect((await run({ out, ...both }, false)).report?.outcome).toBe('complete')
  const part = { out, symbols: ['ALPHA', 'BETA', 'GAMMA', 'DELTA', 'S0', 'S1'], now: EVENING + 60_000 }
  expect((await run({ ...part, fails: isAlpha }, true)).report?.drift).toMatchObject([{ field: DRIFT.field }])
  await run({ ...part, pairs: { 'market-news': ['ALPHA'] } }, false)
  rmSync(join(out, '.scripstream', 'report.json'))
  expect((await run({ out, ...both, now: EVENING + 120_000 }, true)).requests.length).toBeGreaterThan(30)
})
