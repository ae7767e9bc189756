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

// A process of its own: the tests before this one have taught the engine of theirs what lives long. Its
// engine is set as the command's is.
const ENGINE = ['--expose-gc', '--no-allocation-site-pretenuring']

const LIMIT_OF_HEAP = 1 / 2
const LIMIT_OF_BUFFERS = 1 / 4
const ATTEMPTS = 3

const measure = async (): Promise<Readonly<Record<string, Grown>>> => {
  const { PATH = '' } = process.env
  const { stdout } = await promisify(execFile)(process.execPath, [...ENGINE, SCRIPT, temporaryFolder()], {
    env: { PATH },
  })
  return JSON.parse(stdout)
}

const isLittle = ({ heap, buffers, passed }: Grown): boolean =>
  heap < passed * LIMIT_OF_HEAP && buffers < passed * LIMIT_OF_BUFFERS

it('answers leave little garbage to major GCs, although their waiting closures are in the old generation', async () => {
  if (!existsSync(BUILT)) throw new Error('the collector is not built: npm run build')
  const ever = new Map<string, boolean>()
  // A stream that keeps its answers does so in every run; a minor GC at a bad moment does not come three
  // times.
  for (
    let attempt = 1;
    attempt <= ATTEMPTS && (attempt === 1 || [...ever.values()].includes(false));
    attempt++
  ) {
    const grown = await measure()
    expect(Object.keys(grown)).toEqual(['company-filings', 'market-news', 'all-ohlcv'])
    for (const [stream, figures] of Object.entries(grown)) {
      expect(figures.items, stream).toBe(120)
      expect(figures.heap, stream).toBeGreaterThan(0)
      ever.set(stream, ever.get(stream) === true || isLittle(figures))
    }
  }
  expect([...ever].filter(([, little]) => !little)).toEqual([])
})
