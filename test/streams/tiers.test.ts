import { firstValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import { type Fault, serveSimulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'
import { createQuickCollector } from '../support/limits.js'
import { EVENING } from './support.js'

const down = (...endpoints: readonly string[]): readonly Fault[] =>
  endpoints.map((on) => ({ on, mode: 'status', status: 503 }))

/** Runs a stream against the embedded provider while some of its endpoints are down. */
const collected = async (name: string, faults: readonly Fault[]) => {
  // So many that each list has more than three stocks: a shorter one is not found on a page.
  const endpoints = streams.flatMap((stream) => stream.endpoints)
  const simulator = await serveSimulator({ endpoints, stocks: 400, candleDays: 30, asOf: EVENING, faults })
  onTestFinished(() => simulator.close())
  const files: MemoryFiles = new Map()
  const settings = { ...simulator.settings, retries: 0, downMs: 0 }
  const report = await firstValueFrom(
    createQuickCollector({ settings, storage: memory(files) }).run({
      only: [name],
      asOf: EVENING,
    }),
  )
  const texts = [...files]
    .filter(([file]) => !file.startsWith('.scripstream'))
    .map(([file, { text }]) => [file, text])
  return {
    outcome: report.outcome,
    script: report.scripts[name],
    texts: Object.fromEntries(texts),
    stats: simulator.stats(),
  }
}

describe.each([
  { name: 'surveillance-lists', first: 'sheet' },
  { name: 'circuit-stocks', first: 'circuit' },
])('$name on the embedded provider', ({ name, first }) => {
  it.each([
    { after: 'the first source', faults: down(first) },
    { after: 'the first two', faults: down(first, 'web_data') },
    { after: 'the first, with a build id that cannot be read', faults: down(first, 'web_build_id') },
  ])('gets the same lists from the next source after $after', async ({ faults }) => {
    const clean = await collected(name, [])
    const { outcome, script, texts, stats } = await collected(name, faults)
    expect(outcome).toBe('complete')
    expect(texts).toEqual(clean.texts)
    expect(script?.problems.map(({ reason }) => reason).join()).toContain('503')
    expect(stats.violations).toEqual([])
  })
})
