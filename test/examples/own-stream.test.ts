import { lastValueFrom } from 'rxjs'
import { createCollector } from 'scripstream'
import { serveSimulator } from 'scripstream/simulator'
import { type MemoryFiles, memory } from 'scripstream/sinks'
import { streams } from 'scripstream/streams'
import { expect, it } from 'vitest'
import { optionChains } from '../../src/examples/03-own-stream.js'

it('03: collects the option chains of the F&O stocks from their own host, without duplicates and sorted', async () => {
  const all = [...streams, optionChains]
  const simulator = await serveSimulator({
    endpoints: all.flatMap(({ endpoints }) => endpoints),
    stocks: 300,
  })
  try {
    const files: MemoryFiles = new Map()
    const collector = createCollector({ settings: simulator.settings, streams: all, storage: memory(files) })
    const report = await lastValueFrom(collector.run({ only: ['option-chains'] }))
    const symbols = simulator.market.stocks
      .filter(({ FnoFlag }) => FnoFlag === 1)
      .map((stock) => stock.Symbol)
    expect(symbols.length).toBeGreaterThan(0)
    expect(symbols.length).toBeLessThan(300)
    expect(report.scripts['option-chains']).toMatchObject({ outcome: 'success', requests: symbols.length })
    const rows = JSON.parse(files.get('option_chains.json')?.text ?? '') as readonly {
      readonly Symbol: string
      readonly contract: string
      readonly open_interest: number
    }[]
    expect(rows).toHaveLength(3 * symbols.length)
    expect(new Set(rows.map(({ contract }) => contract)).size).toBe(rows.length)
    expect(new Set(rows.map((stock) => stock.Symbol))).toEqual(new Set(symbols))
    const interest = rows.map(({ open_interest }) => open_interest)
    expect(interest).toEqual([...interest].sort((one, other) => other - one))
  } finally {
    await simulator.close()
  }
})
