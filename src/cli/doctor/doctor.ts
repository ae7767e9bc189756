import { defer, finalize, map, takeUntil, timer, toArray } from 'rxjs'
import { openConnections } from '../../http/connections.js'
import { createRedactor } from '../../model/redact.js'
import type { Command } from '../dependencies.js'
import { type ProviderChoice, resolveOrigins, resolveSettings, withProvider } from '../provider.js'
import { toExitCode, untilSignal } from '../signals.js'
import { printJson, printLines } from '../terminal/print.js'
import { readSize } from '../terminal/terminal.js'
import { doctorLines, listSettings } from './lines.js'
import { hasProvider, type LocalCheck, localChecks } from './local.js'
import { type Probe, probeEndpoints } from './probe.js'

export interface DoctorFlags extends ProviderChoice {
  readonly out?: string | undefined
  readonly json?: boolean
}

/** The time limit of all probes together. */
const MAX_DOCTOR_MS = 60_000

/** 1 if something does not work, 3 if everything works but answers have changed. */
const chooseExitCode = (checks: readonly LocalCheck[], probes: readonly Probe[]): number => {
  const results = [...checks, ...probes].map(({ result }) => result)
  if (results.includes('failed') || results.includes('skipped')) return 1
  return results.includes('drift') ? 3 : 0
}

/** Checks this machine, sends one request to each endpoint, and prints the results; emits the exit code. */
export const doctorCommand: Command<DoctorFlags> = ({ json, ...choice }, io, dependencies) =>
  defer(() => {
    const [loaded, origins] = [resolveSettings(choice, io, dependencies), resolveOrigins(choice, io, dependencies)]
    return withProvider(choice, { settings: loaded, dependencies }, ({ settings }) => {
      const { streams, optionalPackages: optional } = dependencies
      const checks = localChecks({ settings, streams, optional, env: io.env })
      const clock = (): number => io.scheduler.now()
      const { send: transport, close } = openConnections({ settings, env: io.env })
      const wanted = hasProvider(settings) ? streams.filter(({ phase }) => settings.fetchOhlcv || phase !== 'candles') : []
      const context = { settings, transport, clock, redact: createRedactor(settings), origins, asOf: choice.asOf ?? clock() }
      return probeEndpoints(wanted, context).pipe(
        takeUntil(timer(MAX_DOCTOR_MS, io.scheduler)),
        toArray(),
        map((probes) => {
          const missing = new Set(wanted.flatMap(({ endpoints }) => endpoints)).size - probes.length
          const late: readonly LocalCheck[] =
            missing > 0
              ? [{ what: 'time', result: 'failed', found: `${missing} endpoints were not reached within ${MAX_DOCTOR_MS / 1_000} s` }]
              : []
          return { checks: [...checks, ...late], settings: listSettings(settings, { loaded, origins }), probes }
        }),
        finalize(close),
      )
    })
  }).pipe(
    untilSignal(io.signal$),
    map((found) => {
      if (typeof found === 'string') return toExitCode(found)
      const { checks, settings, probes } = found
      const code = chooseExitCode(checks, probes)
      if (json) printJson({ ok: code === 0, checks, settings, calls: probes }, io.stdout)
      else printLines(doctorLines(found, readSize(io.stdout).columns), io.stdout)
      return code
    }),
  )
