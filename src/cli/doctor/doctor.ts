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
const codeOf = (checks: readonly Check[], probes: readonly Canary[]): number => {
  const results = [...checks, ...probes].map(({ result }) => result)
  if (results.includes('failed') || results.includes('unasked')) return 1
  return results.includes('drift') ? 3 : 0
}

/** Checks this machine, sends one request to each endpoint, and prints the results; emits the exit code. */
export const doctorCommand: Command<DoctorFlags> = ({ json, ...choice }, io, dependencies) =>
  defer(() =>
    asking(choice, { settings: settingsFor(choice, io, dependencies), dependencies }, ({ settings }) => {
      const { streams, optionalPackages: optional } = dependencies
      const checks = localChecks({ settings, streams, optional })
      const clock = (): number => io.scheduler.now()
      const { send: transport, close } = openConnections({ redirect: redirectsOf(settings) })
      const wanted = streams.filter(({ phase }) => settings.fetchOhlcv || phase !== 'candles')
      const context = { settings, transport, clock, redact: redactorOf(settings), asOf: choice.asOf ?? clock() }
      return canariesOf(wanted, context).pipe(
        takeUntil(timer(LONGEST_MS, io.scheduler)),
        toArray(),
        map((probes) => {
          const missing = new Set(wanted.flatMap(({ endpoints }) => endpoints)).size - probes.length
          const late: readonly Check[] =
            missing > 0
              ? [{ what: 'time', result: 'failed', found: `${missing} endpoints were not reached within ${LONGEST_MS / 1_000} s` }]
              : []
          return { checks: [...checks, ...late], probes }
        }),
        finalize(close),
      )
    }),
  ).pipe(
    untilSignal(io.signal$),
    map((found) => {
      if (typeof found === 'string') return exitCodeOf(found)
      const { checks, probes } = found
      const code = codeOf(checks, probes)
      const { columns } = sizeOf(io.stdout)
      const text = json
        ? `${jsonText({ ok: code === 0, checks, calls: probes }, 2)}\n`
        : `${doctorLines(found, columns)
            .map((line) => paintLine(line, Number.POSITIVE_INFINITY, io.stdout))
            .join('\n')}\n`
      io.stdout.write(text)
      return code
    }),
  )
