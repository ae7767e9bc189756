import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { quoteShell } from '../../src/model/text.js'
import { type Simulator, type SimulatorOptions, serveSimulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'

const root = new URL('../../', import.meta.url)
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  readonly bin: { readonly scripstream: string }
}

/** The executable, as named in package.json. */
export const main = fileURLToPath(new URL(manifest.bin.scripstream, root))

/** The command as messages print it: as it was started, from another folder. */
export const typed = `node ${quoteShell(main)}`

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

interface Place {
  readonly cwd: string
  readonly env?: Record<string, string>
  /** A command that starts another one, with its own arguments. */
  readonly startedBy?: readonly string[]
  /** The limit of open files and sockets. */
  readonly descriptors?: number
}

/** Starts the built command with a clean environment. */
export const start = (args: readonly string[], { env = {}, cwd, startedBy = [], descriptors }: Place) => {
  if (!existsSync(main)) throw new Error('the command is not built: npm run build')
  const { PATH = '' } = process.env
  const command = [...startedBy, process.execPath, main, ...args]
  const [file = '', ...rest] =
    descriptors === undefined
      ? command
      : ['sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh', ...command]
  return spawn(file, rest, {
    cwd,
    env: { PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

export const endOf = async (child: ReturnType<typeof start>): Promise<Ended> => {
  const [[code], stdout, stderr] = await Promise.all([
    once(child, 'close'),
    text(child.stdout),
    text(child.stderr),
  ])
  return { code: code as number | null, stdout, stderr }
}

/** Runs the built command to its end. */
export const run = (args: readonly string[], place: Place): Promise<Ended> => endOf(start(args, place))

/** Starts a simulator that stops when the test ends; returns it with the environment that points to it. */
export const provider = async (
  options: Omit<SimulatorOptions, 'endpoints'> = {},
): Promise<{ simulator: Simulator; env: Record<string, string> }> => {
  const simulator = await serveSimulator({
    endpoints: streams.flatMap(({ endpoints }) => endpoints),
    stocks: 12,
    asOf: Date.parse('2026-02-12T20:00:00+05:30'),
    candleDays: 40,
    ...options,
  })
  onTestFinished(() => simulator.close())
  const env = Object.fromEntries(
    simulator.environment.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]),
  )
  return { simulator, env: env }
}
