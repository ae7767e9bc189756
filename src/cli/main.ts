import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { isatty } from 'node:tty'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { asyncScheduler } from 'rxjs'
import { folder } from '../../sinks/folder.js'
import { streams } from '../../streams/registry.js'
import { createCollector } from '../collector.js'
import { findOrigins, loadNotifySettings, loadSettings, settingRows } from '../config.js'
import type { Dependencies, ProcessIo } from './dependencies.js'
import { runProgram } from './program.js'
import { listenToSignals } from './signals.js'

/** A run of about 60 stocks has ended after this time. */
const SHORT_RUN_MS = 2_000

// V8 sees the first thousands of items wait, and then allocates the objects of all items in the old
// generation, where they stay until the next major GC: three times the memory, and twice the time for small
// answers.
setFlagsFromString('--no-allocation-site-pretenuring')
const node = Number.parseInt(process.versions.node, 10)
// The next major GC begins when the heap is three times the live data: on a machine with much memory V8 would
// wait longer. It lowers the peak of a whole run by an eighth (265 to 235 MB), with the same CPU time. Node
// 24 returns less of what was freed to the system, so that the heap may only double there: 268 to 247 MB, for
// 9 % more CPU time, with which it takes as long as Node 20.
setFlagsFromString(`--heap-growing-percent=${node >= 24 ? 100 : 200}`)
// From Node 24 on, V8 lets the space of new objects grow to 64 MB instead of 32 MB. It stays as large as it
// is here: without latency the peak of 600 stocks falls from 345 to 235 MB and that of the whole market from
// 501 to 369 MB, for 2 to 6 % more CPU time.
if (node >= 24) setFlagsFromString('--semi-space-growth-factor=1')
// Node 20 optimizes a function early: of the 3.4 s of CPU time of 60 stocks, compiling took a quarter. At
// first it waits three times as long (2.9 s), later as long as V8 does by itself: with a long wait for the
// whole run, 2,775 stocks took a sixth more CPU time.
if (node < 22) {
  setFlagsFromString('--interrupt-budget=200000')
  setTimeout(() => setFlagsFromString('--interrupt-budget=67584'), SHORT_RUN_MS).unref()
}

const { version, peerDependenciesMeta } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
) as {
  readonly version: string
  readonly peerDependenciesMeta: object
}

/** Node itself has raised the limit that the shell set to the hard one. */
const findMaxOpenFiles = (): number => {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } }
  }
  const soft = userLimits?.open_files?.soft
  return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY
}

const dependencies: Dependencies = {
  version,
  // The same relative path from the bundled command and from the unbundled one.
  pageFolder: fileURLToPath(new URL('../../bundle/web/', import.meta.url)),
  streams,
  optionalPackages: Object.keys(peerDependenciesMeta),
  settingRows,
  loadSettings,
  loadNotifySettings,
  findOrigins,
  createCollector,
  fleet: async () => ({ ...(await import('../fleet/driver.js')), ...(await import('../fleet/worker.js')) }),
  findMaxOpenFiles,
  // Loaded on demand: a run on a real provider saves 20 ms.
  serveSimulator: async (options) => (await import('../simulator/index.js')).serveSimulator(options),
  storage: ({ out }) => folder(out),
}

/** The terminal edits the line, so that Ctrl+C ends the process as usual. */
const readTypedLine = async (): Promise<string> => {
  try {
    for await (const line of createInterface({ input: process.stdin })) return line
    process.stderr.write('\n')
    return ''
  } finally {
    // An open terminal would keep the process alive.
    process.stdin.unref()
  }
}

const main = (): void => {
  // The exit code is 1 until the command sets its own: a process whose last promise never settles would exit
  // with 0.
  let hasEnded = false
  const end = (code: number): void => {
    hasEnded = true
    process.exitCode = code
  }
  process.exitCode = 1
  process.on('exit', () => {
    if (hasEnded) return
    process.stderr.write('error: the process ended before the run finished; run the same command again\n')
  })

  const io: Omit<ProcessIo, 'wall'> = {
    // Reading `process.stdin` opens it, and then a pipe can no longer be read synchronously.
    stdin: { isTTY: isatty(0) },
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    scheduler: asyncScheduler,
    signal$: listenToSignals(process),
    readLine: readTypedLine,
    exit: (code) => {
      end(code)
      process.exit()
    },
  }
  void runProgram(process.argv.slice(2), io, dependencies).then((code) => {
    end(code)
    // An idle connection, for example, may keep the process alive for 2 s at most.
    setTimeout(() => process.exit(), 2_000).unref()
  })
}

main()
