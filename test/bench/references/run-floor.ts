import { readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ProbeResult } from '../harness/probe.js'
import { runProcess } from '../harness/process.js'
import { FIRST_RUN_AT, type Latency } from '../provider/conditions.js'
import type { Provider } from '../provider/process.js'

const script = fileURLToPath(new URL('./floor.js', import.meta.url))
const probe = new URL('../harness/probe.js', import.meta.url).href

/** The file of the floor program's journal; all others are outputs. */
export const JOURNAL = 'journal.ndjson'

/** The streams whose work the floor does. */
export const FLOOR_STREAMS = [
  'fundamental-data',
  'company-filings',
  'market-news',
  'new-announcements',
  'advanced-indicators',
  'all-ohlcv',
] as const

/** Runs the floor program against the provider; rejects if it fails. */
export const runFloor = async (provider: Provider, latency: Latency, out: string): Promise<ProbeResult> => {
  await provider.control({ latency, asOf: FIRST_RUN_AT, reset: true })
  const probed = `${out}.probe.json`
  const args = ['--import', probe, script, out, String(provider.stocks), JOURNAL]
  const { code, stderr } = await runProcess(process.execPath, args, { ...provider.env, BENCH_PROBE: probed })
  if (code !== 0) throw new Error(`the floor program ended with ${code}: ${stderr.slice(-2_000)}`)
  const result = JSON.parse(readFileSync(probed, 'utf8')) as ProbeResult
  rmSync(probed)
  return result
}
