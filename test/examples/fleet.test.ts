import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Subject } from 'rxjs'
import { serveSimulator } from 'scripstream/simulator'
import { streams } from 'scripstream/streams'
import { expect, it, onTestFinished } from 'vitest'
import { collect, work } from '../../src/examples/10-fleet.js'
import { markNeedsRedis, noRedis, createTestFleet as ownFleet } from '../fleet/support.js'
import { temporaryFolder } from '../support/folders.js'

it.skipIf(noRedis)(markNeedsRedis('runs a collector and a worker in one process'), async () => {
  const simulator = await serveSimulator({
    endpoints: streams.flatMap(({ endpoints }) => endpoints),
    stocks: 5,
  })
  onTestFinished(() => simulator.close())
  const out = temporaryFolder()
  const blobs = temporaryFolder()
  const meeting = { address: ownFleet().address, blobs, allowVolatile: true }
  const lines: string[] = []
  const stop$ = new Subject<void>()
  const ended = new Promise<void>((resolve) => {
    work(
      meeting,
      (line) => {
        lines.push(line)
        if (line === 'has ended its work') resolve()
      },
      stop$,
    )
  })
  const report = await collect(meeting, { ...simulator.settings, out, fetchOhlcv: false })
  stop$.next()
  await ended
  expect(report.outcome).toBe('complete')
  const items = Object.values(report.scripts).flatMap(({ items }) => Object.values(items))
  expect(report.fleet?.workers.map(({ items }) => items)).toEqual([
    items.reduce((sum, count) => sum + count, 0),
  ])
  expect(lines).toEqual([
    expect.stringMatching(/^works for the fleet at redis:/),
    'works for a run',
    'has ended its work',
  ])
  expect(readdirSync(join(out, 'market_news')).length).toBe(report.scripts['market-news']?.files)
  expect(readdirSync(blobs)).toEqual([])
})
