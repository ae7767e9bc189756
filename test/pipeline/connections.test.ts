import { expect, it } from 'vitest'
import { connectionsFor } from '../../src/pipeline/connections.js'
import { planRun } from '../../src/pipeline/plan.js'
import { settingsOf } from '../provider/support.js'
import { callOf, tiny, tinyMaster } from '../support/tiny.js'

it('an origin gets one connection per worker of every endpoint on it, for all its hosts', () => {
  const settings = settingsOf({
    urls: { static: 'http://one.test/static', news: 'http://one.test/news', ticks: 'http://two.test' },
    workers: { filings: 20, news: 3 },
  })
  const both = [callOf('old'), callOf('new')]
  const streams = [
    tinyMaster,
    tiny('filings', { endpoints: both }),
    tiny('news', { endpoints: [{ ...callOf('news'), host: 'news' }] }),
    tiny('candles', { workers: 15, endpoints: [{ ...callOf('candles'), host: 'ticks' }] }),
    tiny('others', { workers: 7 }),
  ]
  const plan = planRun(streams, settings, { skip: ['others'] })
  expect([...connectionsFor(plan, settings)]).toEqual([
    ['http://one.test', tinyMaster.workers + 2 * 20 + 3],
    ['http://two.test', 15],
  ])
})
