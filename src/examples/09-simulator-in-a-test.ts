/**
 * A test of an app against the simulated provider: some stocks refused once with a 429, and another endpoint
 * gone.
 */
import { equal, ok } from 'node:assert/strict'
import { lastValueFrom } from 'rxjs'
import { createCollector } from 'scripstream'
import { serveSimulator } from 'scripstream/simulator'
import { memory } from 'scripstream/sinks'
import { streams } from 'scripstream/streams'

/** Rejects if a refused stock is lost, or if the failure of one stream spreads to another. */
export const testRefusals = async (): Promise<void> => {
  const provider = await serveSimulator({
    endpoints: streams.flatMap(({ endpoints }) => endpoints),
    stocks: 20,
    faults: [
      { on: 'news', mode: 'status', status: 429, retryAfter: 0, rate: 0.2, times: 1 },
      { on: 'announcements', mode: 'status', status: 404 },
    ],
  })
  try {
    const collector = createCollector({ settings: provider.settings, storage: memory() })
    const report = await lastValueFrom(collector.run({ only: ['market-news', 'new-announcements'] }))
    ok(report.scripts['market-news']?.rateLimited)
    equal(report.scripts['market-news'].outcome, 'success')
    equal(report.scripts['new-announcements']?.items.http_404, 20)
  } finally {
    await provider.close()
  }
}
