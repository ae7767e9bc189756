import { resolve } from 'node:path'
import { defer, map } from 'rxjs'
import { formatJson } from '../../model/text.js'
import type { Command } from '../dependencies.js'
import { findFreeBytes } from '../disk.js'
import { type ProviderChoice, resolveSettings, SIMULATED_LATENCY_MS, withProvider } from '../provider.js'
import { toExitCode, untilSignal } from '../signals.js'
import { paintLine, readSize } from '../terminal.js'
import type { LatencyEstimate } from './estimate.js'
import { createForecast } from './forecast.js'
import type { PlanInput } from './items.js'
import { formatPlan } from './lines.js'

export interface PlanFlags extends ProviderChoice, Pick<PlanInput, 'run' | 'stocks'> {
  readonly out: string | undefined
  /** Milliseconds per request. */
  readonly latency: number | undefined
  readonly json: boolean
}

/** Prints the estimated requests, time and files of a run without sending a request; emits the exit code. */
export const planCommand: Command<PlanFlags> = (flags, io, dependencies) =>
  defer(() =>
    withProvider(flags, { settings: resolveSettings(flags, io, dependencies), dependencies }, ({ settings, variant }) =>
      createForecast({
        ...{ settings, streams: dependencies.streams, stored: dependencies.storage(settings).stored, run: { ...flags.run, ...variant } },
        ...{ stocks: flags.stocks ?? flags.simulate, latency: chooseFlagLatency(flags), now: io.scheduler.now() },
      }).pipe(map((forecast) => ({ forecast, settings }))),
    ),
  ).pipe(
    untilSignal(io.signal$),
    map((planned) => {
      if (typeof planned === 'string') return toExitCode(planned)
      const { forecast, settings } = planned
      const free = findFreeBytes(resolve(settings.out))
      const text = flags.json
        ? `${formatJson({ ...forecast, freeBytes: free ?? null }, 2)}\n`
        : formatPlan(forecast, { out: settings.out, free, columns: readSize(io.stdout).columns })
            .map((line) => `${paintLine(line, Number.POSITIVE_INFINITY, io.stdout)}\n`)
            .join('')
      io.stdout.write(text)
      return 0
    }),
  )

const chooseFlagLatency = ({ latency, simulate }: PlanFlags): LatencyEstimate | undefined => {
  if (latency !== undefined) return { ms: latency, from: 'given' }
  return simulate === undefined ? undefined : { ms: SIMULATED_LATENCY_MS, from: 'simulation' }
}
