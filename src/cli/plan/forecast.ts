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
import { decide, selectionLeft, toWantedRun } from '../../engine/earlier-runs.js'
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
 * What to plan: `stocks` for a folder without a master list, `latency` of a request in milliseconds, `now` in
 * epoch milliseconds.
 */
export interface PlanInput
  extends Pick<Tools, 'stored'>,
    Readonly<Record<'stocks' | 'latency', number | undefined>> {
  readonly streams: readonly StreamDefinition[]
  readonly settings: Settings
  readonly run: Pick<
    RunOptions,
    'only' | 'skip' | 'symbols' | 'wrongSymbols' | 'pairs' | 'asOf' | 'fresh' | 'variant'
  >
  readonly now: number
}

/** The document of `plan --json`: times in milliseconds, sizes in bytes, null where there is nothing. */
export type Forecast = Readonly<Record<'finishedBefore' | 'continues', string | null>> &
  Awaited<ReturnType<typeof estimateRun>> & { readonly asOf: string; readonly isRemainder: boolean }

/**
 * Plans a run from the stored data of a folder. Sends no request, writes nothing. @throws UsageError on wrong
 * names or symbols
 */
export const createForecast = async (input: PlanInput, mayReduce = true): Promise<Forecast> => {
  const { settings, stored, run, now } = input
  const plan = planRun(input.streams, settings, run)
  const known = await firstValueFrom(readKnownStocks(stored, run.symbols))
  const calendar = await firstValueFrom(readSeenSessions(stored, readCalendar(settings)))
  const wanted = toWantedRun(run, { run: '', settings, plan, known, startedAt: now, calendar, mayReduce })
  const decision = await firstValueFrom(decide(plan, wanted, await inspectFolder(settings.out)))
  if (decision.kind === 'reduce') {
    const left = await firstValueFrom(selectionLeft(decision.remainder, stored, plan))
    const { only, skip, symbols, pairs, ...others } = run
    const rest = await createForecast(
      left === undefined ? input : { ...input, run: { ...others, ...left } },
      false,
    )
    return { ...rest, isRemainder: left !== undefined }
  }
  const isDone = decision.kind === 'reuse'
  return {
    asOf: new Date(wanted.record.asOf).toISOString(),
    finishedBefore: isDone ? decision.ended.report.finishedAt : null,
    continues: !isDone && decision.choice.isContinued ? decision.choice.record.run : null,
    isRemainder: false,
    ...(await estimateRun(isDone ? [] : listRunning(plan), { ...input, known })),
  }
}

/** The numbers of stocks and indices if no earlier run stored the lists. */
const ASSUMED: Readonly<Record<string, number>> = { [MASTER]: 2_775, 'all-indices': 194 }

const estimateRun = async (
  running: readonly StreamDefinition[],
  input: PlanInput & { readonly known: KnownStocks },
) => {
  const { run, settings, stocks, known } = input
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
    const { symbols, wrongSymbols } = name === MASTER ? run : {}
    const all = offers?.(Array.isArray(rows) ? rows.filter(isRow) : [], () => undefined) ?? []
    if (all.length > 0)
      return selectSymbols(
        all,
        { symbols, wrongSymbols, known },
        (event) => 'text' in event && notes.add(event.text),
      )
    const given = name === MASTER ? (symbols?.length ?? stocks) : undefined
    if (given === undefined)
      notes.add(
        `${name}: ${formatQuantity(ASSUMED[name] ?? 0, 'item')} assumed, the folder has no such list.`,
      )
    return given ?? ASSUMED[name] ?? 0
  }
  const report = await read('.scripstream/report.json')
  const offered = new Map<string | undefined, Awaited<ReturnType<typeof readOffered>>>()
  const streams: ReturnType<typeof estimateStream>[] = []
  for (const stream of running) {
    const { name, offers, work } = stream
    const all = work.of === DAYS ? listDayItems(input.now) : (offered.get(work.of) ?? work.parts)
    const chosen = offers === undefined ? run.pairs?.[name]?.length : undefined
    const items = chosen ?? (typeof all === 'number' ? all : all.filter(work.where ?? (() => true)).length)
    streams.push(estimateStream(stream, items, findScript(report, name), input))
    if (running.some((one) => one.work.of === name)) offered.set(name, await readOffered(stream))
  }
  const list = offered.get(MASTER)
  const sum = (figure: 'requests' | 'bytes'): number =>
    streams.reduce((all, one) => all + (one[figure] ?? 0), 0)
  // Phase 1 stream by stream, then the longest of the streams beside each other.
  const core = streams.reduce((all, one) => all + (one.phase === 'core' ? one.ms : 0), 0)
  const ms = core + Math.max(0, ...streams.map((one) => (one.phase === 'core' ? 0 : one.ms)))
  return {
    stocks: typeof list === 'object' ? list.length : (list ?? null),
    requests: sum('requests'),
    bytes: sum('bytes'),
    ms,
    streams,
    notes: [...notes],
  }
}

/**
 * Bytes of the files per item, and requests per item where the definition does not say it: 2,775 stocks on
 * 2026-02-12.
 */
const CAPTURED: Readonly<Record<string, readonly [bytes: number, requests?: number]>> = {
  'master-data': [1_110_000],
  'fundamental-data': [12_600],
  'listing-dates': [158_000],
  'company-filings': [85_000],
  'new-announcements': [40],
  'advanced-indicators': [2_900],
  'market-news': [13_300],
  'corporate-actions': [76_500],
  'surveillance-lists': [8_500],
  'circuit-stocks': [12_500],
  'bulk-block-deals': [700_000, 49],
  'incremental-price-bands': [700],
  'exchange-daily': [1_000_000],
  'index-members': [40_000],
  'complete-price-bands': [344_000],
  'all-indices': [33_000],
  'all-ohlcv': [98_700],
  'indices-ohlcv': [98_700],
}

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

/**
 * The figures of a stream: those of the last run, or else of a captured run. Without retries; null for what
 * is unknown.
 */
const estimateStream = (
  stream: StreamDefinition,
  items: number,
  script: ScriptReport | undefined,
  { settings, latency }: PlanInput,
) => {
  const { name, phase, endpoints } = stream
  const workers = settings.workers[name] ?? stream.workers
  // Endpoints of other services are fallbacks.
  const lanes = endpoints.filter(({ host }) => host === endpoints[0]?.host).length
  const [size = null, captured = lanes] = CAPTURED[name] ?? []
  const requests = Math.round(
    (script ? (script.requests - script.retries) / countItems(script) : captured) * items,
  )
  // The rate of the last run, with what its host allowed, unless a time of a request is given.
  const apart = (latency ?? 100) / Math.max(1, Math.min(workers, items) * lanes)
  const ms = Math.round(
    requests * (script && latency === undefined ? script.durationMs / script.requests : apart),
  )
  const perItem = script && script.bytes > 0 ? script.bytes / countItems(script) : size
  return {
    name,
    phase,
    workers,
    items,
    requests,
    ms,
    bytes: perItem === null ? null : Math.round(perItem * items),
  }
}
