import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

export interface ProcessResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** Start time, epoch milliseconds. */
  readonly startedAt: number
  readonly wallMs: number
}

export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The process is killed after this time; its exit code is then null. */
  readonly deadlineMs: number
}

/** Runs a command until it exits or reaches its deadline. Its environment has only `PATH` and `env`. */
export const runWithDeadline = async ({ file, args, env, deadlineMs }: Command): Promise<ProcessResult> => {
  const from = performance.now()
  const child = spawn(file, args, {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const kill = (): void => void child.kill('SIGKILL')
  const timer = deadlineMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(kill, deadlineMs)
  process.on('exit', kill)
  try {
    const [[code], stdout, stderr] = await Promise.all([
      once(child, 'close'),
      text(child.stdout),
      text(child.stderr),
    ])
    return {
      code: code as number | null,
      stdout,
      stderr,
      startedAt: performance.timeOrigin + from,
      wallMs: performance.now() - from,
    }
  } finally {
    clearTimeout(timer)
    process.off('exit', kill)
  }
}

/** Runs a command without a deadline. */
export const runProcess = (
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<ProcessResult> => runWithDeadline({ file, args, env, deadlineMs: Number.POSITIVE_INFINITY })

/** The command sets this flag itself; apps that embed the collector must set it too. */
const ENGINE_FLAGS = ['--no-allocation-site-pretenuring']

/**
 * Runs a script of the benchmark in a separate process, with the V8 flags of the command; returns the JSON
 * that it prints.
 */
export const runScript = async <T>(
  script: URL,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<T> => {
  const { code, stdout, stderr } = await runProcess(
    process.execPath,
    [...ENGINE_FLAGS, script.pathname, ...args],
    env,
  )
  if (code !== 0) throw new Error(`${script.pathname} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout) as T
}
