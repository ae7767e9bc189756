import { finalize, from, map, takeUntil, timer, toArray } from 'rxjs'
import { selectOptional } from '../../engine/plan.js'
import { openConnections } from '../../http/connections.js'
import { createRedactor } from '../../model/redact.js'
import { defineCommand } from '../command.js'
import { asOfOption, folderFlags, jsonFlag, simulateOption, withOption } from '../options.js'
import { resolveOrigins, withProvider } from '../provider.js'
import { doctorLines, listSettings } from './lines.js'
import { hasProvider, localChecks } from './local.js'
import { probeEndpoints } from './probe.js'

const MAX_DOCTOR_MS = 60_000

/** A list of stocks at a limit is recognised in a page from four on, and half of the first simulated stocks are at each. */
const MIN_SIMULATED = 8

export const addDoctor = defineCommand({
  name: 'doctor',
  about: 'Checks this machine and sends one request to each endpoint: what works, how fast, what has changed.',
  flags: ({ io, dependencies: { streams } }) => ({
    ...folderFlags(),
    ...{ with: withOption(streams), asOf: asOfOption(io), simulate: simulateOption(), json: jsonFlag() },
  }),
  examples: [
    ['scripstream doctor', 'sends one request to each endpoint and reports what fails'],
    ['scripstream doctor --simulate', 'the output when everything works'],
  ],
  exits: { 1: 'something does not work; the cause and what to do are shown', 3: 'everything works, but answers have changed' },
  endsBySignal: true,
  run: (flags, { io, dependencies, settings: load }) => {
    const [loaded, origins] = [load(), resolveOrigins(flags, io, dependencies)]
    const simulate = flags.simulate && Math.max(flags.simulate, MIN_SIMULATED)
    return withProvider({ ...flags, simulate }, { settings: loaded, dependencies }, ({ settings }) => {
      const local = localChecks(settings, dependencies, io.env)
      const clock = (): number => io.scheduler.now()
      const { send: transport, close } = openConnections({ settings, env: io.env })
      const enabled = selectOptional(dependencies.streams, settings.with).filter(({ phase }) => settings.fetchOhlcv || phase !== 'candles')
      const wanted = hasProvider(settings) ? enabled : []
      const context = { settings, transport, clock, redact: createRedactor(settings), origins, asOf: flags.asOf ?? clock() }
      return from(probeEndpoints(wanted, context)).pipe(
        takeUntil(timer(MAX_DOCTOR_MS, io.scheduler)),
        toArray(),
        map((probes) => {
          const missing = new Set(wanted.flatMap(({ endpoints }) => endpoints)).size - probes.length
          const late = `${missing} endpoints were not reached within ${MAX_DOCTOR_MS / 1_000} s`
          const checks = missing > 0 ? [...local, { what: 'time', result: 'failed', found: late } as const] : local
          const used = listSettings(settings, { loaded, origins })
          const results = [...checks, ...probes].map(({ result }) => result)
          const isBroken = results.includes('failed') || results.includes('skipped')
          const code = isBroken ? 1 : results.includes('drift') ? 3 : 0
          return {
            code,
            json: { ok: code === 0, checks, settings: used, calls: probes },
            lines: () => doctorLines(checks, used, probes),
          }
        }),
        finalize(close),
      )
    })
  },
})
