import { defer, map, type Observable } from 'rxjs'
import type { CheckName, Verification } from '../analysis/verify/finding.js'
import { formatJson } from '../model/text.js'
import type { Command } from './dependencies.js'
import { findingLines } from './findings.js'
import { resolveSettings } from './provider.js'
import { paintLine, readSize } from './terminal.js'

export interface VerifyFlags {
  readonly out?: string
  readonly config?: string
  readonly only?: readonly CheckName[]
  readonly symbols?: readonly string[]
  readonly json?: boolean
}

/** The exit code if the findings exceed the limits in the settings. */
const EXIT_LIMIT_EXCEEDED = 4

/** The default allows no errors and any number of warnings: most trading days have unusual moves. */
const DEFAULT_LIMITS = { errors: 0 }

/** Checks the outputs of a folder, prints the findings, and emits the exit code. */
export const verifyCommand: Command<VerifyFlags> = (
  { out, config, only, symbols, json = false },
  { stdout, env, scheduler },
  dependencies,
) =>
  defer((): Observable<number> => {
    const settings = resolveSettings({ out, config }, { env }, dependencies)
    const startedAt = scheduler.now()
    const verifying = {
      streams: dependencies.streams,
      exchange: settings.exchange,
      only,
      symbols,
      limits: { ...DEFAULT_LIMITS, ...settings.verify },
    }
    const print = (verification: Verification): void => {
      if (json) {
        stdout.write(`${formatJson(verification, 2)}\n`)
        return
      }
      const { columns } = readSize(stdout)
      const lines = findingLines(verification, { columns, tookMs: scheduler.now() - startedAt })
      stdout.write(`${lines.map((line) => paintLine(line, Number.POSITIVE_INFINITY, stdout)).join('\n')}\n`)
    }
    return defer(async () => {
      const { verify } = await import('./folder-readers.js')
      return verify(settings.out, verifying)
    }).pipe(
      map((verification) => {
        print(verification)
        return verification.passed.length > 0 ? EXIT_LIMIT_EXCEEDED : 0
      }),
    )
  })
