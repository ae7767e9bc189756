import { resolve } from 'node:path'
import { findAddress, type Settings, toAddressVariable } from '../../model/settings.js'
import { formatMinute } from '../../model/trading-day.js'
import { asOfOption } from '../as-of.js'
import { defineCommand } from '../command.js'
import { findFreeBytes } from '../disk.js'
import { flag, folderFlags, integerOption, jsonFlag, simulateOption, stocksOption, streamsOption } from '../options.js'
import { SIMULATED_LATENCY_MS, withProvider } from '../provider.js'
import { readSymbols, symbolsOption } from '../symbols.js'
import { formatBytes, formatCount, formatDuration, formatQuantity } from '../terminal/format.js'
import { renderFittingTable, type TextColumn, type TextLine, wrapLines } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'
import { createForecast, type Forecast } from './forecast.js'

export const addPlan = defineCommand({
  name: 'plan',
  about: 'Estimates the requests, time and disk space of a run. Sends no request.',
  flags: ({ io, dependencies: { streams } }) => ({
    ...folderFlags(),
    only: streamsOption('--only', 'only these streams and those that they need', streams),
    skip: streamsOption('--skip', 'all streams except these', streams),
    symbols: symbolsOption(),
    asOf: asOfOption(io),
    fresh: flag('--fresh', 'a run that starts from scratch'),
    simulate: simulateOption('a run on the built-in simulator'),
    stocks: stocksOption('--stocks <n>', 'number of stocks, if the folder has no master list (default: 2775)'),
    latency: integerOption('--latency <ms>', 'time of one request (default: as in the last run, else 100)', [0, 600_000]),
    json: jsonFlag(),
  }),
  examples: [
    ['scripstream plan', 'requests, time and disk space of the next run'],
    ['scripstream plan --stocks 500 --latency 250', 'a first run, with your number of stocks and latency'],
    ['scripstream plan --only all-ohlcv --symbols INFY,TCS', 'part of a run'],
  ],
  run: ({ only, skip, asOf, fresh, simulate, ...flags }, { settings: load, io, dependencies }) =>
    withProvider({ simulate, asOf }, { settings: load(), dependencies }, async ({ settings, variant }) => {
      const selection = Object.fromEntries(Object.entries({ only, skip, asOf, fresh }).filter(([, value]) => value !== undefined))
      const forecast = await createForecast({
        ...{ settings, streams: dependencies.streams, stored: dependencies.storage(settings).stored, now: io.scheduler.now() },
        run: { ...selection, ...readSymbols(flags.symbols, settings), ...variant },
        stocks: flags.stocks ?? simulate,
        latency: flags.latency ?? (simulate === undefined ? undefined : SIMULATED_LATENCY_MS),
      })
      const free = findFreeBytes(resolve(settings.out))
      return { json: { ...forecast, freeBytes: free ?? null }, lines: (columns) => formatPlan(forecast, { settings, free, columns }) }
    }),
})

/** The columns, with the order in which they are left out on a narrow terminal. */
const COLUMNS = Object.entries({ stream: undefined, items: 1, requests: undefined, time: 3, disk: 2 }).map(
  ([title, drop], index): TextColumn<readonly string[]> => ({
    ...{ title, align: index === 0 ? 'left' : 'right', cell: (row) => row[index] ?? '' },
    ...(drop === undefined ? {} : { drop }),
  }),
)

interface PlanContext {
  readonly settings: Settings
  /** The free bytes of the output folder, if the system reports them. */
  readonly free: number | undefined
  readonly columns: number
}

/** A plan for people: each stream, and what the figures are. */
const formatPlan = (forecast: Forecast, { settings, free, columns }: PlanContext): readonly TextLine[] => {
  const { finishedBefore, asOf, streams, requests, ms, bytes, inPlace, continues, isRemainder, stocks, notes } = forecast
  const wrapped = (texts: readonly string[]): readonly TextLine[] => texts.flatMap((text) => wrapLines(clean(text), columns))
  if (finishedBefore !== null) {
    const upToDate = `Up to date: ${settings.out} is complete since ${formatMinute(Date.parse(finishedBefore))}, all files present.`
    return wrapped([upToDate, 'A run would send no request. For a run from scratch: plan --fresh.'])
  }
  const rows = streams.map((one) => [
    ...[one.name, formatCount(one.items), formatCount(one.requests), formatDuration(one.ms)],
    one.bytes === null ? '?' : formatBytes(one.bytes),
  ])
  const total = [formatQuantity(streams.length, 'stream'), '', formatCount(requests), formatDuration(ms), formatBytes(bytes)]
  const hosts = new Set(streams.flatMap((one) => (one.requests > 0 && one.service !== null ? [one.service] : [])))
  const unset = [...hosts].filter((host) => findAddress(settings, host) === undefined).map(toAddressVariable)
  return [
    ...wrapped([`Plan of a run into ${settings.out} as of ${formatMinute(Date.parse(asOf))}. No request was sent.`]),
    [],
    ...renderFittingTable(COLUMNS, [...rows, total], columns),
    [],
    ...wrapped([
      ...(unset.length === 0 ? [] : [`Missing addresses, which the run needs: ${unset.join(', ')}.`]),
      ...(continues === null ? [] : [`Resumes the unfinished run ${continues} (--fresh starts from scratch).`]),
      ...(isRemainder ? ['Requests only what is missing after the last run (--fresh requests everything).'] : []),
      ...(inPlace === 0 ? [] : [`Already in the folder, not requested again: ${formatQuantity(inPlace, 'item')}.`]),
      ...(stocks === null ? [] : [`Stocks: ${formatCount(stocks)}.`]),
      'The figures are those of the last run, where there is one, or else of a captured run; without retries and fallbacks.',
      'The time is phase 1 stream by stream, then the longest stream (--latency sets that of a request).',
      ...(free === undefined ? [] : [`Disk: ${formatBytes(free)} free${free < bytes ? ', which is not enough' : ''}.`]),
      ...notes,
    ]),
  ]
}
