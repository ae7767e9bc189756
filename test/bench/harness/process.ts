import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** When it was started, epoch milliseconds. */
  readonly startedAt: number
  readonly wallMs: number
}

/** Runs a command to its end, with nothing in its environment but `PATH` and what is given. */
export const runProcess = async (file: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> => {
  const from = performance.now()
  const child = spawn(file, args, { env: { PATH: process.env.PATH ?? '', ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { code: code as number | null, stdout, stderr, startedAt: performance.timeOrigin + from, wallMs: performance.now() - from }
}

/** Set by the command itself; an app that embeds the collector has to set it, too. */
const ENGINE_FLAGS = ['--no-allocation-site-pretenuring']

/** Runs a script of the benchmark in a process of its own, with the engine as the command has it; gives the JSON that it prints. */
export const runScript = async <T>(script: URL, args: readonly string[], env: Readonly<Record<string, string>>): Promise<T> => {
  const { code, stdout, stderr } = await runProcess(process.execPath, [...ENGINE_FLAGS, script.pathname, ...args], env)
  if (code !== 0) throw new Error(`${script.pathname} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout) as T
}
