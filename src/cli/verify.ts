import { defer, map, type Observable } from 'rxjs'
import type { CheckName } from '../checks/finding.js'
import type { Verification } from '../checks/verification.js'
import { jsonText } from '../model/json-text.js'
import { findingLines } from './findings.js'
import type { Command } from './parts.js'
import { settingsFor } from './provider.js'
import { paintLine, sizeOf } from './terminal.js'

export interface VerifyFlags {
  readonly out?: string
  readonly config?: string
  readonly only?: readonly CheckName[]
  readonly symbols?: readonly string[]
  readonly json?: boolean
}

/** The exit code if the findings exceed the limits in the settings. */
const LIMIT_PASSED = 4

/** The default allows no errors and any number of warnings: most trading days have unusual moves. */
const USUAL_LIMITS = { errors: 0 }

/** Checks the outputs of a folder, prints the findings, and emits the exit code. */
export const verifyCommand: Command<VerifyFlags> = (
  { out, config, only, symbols, json = false },
  { stdout, env, scheduler },
  dependencies,
) =>
  defer((): Observable<number> => {
    const settings = settingsFor({ out, config }, { env }, dependencies)
    const startedAt = scheduler.now()
    const verifying = {
      streams: dependencies.streams,
      exchange: settings.exchange,
      only,
      symbols,
      limits: { ...USUAL_LIMITS, ...settings.verify },
    }
    const print = (verification: Verification): void => {
      if (json) {
        stdout.write(`${jsonText(verification, 2)}\n`)
        return
      }
      const { columns } = sizeOf(stdout)
      const lines = findingLines(verification, { columns, tookMs: scheduler.now() - startedAt })
      stdout.write(`${lines.map((line) => paintLine(line, Number.POSITIVE_INFINITY, stdout)).join('\n')}\n`)
    }
    return defer(async () => {
      const { verify } = await import('./folder-readers.js')
      return verify(settings.out, verifying)
    }).pipe(
      map((verification) => {
        print(verification)
        return verification.passed.length > 0 ? LIMIT_PASSED : 0
      }),
    )
  })
