import { fileURLToPath } from 'node:url'
import type { ProbeResult } from '../harness/probe.js'
import { runProcess } from '../harness/process.js'
import type { Latency } from '../provider/conditions.js'
import { FIRST_RUN_AT } from '../provider/conditions.js'
import type { Provider } from '../provider/process.js'

// The compiled file is two folders deeper than the source.
const script = fileURLToPath(new URL('../../../../test/bench/references/plain_threads.py', import.meta.url))

/** Why the plain program cannot run here; undefined if it can. */
export const findMissingDependency = async (): Promise<string | undefined> => {
  try {
    const { code } = await runProcess('python3', ['-c', 'import requests'], {})
    return code === 0 ? undefined : 'the Python package requests is not installed'
  } catch {
    return 'python3 is not installed'
  }
}

export interface PlainRun extends Pick<ProbeResult, 'cpuMicros'> {
  readonly wallMs: number
}

interface PlainOptions {
  readonly provider: Provider
  readonly latency: Latency
  readonly out: string
}

/** Runs the plain threads program against the provider; rejects if it fails. */
export const runPlainThreads = async ({ provider, latency, out }: PlainOptions): Promise<PlainRun> => {
  await provider.control({ latency, asOf: FIRST_RUN_AT, reset: true })
  const { code, stdout, stderr, wallMs } = await runProcess(
    'python3',
    [script, out, FIRST_RUN_AT],
    provider.env,
  )
  if (code !== 0) throw new Error(`the plain threads program exited with ${code}: ${stderr.slice(-2_000)}`)
  return { ...(JSON.parse(stdout) as PlainRun), wallMs }
}
