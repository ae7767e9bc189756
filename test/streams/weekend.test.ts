import { lastValueFrom } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { createCollector } from '../../src/collector.js'
import { serveSimulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'

it('candles are up to date on a weekend, when every answer only repeats the last one that is stored', async () => {
  let now = Date.parse('2026-02-13T20:00:00+05:30')
  const simulator = await serveSimulator({ endpoints: streams.flatMap(({ endpoints }) => endpoints), stocks: 25, asOf: () => now })
  onTestFinished(() => simulator.close())
  const collector = createCollector({ settings: simulator.settings, storage: memory() })
  const candles = async () => {
    const { outcome, scripts } = await lastValueFrom(collector.run({ only: ['all-ohlcv'], asOf: now }))
    return [outcome, scripts['all-ohlcv']?.requests, scripts['all-ohlcv']?.items.success, scripts['all-ohlcv']?.items.skipped]
  }
  expect(await candles()).toEqual(['complete', 25, 25, 0])
  now = Date.parse('2026-02-14T12:00:00+05:30')
  expect(await candles()).toEqual(['complete', 25, 0, 25])
})
