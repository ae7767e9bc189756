import { map, of } from 'rxjs'
import { describe, expect } from 'vitest'
import { itWithMarbles } from '../support/marbles.js'
import { recordEvents } from '../support/record-events.js'
import { page, status, tiny, tinyCollector, tinyOnce } from '../support/tiny.js'

const core = { phase: 'core' } as const
const candles = { phase: 'candles' } as const

describe('the critical step', () => {
  for (const { how, reply, asked, times } of [
    { how: 'is refused', reply: status(403), asked: [0], times: 1 },
    { how: 'keeps failing', reply: status(503), asked: [0, 375, 1_125], times: 3 },
    { how: 'answers a page', reply: page, asked: [0, 375, 1_125], times: 6 },
  ])
    itWithMarbles(`ends the run as failed, without another request, when it ${how}`, (m) => {
      const collector = tinyCollector(m, {
        streams: [tinyOnce('first', core), tiny('news'), tinyOnce('later'), tiny('ohlcv', candles)],
        stocks: [],
        answers: () => of(reply),
      })
      const lines = recordEvents(m, collector.events())
      m.flush()

      expect(collector.requested.slice(0, 3)).toStrictEqual(asked.map((frame) => `${frame} master-data all`))
      expect(collector.requested.map((call) => call.replace(/^\d+ /, ''))).toStrictEqual(Array(times).fill('master-data all'))
      expect(
        lines
          .filter((line) => !line.includes('warning'))
          .slice(-3)
          .map((line) => line.replace(/^\d+ /, '')),
      ).toStrictEqual(['stream-finished master-data failed', 'run-finished failed', 'COMPLETE'])
    })

  itWithMarbles('reports why it failed, and that the others were skipped', (m) => {
    const collector = tinyCollector(m, { streams: [tiny('news')], stocks: [], answers: () => of(status(403)) })
    const why = map(({ error, scripts }: { error?: string; scripts: Record<string, { outcome: string }> }) => [
      error,
      scripts.news?.outcome,
    ])

    m.expect(collector.run().pipe(why)).toBeObservable('(a|)', {
      a: ['master-data failed: POST static /master-data: the provider answered 403 (empty body)', 'skipped'],
    })
  })
})
