import { firstValueFrom, of } from 'rxjs'
import type { RunOptions } from '../../collector.js'
import {
  DAYS,
  listDayItems,
  MASTER,
  type StreamDefinition,
  type Tools,
  toFilePath,
} from '../../engine/define-stream.js'
import { type Decision, decide, selectLeft, toWantedRun } from '../../engine/earlier-runs.js'
import { readSeenSessions } from '../../engine/find-sessions.js'
import { listRunning, planRun } from '../../engine/plan.js'
import { type KnownStocks, readKnownStocks, selectSymbols } from '../../engine/select-items.js'
import { formatQuantity } from '../../model/format.js'
import type { ScriptReport } from '../../model/report.js'
import { isRow } from '../../model/row.js'
import { countItems, countLost } from '../../model/script-figures.js'
import type { Settings } from '../../model/settings.js'
import { catchItemFailure } from '../../operators/catch-item-failure.js'
import { inspectFolder } from '../../storage/folder-session.js'
import { readCalendar } from '../../storage/session-days.js'

/**
 * What to estimate. `simulated`: the stocks of the simulator, if that is used; `requestMs`: the time of a
 * request that no run has measured; `now`: epoch milliseconds.
 */
export interface ForecastInput extends Pick<Tools, 'stored'> {
  readonly streams: readonly StreamDefinition[]
  readonly settings: Settings
  readonly run: RunOptions
  readonly simulated: number | undefined
  readonly requestMs: Readonly<Record<'least' | 'most', number>>
  readonly now: number
}

/** The document for `--json`: times in milliseconds, sizes in bytes, null where there is nothing. */
export type Forecast = Readonly<Record<'finishedBefore' | 'continues', string | null>> &
  Awaited<ReturnType<typeof estimateRun>> & { readonly asOf: string; readonly isRemainder: boolean }

/**
 * Estimates a run from the stored data of a folder. Sends no request, writes nothing. @throws UsageError on
 * wrong names or symbols
 */
export const createForecast = async (input: ForecastInput): Promise<Forecast> => {
  const { settings, stored, run, now } = input
  const plan = planRun(input.streams, settings, run)
  const known = await firstValueFrom(readKnownStocks(stored, run.symbols))
  const calendar = await firstValueFrom(readSeenSessions(stored, readCalendar(settings)))
  const facts = { run: '', settings, plan, known, startedAt: now, calendar, mayReduce: true }
  const wanted = toWantedRun(run, facts)
  const earlier = await inspectFolder(settings.out)
  const decision = await firstValueFrom(decide(plan, wanted, { earlier, stored }))
  const isContinued = decision.kind === 'begin' && decision.choice.isContinued
  return {
    asOf: new Date(wanted.record.asOf).toISOString(),
    finishedBefore: decision.kind === 'reuse' ? decision.ended.report.finishedAt : null,
    continues: isContinued ? decision.choice.record.run : null,
    isRemainder: decision.kind === 'reduce',
    ...(await estimateRun(await selectWork(decision, input), { ...input, known })),
  }
}

/** What a run does: its streams, those of them that it requests (or all), and the items. */
interface PlannedWork extends Pick<RunOptions, 'symbols' | 'wrongSymbols' | 'pairs'> {
  readonly streams: readonly StreamDefinition[]
  readonly requested?: readonly string[]
}

const selectWork = async (
  decision: Decision,
  { streams: all, settings, run, stored }: ForecastInput,
): Promise<PlannedWork> => {
  if (decision.kind === 'reuse') return { streams: [] }
  if (decision.kind === 'reduce')
    return { ...decision.selection, streams: listRunning(planRun(all, settings, decision.selection)) }
  const plan = planRun(all, settings, run)
  const work = { ...run, streams: listRunning(plan) }
  const { isContinued, record } = decision.choice
  if (!isContinued || record.endedAt === undefined) return work
  // It has everything but what failed.
  const left = await firstValueFrom(selectLeft({ due: [] }, stored, plan))
  return left === undefined ? work : { ...work, requested: left.only ?? [], pairs: left.pairs }
}

/** The numbers of stocks and indices if no earlier run stored the lists. */
const ASSUMED: Readonly<Record<string, number>> = { [MASTER]: 2_775, 'all-indices': 194 }

const estimateRun = async (
  { streams: running, requested, symbols, wrongSymbols, pairs }: PlannedWork,
  input: ForecastInput & { readonly known: KnownStocks },
) => {
  const { settings, simulated, known } = input
  const notes = new Set<string>()
  const read = (file: string): Promise<unknown> =>
    firstValueFrom(input.stored.document(file).pipe(catchItemFailure((reason) => of(void notes.add(reason)))))
  /**
   * The items that a stream offers to others by its stored rows; their number alone where no earlier run
   * stored them.
   */
  const readOffered = async ({ name, outputs: [output], work, offers }: StreamDefinition) => {
    const rows = await read(
      toFilePath(output, settings.exchange, { fileName: work.parts[0]?.fileName ?? '' }),
    )
    const all = offers?.(Array.isArray(rows) ? rows.filter(isRow) : [], () => undefined) ?? []
    if (all.length > 0)
      return selectSymbols(
        all,
        name === MASTER ? { symbols, wrongSymbols, known } : { symbols: undefined, wrongSymbols, known },
        (event) => 'text' in event && notes.add(event.text),
      )
    const given = name === MASTER ? (symbols?.length ?? simulated) : undefined
    if (given === undefined)
      notes.add(
        `${name}: ${formatQuantity(ASSUMED[name] ?? 0, 'item')} assumed, the folder has no such list.`,
      )
    return given ?? ASSUMED[name] ?? 0
  }
  const report = await read('.scripstream/report.json')
  const offered = new Map<string | undefined, Awaited<ReturnType<typeof readOffered>>>()
  const streams: EstimatedStream[] = []
  for (const stream of running) {
    const { name, offers, work } = stream
    const all = work.of === DAYS ? listDayItems(input.now) : (offered.get(work.of) ?? work.parts)
    const chosen = offers === undefined ? pairs?.[name]?.length : undefined
    const items = chosen ?? (typeof all === 'number' ? all : all.filter(work.where ?? (() => true)).length)
    if (requested?.includes(name) ?? true)
      streams.push(estimateStream(stream, items, findScript(report, name), input))
    if (running.some((one) => one.work.of === name)) offered.set(name, await readOffered(stream))
  }
  const list = offered.get(MASTER)
  return {
    stocks: typeof list === 'object' ? list.length : (list ?? null),
    ...sumEstimates(streams),
    streams,
    notes: [...notes],
  }
}

/** Requests and bytes of all streams. Those of phase 1 follow each other, the others run side by side. */
const sumEstimates = (streams: readonly EstimatedStream[]) => {
  const sum = (figure: 'requests' | 'bytes'): number =>
    streams.reduce((all, one) => all + (one[figure] ?? 0), 0)
  const span = (figure: 'leastMs' | 'mostMs'): number => {
    const core = streams.reduce((all, one) => all + (one.phase === 'core' ? one[figure] : 0), 0)
    return core + Math.max(0, ...streams.map((one) => (one.phase === 'core' ? 0 : one[figure])))
  }
  return { requests: sum('requests'), bytes: sum('bytes'), leastMs: span('leastMs'), mostMs: span('mostMs') }
}

/**
 * Bytes of the files per item: 2,775 stocks on 2026-02-12.
 */
const CAPTURED_BYTES: Readonly<Record<string, number>> = {
  'master-data': 1_110_000,
  'fundamental-data': 12_600,
  'listing-dates': 158_000,
  'company-filings': 85_000,
  'new-announcements': 40,
  'advanced-indicators': 2_900,
  'market-news': 13_300,
  'corporate-actions': 76_500,
  'surveillance-lists': 8_500,
  'circuit-stocks': 12_500,
  'bulk-block-deals': 700_000,
  'incremental-price-bands': 700,
  'exchange-daily': 1_000_000,
  'index-members': 40_000,
  'complete-price-bands': 344_000,
  'all-indices': 33_000,
  'all-ohlcv': 98_700,
  'indices-ohlcv': 98_700,
}

/** Requests per item of that run, where the definition does not say it. */
const CAPTURED_REQUESTS: Readonly<Record<string, number>> = { 'bulk-block-deals': 49 }

/**
 * The part of a stream in the last report, if it tells what a run costs: one that lost much failed without
 * its requests.
 */
const findScript = (report: unknown, name: string): ScriptReport | undefined => {
  const script =
    isRow(report) && isRow(report.scripts) ? (report.scripts[name] as ScriptReport | undefined) : undefined
  if (script?.items === undefined || script.takenOver > 0 || script.requests <= script.retries)
    return undefined
  return countLost(script) * 10 <= countItems(script) ? script : undefined
}

/** What a measured rate may become on another day. */
const SPREAD = { least: 0.8, most: 1.5 }

type EstimatedStream = Readonly<ReturnType<typeof estimateStream>>

/**
 * The figures of a stream: those of the last run, or else of a captured run. Without retries; null for what
 * is unknown.
 */
const estimateStream = (
  stream: StreamDefinition,
  items: number,
  script: ScriptReport | undefined,
  { settings, requestMs }: ForecastInput,
) => {
  const { name, phase, endpoints } = stream
  const workers = settings.workers[name] ?? stream.workers
  // Endpoints of other services are fallbacks.
  const lanes = endpoints.filter(({ host }) => host === endpoints[0]?.host).length
  const size = CAPTURED_BYTES[name] ?? null
  const captured = CAPTURED_REQUESTS[name] ?? lanes
  const requests = Math.round(
    (script ? (script.requests - script.retries) / countItems(script) : captured) * items,
  )
  // The rate of the last run includes what its host allowed.
  const atOnce = Math.max(1, Math.min(workers, items) * lanes)
  const toMs = (end: 'least' | 'most'): number =>
    Math.round(
      requests * (script ? (SPREAD[end] * script.durationMs) / script.requests : requestMs[end] / atOnce),
    )
  const perItem = script && script.bytes > 0 ? script.bytes / countItems(script) : size
  return {
    name,
    phase,
    items,
    requests,
    leastMs: toMs('least'),
    mostMs: toMs('most'),
    bytes: perItem === null ? null : Math.round(perItem * items),
  }
}
