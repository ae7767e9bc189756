import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { main } from '../e2e/command.js'

/** In bytes, of a stream that was collected; `passed` is how much was answered. */
interface Grown {
  readonly items: number
  readonly heap: number
  readonly buffers: number
  readonly passed: number
}

// The tests before it have taught this process's engine what lives long: the command begins with one that knows nothing, and learns nothing.
const ENGINE = ['--expose-gc', '--no-allocation-site-pretenuring']

it('what was asked for leaves little to the great collections, though what waited for it was old by then', async () => {
  if (!existsSync(main)) throw new Error('the collector is not built: npm run build')
  const { stdout } = await promisify(execFile)(process.execPath, [...ENGINE, join(import.meta.dirname, 'short-lived.js')])
  const grown = JSON.parse(stdout) as Readonly<Record<string, Grown>>
  expect(Object.keys(grown)).toEqual(['company-filings', 'market-news', 'all-ohlcv'])
  for (const [stream, { items, heap, buffers, passed }] of Object.entries(grown)) {
    expect(items, stream).toBe(60)
    expect(heap, stream).toBeLessThan(passed / 2)
    expect(buffers, stream).toBeLessThan(passed / 20)
  }
}, 120_000)
