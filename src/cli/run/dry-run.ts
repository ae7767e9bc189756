import { resolve } from 'node:path'
import type { Observable } from 'rxjs'
import { nameFirst } from '../../model/format.js'
import { findAddress, toAddressVariable } from '../../model/settings.js'
import { formatMinute } from '../../model/trading-day.js'
import type { Answer, Input } from '../command.js'
import { findFreeBytes } from '../doctor/local.js'
import { resolveSettings, SIMULATED_LATENCY_MS, withProvider } from '../provider.js'
import { clean, formatBytes, formatDuration, formatQuantity, wrap } from '../terminal/text.js'
import { type RunFlags, toRunOptions } from './flags.js'
import { createForecast, type Forecast } from './forecast.js'

/** From a provider near by to a busy one far away. */
const REQUEST_MS = { least: 50, most: 300 }
const SIMULATED_MS = { least: SIMULATED_LATENCY_MS, most: 2 * SIMULATED_LATENCY_MS }

/** Answers `run --dry-run`: what the run would request and take. Sends no request, writes nothing. */
export const answerDryRun = (
  flags: RunFlags,
  { io, dependencies }: Pick<Input, 'io' | 'dependencies'>,
): Observable<Answer> => {
  const { simulate, asOf } = flags
  const own = resolveSettings(flags, io, dependencies)
  return withProvider(
    { simulate, asOf },
    { settings: own, dependencies },
    async ({ settings, variant }): Promise<Answer> => {
      const { streams } = dependencies
      const forecast = await createForecast({
        streams,
        settings: { ...settings, out: resolve(settings.out) },
        stored: dependencies.storage(settings).stored,
        run: { ...toRunOptions(flags, settings), ...variant },
        simulated: simulate,
        requestMs: simulate === undefined ? REQUEST_MS : SIMULATED_MS,
        now: io.scheduler.now(),
      })
      const isPlanned = (name: string): boolean => forecast.streams.some((one) => one.name === name)
      const unset = streams
        .filter(({ name }) => isPlanned(name))
        .flatMap(({ endpoints }) => endpoints.map(({ host }) => host))
        .filter((host) => findAddress(settings, host) === undefined)
        .map(toAddressVariable)
      const document = {
        ...forecast,
        freeBytes: findFreeBytes(resolve(settings.out)) ?? null,
        unset: [...new Set(unset)],
      }
      const text = describeForecast(document, settings.out)
      return {
        json: document,
        lines: () => [(columns) => wrap(clean(text), columns, 0).map((line) => [[line]])],
      }
    },
  )
}

const describeForecast = (
  forecast: Forecast & { readonly freeBytes: number | null; readonly unset: readonly string[] },
  out: string,
): string => {
  const { finishedBefore, streams, requests, bytes, freeBytes, leastMs, mostMs, unset, notes } = forecast
  if (finishedBefore !== null)
    return `Up to date: ${out} is complete since ${formatMinute(Date.parse(finishedBefore))}, all files present. A run would send one request at most, to look for a session; with --fresh it downloads everything again.`
  const names = nameFirst(streams.map(({ name }) => name))
  const free =
    freeBytes === null
      ? ''
      : `; ${formatBytes(freeBytes)} are free${freeBytes < bytes ? ', which is not enough' : ''}`
  const sentences: readonly (string | false)[] = [
    `A run into ${out} as of ${formatMinute(Date.parse(forecast.asOf))} would send about ${formatQuantity(requests, 'request')} for ${formatQuantity(streams.length, 'stream')} (${names}) in ${formatDuration(leastMs)} to ${formatDuration(mostMs)}, and write about ${formatBytes(bytes)}${free}.`,
    forecast.continues !== null &&
      `It resumes run ${forecast.continues}: what that has fetched is not requested again.`,
    forecast.isRemainder &&
      'It requests only what is missing or due since the last run (--fresh requests everything).',
    'The figures are those of the last run or, for streams that it lacks, of a captured run; retries and fallbacks come on top.',
    ...notes,
    unset.length > 0 && `The run needs addresses that are not set: ${unset.join(', ')}.`,
    'No request was sent.',
  ]
  return sentences.filter((sentence) => sentence !== false).join(' ')
}
