import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/folders.js'

/** In bytes, of a stream that was collected; `passed` is how much was answered. */
interface Grown {
  readonly items: number
  readonly heap: number
  readonly buffers: number
  readonly passed: number
}

const BUILT = join(import.meta.dirname, '../../dist/src/index.js')
const SCRIPT = join(import.meta.dirname, 'short-lived.js')

// A process of its own: the tests before this one have taught the engine of theirs what lives long. Its engine is set as the command's is.
const ENGINE = ['--expose-gc', '--no-allocation-site-pretenuring']

it('answers leave little garbage to major GCs, although their waiting closures are in the old generation', async () => {
  if (!existsSync(BUILT)) throw new Error('the collector is not built: npm run build')
  const { PATH = '' } = process.env
  const { stdout } = await promisify(execFile)(process.execPath, [...ENGINE, SCRIPT, temporaryFolder()], {
    env: { PATH },
    timeout: 100_000,
  })
  const grown = JSON.parse(stdout) as Readonly<Record<string, Grown>>
  expect(Object.keys(grown)).toEqual(['company-filings', 'market-news', 'all-ohlcv'])
  for (const [stream, { items, heap, buffers, passed }] of Object.entries(grown)) {
    expect(items, stream).toBe(60)
    expect(heap, stream).toBeGreaterThan(0)
    expect(heap, stream).toBeLessThan(passed / 2)
    expect(buffers, stream).toBeLessThan(passed / 4)
  }
}, 120_000)
