import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import budget from '../bench/budget.json' with { type: 'json' }
import { provider } from '../e2e/command.js'
import { measureStockPath } from '../support/stock-path.js'

const ROOT = join(import.meta.dirname, '../..')

/**
 * On a busy machine a run lasts longer, so that what happens every second counts more often: the least of a
 * few measurements counts.
 */
const MAX_MEASUREMENTS = 3

/** The run is drawn with these: what is exported is what each request and each stock passes through. */
const DRAWN = ['catch-item-failure', 'deadline', 'merge-map-with-pauses', 'retry-failures', 'when-room'].map(
  (name) => `src/operators/${name}.ts`,
)

const provide = async (stocks: number) => ({ stocks, env: (await provider({ stocks, candleDays: 5 })).env })

describe('the path of a stock from the list to the disk', () => {
  it.each(Object.entries(budget.path))('is no longer than its limit for %s', async (stream, limit) => {
    const providers = [await provide(60), await provide(120)] as const
    let path = await measureStockPath(ROOT, stream, providers)
    for (
      let n = 1;
      n < MAX_MEASUREMENTS && (path.files.size > limit.files || path.calls > limit.calls);
      n += 1
    )
      path = await measureStockPath(ROOT, stream, providers)
    const described = [...path.files].map(([file, functions]) => `${file} ${functions}`).join('\n')
    expect(path.files.size, described).toBeLessThanOrEqual(limit.files)
    expect(path.calls, described).toBeLessThanOrEqual(limit.calls)
    expect([...path.files.keys()]).toEqual(
      expect.arrayContaining([...DRAWN, 'src/limiter/through.ts', 'src/http/ask.ts']),
    )
    // A measurement that sees nothing would pass for ever.
    expect(path.files.size).toBeGreaterThan(15)
  })
})
