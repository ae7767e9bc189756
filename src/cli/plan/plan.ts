import { resolve } from 'node:path'
import { defer, map } from 'rxjs'
import { jsonText } from '../../model/json-text.js'
import { freeBytes, nearestExisting } from '../disk.js'
import type { Command } from '../parts.js'
import { type Asked, asking, SIMULATED_LATENCY_MS, settingsFor } from '../provider.js'
import { exitCodeOf, untilSignal } from '../signals.js'
import { paintLine, sizeOf } from '../terminal.js'
import { planDocument } from './document.js'
import type { Latency } from './estimate.js'
import { type Forecasting, forecastOf } from './forecast.js'
import { planLines } from './lines.js'

export interface PlanFlags extends Asked {
  readonly out: string | undefined
  readonly run: Forecasting['run']
  /** Number of stocks, if the folder has no master list. */
  readonly stocks: number | undefined
  /** Milliseconds per request. */
  readonly latency: number | undefined
  readonly json: boolean
}

/** Prints the estimated requests, time and files of a run without sending a request; emits the exit code. */
export const planCommand: Command<PlanFlags> = (flags, io, dependencies) =>
  defer(() =>
    asking(flags, { settings: settingsFor(flags, io, dependencies), dependencies }, ({ settings, variant }) =>
      forecastOf({
        ...{ settings, streams: dependencies.streams, stored: dependencies.storage(settings).stored, run: { ...flags.run, ...variant } },
        ...{ stocks: flags.stocks ?? flags.simulate, latency: latencyFor(flags), now: io.scheduler.now() },
      }).pipe(map((forecast) => ({ forecast, settings }))),
    ),
  ).pipe(
    untilSignal(io.signal$),
    map((planned) => {
      if (typeof planned === 'string') return exitCodeOf(planned)
      const { forecast, settings } = planned
      const free = freeAt(settings.out)
      const text = flags.json
        ? `${jsonText(planDocument(forecast, settings, free), 2)}\n`
        : planLines(forecast, { settings, free, columns: sizeOf(io.stdout).columns })
            .map((line) => `${paintLine(line, Number.POSITIVE_INFINITY, io.stdout)}\n`)
            .join('')
      io.stdout.write(text)
      return 0
    }),
  )

const latencyFor = ({ latency, simulate }: PlanFlags): Latency | undefined => {
  if (latency !== undefined) return { ms: latency, from: 'given' }
  return simulate === undefined ? undefined : { ms: SIMULATED_LATENCY_MS, from: 'simulation' }
}

const freeAt = (folder: string): number | undefined => {
  try {
    return freeBytes(nearestExisting(resolve(folder)))
  } catch {
    return undefined
  }
}
