import { resolve } from 'node:path'
import { firstValueFrom, of } from 'rxjs'
import type { ScriptReport } from '../../model/report.js'
import { isRow } from '../../model/row.js'
import { countItems as countAll, countLost } from '../../model/script-figures.js'
import { catchItemFailure } from '../../operators/catch-item-failure.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { decide, describeRun, selectionLeft } from '../../pipeline/earlier-runs.js'
import { oncePerRun } from '../../pipeline/item.js'
import { planRun } from '../../pipeline/plan.js'
import { readKnownStocks } from '../../pipeline/select-items.js'
import { createSessionRequest } from '../../pipeline/session-request.js'
import { REPORT_FILE } from '../../pipeline/storage.js'
import { inspectFolder, listStoredItems } from '../../storage/folder-session.js'
import { type CountContext, countItems, readOffered } from './items.js'

/** What to plan. */
export interface PlanInput extends Pick<CountContext, 'settings' | 'stored' | 'run' | 'stocks'> {
  readonly streams: readonly StreamDefinition[]
  /** Milliseconds per request, if given. */
  readonly latency: number | undefined
  /** The current instant, epoch milliseconds. */
  readonly now: number
}

/** The document of `plan --json`: times in milliseconds, sizes in bytes, null where there is nothing. */
export type Forecast = Awaited<ReturnType<typeof estimateRun>>

/** Plans a run from the stored data of a folder. Sends no request, writes nothing. @throws UsageError on wrong names or symbols */
export const createForecast = async (input: PlanInput, mayReduce = true): Promise<Forecast> => {
  const { settings, stored, run, now } = input
  const plan = planRun(input.streams, settings, run)
  const known = await firstValueFrom(readKnownStocks(stored, run.symbols))
  const wanted = describeRun(run, { run: '', settings, plan, known, startedAt: now, holidays: new Set(), mayReduce })
  const { record } = wanted
  const root = resolve(settings.out)
  const decision = await firstValueFrom(decide(plan, wanted, await inspectFolder(root)))
  if (decision.kind === 'reduce') {
    const left = await firstValueFrom(selectionLeft(decision.remainder, stored, plan))
    const { only, skip, symbols, pairs, ...others } = run
    const rest = await createForecast(left === undefined ? input : { ...input, run: { ...others, ...left } }, false)
    return { ...rest, isRemainder: left !== undefined }
  }
  const context = { ...input, known, shared: oncePerRun() }
  if (decision.kind === 'reuse') {
    const { finishedAt } = decision.ended.report
    return estimateRun([], { ...context, asOf: record.asOf, fetched: new Set() }, { finishedBefore: finishedAt, continues: null })
  }
  const { choice } = decision
  const fetched = await listStoredItems(root, createSessionRequest(plan, settings, wanted), choice)
  const running = plan.flatMap(({ stream, state }) => (state === 'waiting' ? [stream] : []))
  const start = { finishedBefore: null, continues: choice.isContinued ? choice.record.run : null }
  return estimateRun(running, { ...context, asOf: choice.record.asOf, fetched }, start)
}

/** Bytes of the files per item, and requests per item where the definition does not say it: 2,775 stocks on 2026-02-12. */
const CAPTURED: Readonly<Record<string, readonly [bytes: number, requests?: number]>> = {
  ...{ 'master-data': [1_110_000], 'fundamental-data': [12_600], 'listing-dates': [158_000], 'company-filings': [85_000] },
  ...{ 'new-announcements': [40], 'advanced-indicators': [2_900], 'market-news': [13_300], 'corporate-actions': [76_500] },
  ...{ 'surveillance-lists': [8_500], 'circuit-stocks': [12_500], 'bulk-block-deals': [700_000, 49], 'incremental-price-bands': [700] },
  ...{ 'complete-price-bands': [344_000], 'all-indices': [33_000], 'all-ohlcv': [98_700], 'indices-ohlcv': [98_700] },
}
const DEFAULT_LATENCY_MS = 100

const estimateRun = async (
  running: readonly StreamDefinition[],
  input: PlanInput & Omit<CountContext, 'warn'>,
  start: { readonly finishedBefore: string | null; readonly continues: string | null },
) => {
  const notes = new Set<string>()
  const context = { ...input, warn: (text: string) => void notes.add(text) }
  const last = await firstValueFrom(input.stored.document(REPORT_FILE).pipe(catchItemFailure(() => of(undefined))))
  const offered = new Map<string, Awaited<ReturnType<typeof readOffered>>>()
  for (const source of running.filter(({ name }) => running.some(({ work }) => work.of === name)))
    offered.set(source.name, await readOffered(source, context))
  const streams: ReturnType<typeof estimateStream>[] = []
  for (const stream of running) {
    const counted = await countItems(stream, offered.get(stream.work.of ?? '') ?? stream.work.parts, context)
    streams.push(estimateStream(stream, { ...counted, script: findScript(last, stream.name) }, input))
  }
  const stocks = offered.get('master-data')
  const sum = (figures: readonly (number | null)[]): number => figures.reduce<number>((total, figure) => total + (figure ?? 0), 0)
  // Phase 1 stream by stream, then the longest of the streams beside each other.
  const [first, later] = [true, false].map((isCore) => streams.flatMap(({ phase, ms }) => ((phase === 'core') === isCore ? [ms] : [])))
  return {
    ...{ asOf: new Date(input.asOf).toISOString(), ...start, isRemainder: false },
    stocks: typeof stocks === 'object' ? stocks.length : (stocks ?? null),
    requests: sum(streams.map((one) => one.requests)),
    inPlace: sum(streams.map((one) => one.inPlace)),
    bytes: sum(streams.map((one) => one.bytes)),
    ms: sum(first ?? []) + Math.max(0, ...(later ?? [])),
    ...{ streams, notes: [...notes] },
  }
}

/** The part of a stream in the last report, if it tells what a run costs: one that lost much failed without its requests. */
const findScript = (report: unknown, name: string): ScriptReport | undefined => {
  const script = isRow(report) && isRow(report.scripts) ? report.scripts[name] : undefined
  if (!isRow(script) || !isRow(script.items)) return undefined
  const found = script as unknown as ScriptReport
  return found.requests > found.retries && found.items.skipped === 0 && countLost(found) * 10 <= countAll(found) ? found : undefined
}

/** The figures of a stream: those of the last run, or else of a captured run. Without retries; null for what is unknown. */
const estimateStream = (
  { name, phase, endpoints, workers: usual }: StreamDefinition,
  { items, inPlace, script }: { readonly items: number; readonly inPlace: number; readonly script: ScriptReport | undefined },
  { settings, latency }: Pick<PlanInput, 'settings' | 'latency'>,
) => {
  const workers = settings.workers[name] ?? usual
  // Endpoints of other services are fallbacks.
  const lanes = endpoints.filter(({ host }) => host === endpoints[0]?.host).length
  const [size, captured = lanes] = CAPTURED[name] ?? []
  const fetched = script === undefined ? 0 : countAll(script) - script.takenOver
  const perItem = script === undefined || fetched <= 0 ? captured : (script.requests - script.retries) / fetched
  const requests = Math.round(perItem * (items - inPlace))
  // The rate of the last run, with what its host allowed, unless a time of a request is given.
  const isMeasured = script !== undefined && latency === undefined && script.takenOver === 0
  const apart = (latency ?? DEFAULT_LATENCY_MS) / Math.max(1, Math.min(workers, items - inPlace) * lanes)
  const ms = Math.round(requests * (isMeasured ? script.durationMs / script.requests : apart))
  const bytesPerItem = script !== undefined && script.bytes > 0 ? script.bytes / countAll(script) : size
  const bytes = bytesPerItem === undefined ? null : Math.round(bytesPerItem * items)
  return { name, phase, service: endpoints[0]?.host ?? null, workers, items, inPlace, requests, ms, bytes }
}
