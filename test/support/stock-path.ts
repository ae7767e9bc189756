import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** What one more stock passes through on its way from the list to the disk. */
export interface StockPath {
  /** The files, and how many of their functions are called. */
  readonly files: ReadonlyMap<string, number>
  readonly functions: number
  /** Calls of these functions for one stock. */
  readonly calls: number
}

/** A provider with some stocks; `env` has the addresses of its hosts. */
export interface PathProvider {
  readonly stocks: number
  readonly env: Readonly<Record<string, string>>
}

interface ScriptCoverage {
  readonly url: string
  readonly functions: readonly {
    readonly functionName: string
    readonly ranges: readonly { startOffset: number; count: number }[]
  }[]
}

/**
 * A function is on the path if it is called for at least half of the stocks: one in five has no filings, so
 * nothing to write.
 */
const SHARE = 0.5

/**
 * What happens by the clock, such as the state of the page twice a second, is on no stock's path: on a busy
 * machine it happens more often.
 */
const STOP_CLOCKS =
  'data:text/javascript,const start=setInterval;globalThis.setInterval=(call,ms,...more)=>start(call,ms*(ms<250||4e3),...more)'

/** Runs one stream of a built checkout. Returns how often each function was called, by file and position. */
const countCalls = async (
  product: string,
  stream: string,
  { env }: PathProvider,
): Promise<ReadonlyMap<string, number>> => {
  const entry = join(product, 'dist/src/cli/main.js')
  if (!existsSync(entry)) throw new Error(`${product} is not built: npm run build`)
  const folder = mkdtempSync(join(tmpdir(), 'scripstream-path-'))
  try {
    const args = [
      'run',
      '--only',
      stream,
      '--out',
      join(folder, 'data'),
      '--progress',
      'none',
      '--as-of',
      '2026-02-12T20:00:00+05:30',
    ]
    const child = spawn(process.execPath, ['--import', STOP_CLOCKS, entry, ...args], {
      env: { PATH: process.env.PATH ?? '', ...env, NODE_V8_COVERAGE: join(folder, 'coverage') },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const [[code], stderr] = await Promise.all([once(child, 'close'), text(child.stderr)])
    if (code !== 0) throw new Error(`the run ended with ${code}\n${stderr}`)
    const counts = new Map<string, number>()
    for (const name of readdirSync(join(folder, 'coverage'))) {
      const { result } = JSON.parse(readFileSync(join(folder, 'coverage', name), 'utf8')) as {
        readonly result: readonly ScriptCoverage[]
      }
      for (const { url, functions } of result) {
        const file = /\/dist\/((?:src|streams|sinks)\/.*)\.js$/.exec(url)?.[1]
        if (file === undefined || file.startsWith('src/cli/')) continue
        for (const { functionName, ranges } of functions) {
          const key = `${file}.ts#${functionName}@${ranges[0]?.startOffset}`
          counts.set(key, (counts.get(key) ?? 0) + (ranges[0]?.count ?? 0))
        }
      }
    }
    return counts
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Runs a stream with few and with more stocks. The functions whose calls grow with the stocks are the path of
 * a stock.
 *
 * @throws Error if the checkout is not built or a run fails
 */
export const measureStockPath = async (
  product: string,
  stream: string,
  [few, more]: readonly [few: PathProvider, more: PathProvider],
): Promise<StockPath> => {
  const [before, after] = await Promise.all([
    countCalls(product, stream, few),
    countCalls(product, stream, more),
  ])
  const stocks = more.stocks - few.stocks
  const files = new Map<string, number>()
  let [functions, calls] = [0, 0]
  for (const [key, count] of after) {
    const grown = count - (before.get(key) ?? 0)
    if (grown < stocks * SHARE) continue
    const file = key.slice(0, key.indexOf('#'))
    files.set(file, (files.get(file) ?? 0) + 1)
    functions += 1
    calls += grown / stocks
  }
  return { files, functions, calls: Math.round(calls) }
}
