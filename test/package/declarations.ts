// A library on top of scripstream: its compiler writes declarations, which must name each result.
import { createCollector, createMetrics, spans } from 'scripstream'
import { diff, query, verify } from 'scripstream/analysis'
import { createLimiter } from 'scripstream/operators'
import { serveSimulator } from 'scripstream/simulator'
import { memory } from 'scripstream/sinks'
import { marketNews, streams } from 'scripstream/streams'
import { createScriptedProvider, createTrial, simulate } from 'scripstream/testing'

export const simulator = await serveSimulator({ endpoints: streams.flatMap(({ endpoints }) => endpoints) })
export const planned = simulator.plan('2026-02-12', '2026-02-12')
export const collector = createCollector({ settings: simulator.settings, storage: memory() })
export const run = collector.open()
export const { event$, item$, report$ } = run
export const state = run.state()
export const iterator = run[Symbol.asyncIterator]()
export const news$ = collector.stream('market-news')
export const changes$ = collector.watch('select 1')
export const { limiters, last } = collector.health()
export const metrics = createMetrics()
export const trace = spans
export const scripted = createScriptedProvider(() => item$)
export const trial = createTrial(marketNews, { answers: () => item$ })
export const { requests } = trial
export const checks = { verify, diff, query, simulate }
export const limiter = createLimiter()
export const end = async (): Promise<void> => {
  await using own = collector.open()
  await using _all = collector
  await using _server = simulator
  for await (const { stream } of own) if (stream === 'market-news') break
}
