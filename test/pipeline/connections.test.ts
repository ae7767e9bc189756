import { expect, it } from 'vitest'
import { planRun } from '../../src/pipeline/plan.js'
import { countConnections } from '../../src/pipeline/run-services.js'
import { settingsOf } from '../http/support.js'
import { createCall, tiny, tinyMaster } from '../support/tiny.js'

it('an origin gets one connection per worker of every endpoint on it, for all its hosts', () => {
  const settings = settingsOf({
    urls: { static: 'http://one.test/static', news: 'http://one.test/news', ticks: 'http://two.test' },
    workers: { filings: 20, news: 3 },
  })
  const both = [createCall('old'), createCall('new')]
  const streams = [
    tinyMaster,
    tiny('filings', { endpoints: both }),
    tiny('news', { endpoints: [{ ...createCall('news'), host: 'news' }] }),
    tiny('candles', { workers: 15, endpoints: [{ ...createCall('candles'), host: 'ticks' }] }),
    tiny('others', { workers: 7 }),
  ]
  const plan = planRun(streams, settings, { skip: ['others'] })
  expect([...countConnections(plan, settings)]).toEqual([
    ['http://one.test', tinyMaster.workers + 2 * 20 + 3],
    ['http://two.test', 15],
  ])
})
