import { resolve } from 'node:path'
import { omitUndefined } from '../../model/row.js'
import { findAddress, toAddressVariable } from '../../model/settings.js'
import { formatMinute } from '../../model/trading-day.js'
import { defineCommand } from '../command.js'
import { findFreeBytes } from '../doctor/local.js'
import {
  flag,
  folderFlags,
  integerOption,
  jsonFlag,
  readSymbols,
  selectionFlags,
  simulateOption,
  stocksOption,
} from '../options.js'
import { SIMULATED_LATENCY_MS, withProvider } from '../provider.js'
import { type AnswerLine, columnsOf, fitTable } from '../terminal/terminal.js'
import { formatBytes, formatCount, formatDuration, formatQuantity } from '../terminal/text.js'
import { createForecast, type Forecast } from './forecast.js'

export const addPlan = defineCommand({
  name: 'plan',
  about: 'Estimates the requests, time and disk space of a run. Sends no request.',
  flags: ({ io, dependencies: { streams } }) => ({
    ...folderFlags(),
    ...selectionFlags(streams, io),
    fresh: flag('--fresh', 'a run that starts from scratch'),
    simulate: simulateOption('a run on the built-in simulator'),
    stocks: stocksOption(
      '--stocks <n>',
      'number of stocks, if the folder has no master list (default: 2775)',
    ),
    latency: integerOption(
      '--latency <ms>',
      'time of one request (default: as in the last run, else 100)',
      [0, 600_000],
    ),
    json: jsonFlag(),
  }),
  examples: [
    ['scripstream plan', 'requests, time and disk space of the next run'],
    ['scripstream plan --stocks 500 --latency 250', 'a first run, with your number of stocks and latency'],
    ['scripstream plan --only all-ohlcv --symbols INFY,TCS', 'part of a run'],
  ],
  run: ({ only, skip, asOf, fresh, simulate, ...flags }, { settings: load, io, dependencies: all }) =>
    withProvider(
      { simulate, asOf },
      { settings: load(), dependencies: all },
      async ({ settings, variant }) => {
        const run = {
          ...omitUndefined({ only, skip, asOf, fresh }),
          ...readSymbols(flags.symbols, settings),
          ...variant,
        }
        const latency = flags.latency ?? (simulate === undefined ? undefined : SIMULATED_LATENCY_MS)
        const { stored } = all.storage(settings)
        const given = {
          streams: all.streams,
          stored,
          run,
          latency,
          stocks: flags.stocks ?? simulate,
          now: io.scheduler.now(),
        }
        const forecast = await createForecast({
          ...given,
          settings: { ...settings, out: resolve(settings.out) },
        })
        const hosts = all.streams.flatMap(({ name, endpoints }) =>
          forecast.streams.some((one) => one.name === name) ? endpoints : [],
        )
        const unset = new Set(
          hosts.flatMap(({ host }) =>
            findAddress(settings, host) === undefined ? [toAddressVariable(host)] : [],
          ),
        )
        const freeBytes = findFreeBytes(resolve(settings.out)) ?? null
        const document = { ...forecast, freeBytes }
        return { json: document, lines: () => formatPlan(document, { out: settings.out, unset: [...unset] }) }
      },
    ),
})

const formatPlan = (
  plan: Forecast & { readonly freeBytes: number | null },
  { out, unset }: { readonly out: string; readonly unset: readonly string[] },
): readonly AnswerLine[] => {
  const { finishedBefore, streams, bytes, freeBytes } = plan
  if (finishedBefore !== null) {
    const upToDate = `Up to date: ${out} is complete since ${formatMinute(Date.parse(finishedBefore))}, all files present.`
    return [
      upToDate,
      'A run would send one request at most, to look for a session. For a run from scratch: plan --fresh.',
    ]
  }
  const total = { ...plan, name: formatQuantity(streams.length, 'stream'), items: undefined }
  const rows = [...streams, total].map((one) => [
    one.name,
    one.items === undefined ? '' : formatCount(one.items),
    formatCount(one.requests),
    formatDuration(one.ms),
    one.bytes === null ? '?' : formatBytes(one.bytes),
  ])
  const notes: readonly (string | false)[] = [
    unset.length > 0 && `Missing addresses, which the run needs: ${unset.join(', ')}.`,
    plan.continues !== null &&
      `Resumes the unfinished run ${plan.continues}: what it has fetched is not requested again.`,
    plan.isRemainder && 'Requests only what is missing after the last run (--fresh requests everything).',
    'Figures of the last run, where there is one, or else of a captured run; without retries and fallbacks. Phase 1 runs stream by stream.',
    freeBytes !== null &&
      `Disk: ${formatBytes(freeBytes)} free${freeBytes < bytes ? ', which is not enough' : ''}.`,
    ...plan.notes,
  ]
  return [
    `Plan of a run into ${out} as of ${formatMinute(Date.parse(plan.asOf))}. No request was sent.`,
    '',
    fitTable(columnsOf({ stream: undefined, items: 1, requests: undefined, time: 3, disk: 2 }), rows),
    '',
    ...notes.filter((note) => note !== false),
  ]
}
