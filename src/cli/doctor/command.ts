import {
  concatMap,
  defer,
  finalize,
  forkJoin,
  from,
  map,
  type Observable,
  of,
  takeUntil,
  timer,
  toArray,
} from 'rxjs'
import { selectOptional } from '../../engine/plan.js'
import { openConnections } from '../../http/connections.js'
import { createRedactor } from '../../model/redact.js'
import { type Answer, defineCommand, type Input } from '../command.js'
import type { Origins } from '../hints.js'
import { sendMessage } from '../notify/notify.js'
import { asOfOption, flag, folderFlags, jsonFlag, simulateOption, withOption } from '../options.js'
import { resolveOrigins, withProvider } from '../provider.js'
import { describeVerdict, doctorLines, listSettings } from './lines.js'
import { hasProvider, localChecks } from './local.js'
import { type Probe, probeEndpoints } from './probe.js'
import type { LocalCheck } from './settings.js'

const MAX_DOCTOR_MS = 60_000

/**
 * A list of stocks at a limit is recognised in a page from four on, and half of the first simulated stocks
 * are at each.
 */
const MIN_SIMULATED = 8

export const addDoctor = defineCommand({
  name: 'doctor',
  about:
    'Tries what a run does at its start, and sends one request to each endpoint: what works, how fast, what has changed.',
  flags: ({ io, dependencies: { streams } }) => ({
    ...folderFlags(),
    with: withOption(streams),
    asOf: asOfOption(io),
    simulate: simulateOption(),
    notify: flag('--notify [text]', 'also send one message to the setting "notify": a test, or this text'),
    json: jsonFlag(),
  }),
  examples: [
    ['scripstream doctor', 'tries the settings, and one request to each endpoint'],
    ['scripstream doctor --notify', 'also sends a test message, marked as one'],
    ['scripstream doctor --simulate', 'the output when everything works'],
  ],
  exits: {
    1: 'something does not work; the cause and what to do are shown',
    3: 'everything works, but answers have changed',
  },
  endsBySignal: true,
  run: ({ notify, ...flags }, input) => {
    const { io, dependencies, settings: load } = input
    const [loaded, origins] = [load(), resolveOrigins(flags, io, dependencies)]
    const simulate = flags.simulate && Math.max(flags.simulate, MIN_SIMULATED)
    return withProvider({ ...flags, simulate }, { settings: loaded, dependencies }, ({ settings }) => {
      const used = listSettings(settings, { loaded, origins })
      return forkJoin({
        checks: localChecks({
          settings,
          dependencies,
          env: io.env,
          origins,
          isSimulated: flags.simulate !== undefined,
        }),
        probes: probeProvider(settings, { origins, asOf: flags.asOf }, input),
      }).pipe(
        map(({ checks, probes }) => ({ checks: [...checks, ...probes.checks], probes: probes.results })),
        concatMap((found) => (notify === undefined ? of(found) : sendVerdict(notify, found, input))),
        map(({ checks, probes }): Answer => {
          const code = toDoctorCode([...checks, ...probes].map(({ result }) => result))
          return {
            code,
            json: { ok: code === 0, checks, settings: used, calls: probes },
            lines: () => doctorLines(checks, used, probes),
          }
        }),
      )
    })
  },
})

const toDoctorCode = (results: readonly (LocalCheck['result'] | Probe['result'])[]): number => {
  if (results.includes('failed') || results.includes('skipped')) return 1
  return results.includes('drift') ? 3 : 0
}

interface Findings {
  readonly checks: readonly LocalCheck[]
  readonly probes: readonly Probe[]
}

/** One request to each endpoint whose address is set; a check that fails if there is no time for all. */
const probeProvider = (
  settings: ReturnType<Input['settings']>,
  { origins, asOf }: { readonly origins: Origins; readonly asOf: number | undefined },
  { io, dependencies: { streams } }: Input,
): Observable<{ readonly results: readonly Probe[]; readonly checks: readonly LocalCheck[] }> =>
  defer(() => {
    const { scheduler } = io
    const { send: transport, close } = openConnections({ settings, env: io.env })
    const enabled = selectOptional(streams, settings.with).filter(
      ({ phase }) => settings.fetchOhlcv || phase !== 'candles',
    )
    const wanted = hasProvider(settings) ? enabled : []
    const context = {
      settings,
      transport,
      scheduler,
      redact: createRedactor(settings),
      origins,
      asOf: asOf ?? scheduler.now(),
    }
    return from(probeEndpoints(wanted, context)).pipe(
      takeUntil(timer(MAX_DOCTOR_MS, scheduler)),
      toArray(),
      map((results) => {
        const missing = new Set(wanted.flatMap(({ endpoints }) => endpoints)).size - results.length
        const found = `${missing} endpoints were not reached within ${MAX_DOCTOR_MS / 1_000} s`
        return { results, checks: missing === 0 ? [] : [{ what: 'time', result: 'failed' as const, found }] }
      }),
      finalize(close),
    )
  })

/** Sends the text, or a test message, with what was found. Whether that worked is one more check. */
const sendVerdict = (
  notify: string | true,
  { checks, probes }: Findings,
  { settings, io }: Input,
): Observable<Findings> => {
  const headline = `${notify === true ? 'this is a test message' : notify}. ${describeVerdict(checks, probes)[0]}`
  return sendMessage(
    { command: 'doctor', headline, isTest: notify === true, exitCode: notify === true ? 0 : 1 },
    { settings: settings(), io },
  ).pipe(map((sent) => ({ checks: [...checks, { what: 'notification', ...sent }], probes })))
}
