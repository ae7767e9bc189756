import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporariesIn } from '../crash/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'
import { endOf, provider, run, start, typed } from './command.js'

const DAY_ARGS = ['--as-of', '2026-02-12T20:00:00+05:30']

/** Symbols in the journal of a stream. */
const notedIn = (out: string, stream: string): readonly string[] =>
  readFileSync(join(out, '.scripstream', 'journals', `${stream}.ndjson`), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { readonly item: string }).item)

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Sends a signal to a run in the middle of the news, and waits for its end. */
const interrupt = async (signal: NodeJS.Signals, expected: number) => {
  const { simulator, env } = await provider({ stocks: 80, latencyMs: 150 })
  const [cwd, out] = [temporaryFolder(), temporaryFolder()]
  const child = start(['run', ...DAY_ARGS, '--out', out], { cwd, env })
  const ending = endOf(child)
  while ((simulator.stats().endpoints.news?.statuses[200] ?? 0) < 20) await turn()
  child.kill(signal)
  const { code, stdout, stderr } = await ending
  expect(code, stderr).toBe(expected)
  expect(stderr).toContain('Stopping: requests in flight have 5 s to finish')
  expect(stdout).toContain(
    `To resume (finished items are not requested again):\n    ${typed} run ${DAY_ARGS.join(' ')} --out ${out}`,
  )
  // No request in flight was aborted.
  const { statuses = {} } = simulator.stats().endpoints.news ?? {}
  expect(statuses.closed).toBeUndefined()
  const noted = notedIn(out, 'market-news')
  expect(noted.length).toBe(statuses[200])
  expect(temporariesIn(out)).toEqual([])
  return { simulator, place: { cwd, env }, out, noted }
}

describe('a run that gets a signal', () => {
  it.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('finishes requests in flight after %s', async (signal, expected) => {
    expect((await interrupt(signal, expected)).noted.length).toBeGreaterThanOrEqual(20)
  })

  it('finishes requests in flight after SIGINT, and its resumed run does not repeat them', async () => {
    const { simulator, place, out, noted } = await interrupt('SIGINT', 130)
    simulator.control({ latencyMs: 0, reset: true })
    const again = await run(['run', ...DAY_ARGS, '--out', out], place)
    expect(again.code, again.stderr).toBe(0)
    const requested = Object.keys(simulator.stats().endpoints.news?.items ?? {}).join()
    const isinOf = new Map(simulator.market.stocks.map(({ Symbol: symbol, ISIN }) => [symbol, ISIN]))
    expect(noted.filter((symbol) => requested.includes(isinOf.get(symbol) ?? ''))).toEqual([])
    const whole = temporaryFolder()
    expect((await run(['run', ...DAY_ARGS, '--out', whole], place)).code).toBe(0)
    expect(hashOutputs(out)).toEqual(hashOutputs(whole))
  })

  it('ends at once after two signals, and can be resumed', async () => {
    const { simulator, env } = await provider({ stocks: 20, faults: [{ on: 'news', mode: 'hang' }] })
    const [cwd, out] = [temporaryFolder(), temporaryFolder()]
    const child = start(['run', ...DAY_ARGS, '--out', out], { cwd, env })
    const ending = endOf(child)
    let stderr = ''
    child.stderr.on('data', (text: Buffer) => {
      stderr += text.toString()
    })
    while ((simulator.stats().endpoints.news?.requests ?? 0) === 0) await turn()
    child.kill('SIGINT')
    while (!stderr.includes('Stopping')) await turn()
    child.kill('SIGINT')
    expect((await ending).code).toBe(130)
    expect(readdirSync(join(out, '.scripstream'))).toContain('lock')

    simulator.control({ faults: [] })
    const again = await run(['run', ...DAY_ARGS, '--out', out], { cwd, env })
    expect(again.code, again.stderr).toBe(0)
    expect(again.stderr).toContain('Resuming run')
    expect(readdirSync(join(out, '.scripstream')).sort()).toEqual([
      'format.json',
      'full-run.json',
      'history',
      'output-digests',
      'previous',
      'report.json',
      'runs.ndjson',
      'source.json',
    ])
  })
})
