import { defer, finalize, map, takeUntil, timer, toArray } from 'rxjs'
import { jsonText } from '../../model/json-text.js'
import { redactorOf } from '../../model/redact.js'
import { openConnections } from '../../provider/http.js'
import { redirectsOf } from '../../provider/redirects.js'
import type { Command } from '../parts.js'
import { type Asked, asking, settingsFor } from '../provider.js'
import { exitCodeOf, untilSignal } from '../signals.js'
import { paintLine, sizeOf } from '../terminal.js'
import { canariesOf } from './canaries.js'
import type { Canary } from './canary.js'
import { doctorLines } from './lines.js'
import { type Check, localChecks } from './local.js'

export interface DoctorFlags extends Asked {
  readonly out: string | undefined
  readonly json: boolean
}

/** The time limit of all probes together. */
const LONGEST_MS = 60_000

/** 1 if something does not work, 3 if everything works but answers have changed. */
const codeOf = (checks: readonly Check[], canaries: readonly Canary[]): number => {
  const results = [...checks, ...canaries].map(({ result }) => result)
  if (results.includes('failed') || results.includes('unasked')) return 1
  return results.includes('drift') ? 3 : 0
}

/** Checks this machine, sends one request to each endpoint, and prints the results; emits the exit code. */
export const doctorCommand: Command<DoctorFlags> = ({ json, ...asked }, shell, parts) =>
  defer(() =>
    asking(asked, { settings: settingsFor(asked, shell, parts), parts }, ({ settings }) => {
      const { streams, optionalPackages: optional } = parts
      const checks = localChecks({ settings, streams, optional })
      const clock = (): number => shell.scheduler.now()
      const { send: transport, close } = openConnections({ redirect: redirectsOf(settings) })
      const wanted = streams.filter(({ phase }) => settings.fetchOhlcv || phase !== 'candles')
      const context = { settings, transport, clock, redact: redactorOf(settings), asOf: asked.asOf ?? clock() }
      return canariesOf(wanted, context).pipe(
        takeUntil(timer(LONGEST_MS, shell.scheduler)),
        toArray(),
        map((canaries) => {
          const missing = new Set(wanted.flatMap(({ endpoints }) => endpoints)).size - canaries.length
          const late: readonly Check[] =
            missing > 0
              ? [{ what: 'time', result: 'failed', found: `${missing} endpoints were not reached within ${LONGEST_MS / 1_000} s` }]
              : []
          return { checks: [...checks, ...late], canaries }
        }),
        finalize(close),
      )
    }),
  ).pipe(
    untilSignal(shell.signal$),
    map((found) => {
      if (typeof found === 'string') return exitCodeOf(found)
      const { checks, canaries } = found
      const code = codeOf(checks, canaries)
      const { columns } = sizeOf(shell.stdout)
      const text = json
        ? `${jsonText({ ok: code === 0, checks, calls: canaries }, 2)}\n`
        : `${doctorLines(found, columns)
            .map((line) => paintLine(line, Number.POSITIVE_INFINITY, shell.stdout))
            .join('\n')}\n`
      shell.stdout.write(text)
      return code
    }),
  )
