import { resolve } from 'node:path'
import { defer, map } from 'rxjs'
import { formatMinute } from '../../model/trading-day.js'
import { groupByPhase } from '../../pipeline/plan.js'
import type { Command } from '../dependencies.js'
import { findFreeBytes } from '../disk.js'
import { type ProviderChoice, resolveSettings, SIMULATED_LATENCY_MS, withProvider } from '../provider.js'
import { toExitCode, untilSignal } from '../signals.js'
import { formatBytes, formatCount, formatDuration, formatQuantity, formatRate } from '../terminal/format.js'
import { printJson, printLines } from '../terminal/print.js'
import { readSize, renderFittingTable, type TextColumn, type TextLine, wrapLines } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'
import type { LatencyEstimate } from './estimate.js'
import { createForecast, type Forecast } from './forecast.js'
import type { PlanInput } from './items.js'

export interface PlanFlags extends ProviderChoice, Pick<PlanInput, 'stocks'> {
  readonly out?: string | undefined
  /** The options of the run; the settings may have its watchlist. */
  readonly run: (settings: PlanInput['settings']) => PlanInput['run']
  /** Milliseconds per request. */
  readonly latency?: number | undefined
  readonly json?: boolean | undefined
}

/** Prints the estimated requests, time and files of a run without sending a request; emits the exit code. */
export const planCommand: Command<PlanFlags> = (flags, io, dependencies) =>
  defer(() =>
    withProvider(flags, { settings: resolveSettings(flags, io, dependencies), dependencies }, ({ settings, variant }) =>
      createForecast({
        ...{
          settings,
          streams: dependencies.streams,
          stored: dependencies.storage(settings).stored,
          run: { ...flags.run(settings), ...variant },
        },
        ...{ stocks: flags.stocks ?? flags.simulate, latency: chooseFlagLatency(flags), now: io.scheduler.now() },
      }).pipe(map((forecast) => ({ forecast, settings }))),
    ),
  ).pipe(
    untilSignal(io.signal$),
    map((planned) => {
      if (typeof planned === 'string') return toExitCode(planned)
      const { forecast, settings } = planned
      const free = findFreeBytes(resolve(settings.out))
      if (flags.json) printJson({ ...forecast, freeBytes: free ?? null }, io.stdout)
      else printLines(formatPlan(forecast, { out: settings.out, free, columns: readSize(io.stdout).columns }), io.stdout)
      return 0
    }),
  )

const chooseFlagLatency = ({ latency, simulate }: PlanFlags): LatencyEstimate | undefined => {
  if (latency !== undefined) return { ms: latency, from: 'given' }
  return simulate === undefined ? undefined : { ms: SIMULATED_LATENCY_MS, from: 'simulation' }
}

export interface PlanContext {
  /** The output folder, and its free bytes, if the system reports them. */
  readonly out: string
  readonly free: number | undefined
  readonly columns: number
}

/** Formats a plan for people: each stream, each service, and how the figures are computed. */
export const formatPlan = (forecast: Forecast, { out, free, columns }: PlanContext): readonly TextLine[] => {
  const wrapped = (text: string): readonly TextLine[] => wrapLines(clean(text), columns)
  const { finishedBefore, asOf, services } = forecast
  if (finishedBefore !== null) {
    const upToDate = `Up to date: ${out} is complete since ${formatMinute(Date.parse(finishedBefore))}, all files present.`
    return [...wrapped(upToDate), ...wrapped('A run would send no request. For a run from scratch: plan --fresh.')]
  }
  const rows = services.map(({ service, requests, at }) => [service, formatCount(requests), clean(at ?? 'not set')])
  return [
    ...wrapped(`Plan of a run into ${out} as of ${formatMinute(Date.parse(asOf))}. No request was sent.`),
    [],
    ...renderFittingTable(STREAM_COLUMNS, toStreamRows(forecast), columns),
    [],
    ...renderFittingTable(SERVICE_COLUMNS, rows, columns),
    [],
    ...explainForecast(forecast, free).flatMap(wrapped),
  ]
}

type Cells = readonly string[]

/** Columns of figures between a first and a last column of texts, with the order in which they are left out. */
const createColumns = (titles: readonly string[], drops: Readonly<Record<string, number>> = {}): readonly TextColumn<Cells>[] =>
  titles.map((title, index) => ({
    title,
    ...(drops[title] === undefined ? {} : { drop: drops[title] }),
    align: index === 0 || index === titles.length - 1 ? 'left' : 'right',
    cell: (row) => row[index] ?? '',
    style: (row) => (index === 0 ? (row[0]?.startsWith(' ') ? 'cyan' : 'bold') : index === titles.length - 1 ? 'dim' : undefined),
  }))

const STREAM_COLUMNS = createColumns(['stream', 'requests', 'workers', 'time', 'disk', 'service'], {
  service: 1,
  workers: 2,
  disk: 3,
  time: 4,
})
const SERVICE_COLUMNS = createColumns(['service', 'requests', 'address'])

const toStreamRows = ({ streams, requests, ms, bytes }: Forecast): readonly Cells[] => [
  ...groupByPhase(streams).flatMap(({ title, members }) => [[title], ...members.map(toStreamRow)]),
  [formatQuantity(streams.length, 'stream'), formatCount(requests), '', formatDuration(ms), formatBytes(bytes)],
]

const toStreamRow = ({ name, requests, workers, ms, bytes, service }: Forecast['streams'][number]): Cells => [
  ...[`  ${name}`, formatCount(requests), formatCount(workers), formatDuration(ms)],
  ...[bytes === null ? '?' : formatBytes(bytes), requests > 0 ? (service ?? '') : ''],
]

/** Explains the figures of a plan, each in a sentence or two. */
const explainForecast = (forecast: Forecast, free: number | undefined): readonly string[] => {
  const { stocks, latency, continues, isRemainder, streams, bytes, notes } = forecast
  const inPlace = streams.reduce((total, stream) => total + stream.inPlace, 0)
  const listed =
    stocks?.known === 'stored' ? 'in the master list' : `${stocks?.known}, the folder has no master list (--stocks sets the number)`
  const room = free === undefined ? '' : ` ${formatBytes(free)} free${free < bytes ? ', which is not enough' : ''}.`
  return [
    ...(continues === null ? [] : [`Resumes the unfinished run ${continues} (--fresh starts from scratch).`]),
    ...(isRemainder ? ['Requests only what is missing after the last run (--fresh requests everything).'] : []),
    ...(inPlace === 0 ? [] : [`Already in the folder, not requested again: ${formatQuantity(inPlace, 'item')}.`]),
    ...(stocks === null ? [] : [`Stocks: ${formatCount(stocks.number)} ${listed}.`]),
    `Requests: items x requests per item, ${listSources(streams, 'requestsFrom')}. Neither retries nor fallbacks are counted.`,
    `Time: ${formatCount(latency.ms)} ms per request (${latency.from}; --latency sets it), divided among the workers. ${TOTAL_NOTE}`,
    ...streams.flatMap(({ name, limitedTo }) =>
      limitedTo === null ? [] : [`${name} was rate limited in the last run to about ${formatRate(limitedTo, 1_000)}, as in this plan.`],
    ),
    `Disk: size of the finished files, ${listSources(streams, 'bytesFrom')}.${room}`,
    ...notes,
  ]
}

const TOTAL_NOTE = 'The total is phase 1 stream by stream, then the longest parallel chain.'

/** The sources of a figure, with the streams of each source but the most frequent one. */
const listSources = (streams: Forecast['streams'], field: 'requestsFrom' | 'bytesFrom'): string =>
  [...new Set(streams.map((stream) => stream[field]))]
    .filter((source) => source !== null)
    .map((source) => ({ source, names: streams.filter((stream) => stream[field] === source).map(({ name }) => name) }))
    .sort((one, other) => other.names.length - one.names.length)
    .map(({ source, names }, index) => `from the ${source}${index === 0 ? '' : `: ${names.join(', ')}`}`)
    .join('; ')
