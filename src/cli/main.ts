#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { isatty } from 'node:tty'
import { setFlagsFromString } from 'node:v8'
import { asyncScheduler } from 'rxjs'
import { folder } from '../../sinks/folder.js'
import { streams } from '../../streams/index.js'
import { createCollector } from '../collector.js'
import { loadSettings, settingRows } from '../config.js'
import type { Parts, Shell } from './parts.js'
import { runProgram } from './program.js'
import { signalsOf } from './signals.js'
import { outliveReader, showCursor } from './terminal.js'

// The engine takes the first thousands of items, which all wait, for a sign that whatever is made for an item lives long. It then keeps
// everything until the next great collection: three times the memory, and twice the time for small answers.
setFlagsFromString('--no-allocation-site-pretenuring')

const { version, peerDependenciesMeta } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string
  readonly peerDependenciesMeta: object
}

const parts: Parts = {
  version,
  streams,
  optionalPackages: Object.keys(peerDependenciesMeta),
  settingRows,
  loadSettings,
  createCollector,
  fleet: () => import('../fleet/index.js'),
  // 20 ms that a run on a provider does without.
  serveSimulator: async (options) => (await import('../simulator/index.js')).serveSimulator(options),
  storage: ({ out }) => folder(out),
}

const main = (): void => {
  // Until a command has told how it ended, it has failed: a process whose last promise never settles would otherwise end with 0.
  let isTold = false
  const end = (code: number): void => {
    isTold = true
    process.exitCode = code
  }
  process.exitCode = 1
  process.on('exit', () => {
    if (isTold) return
    if (process.stderr.isTTY) showCursor(process.stderr)
    process.stderr.write('scripstream: ended before the run did\n')
  })
  outliveReader(process.stdout)
  outliveReader(process.stderr)

  const shell: Shell = {
    // To look at `process.stdin` is to open it, and a pipe could then no longer be read in one go.
    stdin: { isTTY: isatty(0) },
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    scheduler: asyncScheduler,
    signal$: signalsOf(process),
    exit: (code) => {
      end(code)
      process.exit()
    },
  }
  void runProgram(process.argv.slice(2), shell, parts).then((code) => {
    end(code)
    // Whatever still keeps the process alive now, an idle connection for one, may not keep it for long.
    setTimeout(() => process.exit(), 2_000).unref()
  })
}

main()
