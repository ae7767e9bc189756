import type { ScriptReport } from '../../model/report.js'
import { isRow, type Row } from '../../model/row.js'
import { countItems, countLost } from '../../model/script-figures.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'

/** The items of a stream in a run, and their source: stored in the folder, given by a flag or the definition, assumed, or unknown. */
export interface ItemNumbers {
  readonly stream: StreamDefinition
  readonly items: number
  /** Items that need no request. */
  readonly inPlace: number
  readonly known: 'stored' | 'given' | 'assumed' | 'unknown'
}

export interface StreamFacts extends ItemNumbers {
  readonly workers: number
  /** Its part of the last report. */
  readonly script: ScriptReport | undefined
}

/** The part of a stream in a report; undefined if it is missing or damaged. */
export const findScript = (report: unknown, name: string): ScriptReport | undefined => {
  const script = isRow(report) && isRow(report.scripts) ? report.scripts[name] : undefined
  return isRow(script) && isRow(script.items) ? (script as Row & ScriptReport) : undefined
}

/** A figure, and its source: the last run, the definition of the stream, or a captured daily run of the whole market. */
interface Figure {
  readonly value: number
  readonly from: 'last run' | 'stream definitions' | 'captured run'
}

/** Bytes of the files per item in the captured run: 2,775 stocks and 194 indices on 2026-02-12. */
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
  'complete-price-bands': 344_000,
  'all-indices': 33_000,
  'all-ohlcv': 98_700,
  // Index candles were not captured: assumed as large as those of a stock.
  'indices-ohlcv': 98_700,
}

/** Requests per item in that run, where the definition does not tell the number of pages (2,300 deals, 50 per page). */
const CAPTURED_REQUESTS: Readonly<Record<string, number>> = { 'bulk-block-deals': 49 }

/** The endpoints that each item uses: those of the service that the definition names first. Endpoints of other services are fallbacks. */
const countEndpoints = ({ endpoints }: StreamDefinition): number => endpoints.filter(({ host }) => host === endpoints[0]?.host).length

/** Whether a stream lost few items: those of a host that is down fail without a request. */
const isConclusive = (script: ScriptReport): boolean =>
  script.outcome === 'success' || (script.outcome === 'partial' && countLost(script) * 10 <= countItems(script))

/** Requests per item, without retries. A report with skipped items is not used: it is unknown which of them were requested. */
const estimateRequestsPerItem = ({ stream, script }: StreamFacts): Figure => {
  if (script && isConclusive(script) && script.items.skipped === 0) {
    const [requests, items] = [script.requests - script.retries, countItems(script) - script.takenOver]
    if (requests > 0 && items > 0) return { value: requests / items, from: 'last run' }
  }
  const captured = CAPTURED_REQUESTS[stream.name]
  return captured === undefined ? { value: countEndpoints(stream), from: 'stream definitions' } : { value: captured, from: 'captured run' }
}

/** Bytes of the files per item; undefined if unknown. */
const estimateBytesPerItem = ({ stream: { name }, script }: StreamFacts): Figure | undefined => {
  if (script && script.bytes > 0 && countItems(script) > 0) return { value: script.bytes / countItems(script), from: 'last run' }
  const captured = CAPTURED_BYTES[name]
  return captured === undefined ? undefined : { value: captured, from: 'captured run' }
}

/** The assumed time of a request, and its source. */
export interface LatencyEstimate {
  readonly ms: number
  readonly from: 'given' | 'last run' | 'simulation' | 'assumed'
}

/**
 * The time of a request in the last run, with the work of this machine: the minimum over all streams with a list, whose workers were all
 * busy, because parallel streams slow each other down. 100 ms if every stream was rate limited, resumed or too short.
 */
export const estimateLatency = (streams: readonly StreamFacts[]): LatencyEstimate => {
  const samples = streams.flatMap(({ stream, workers, script }) => {
    if (!script || stream.work.of === undefined || !isConclusive(script)) return []
    const rounds = script.requests / (workers * countEndpoints(stream))
    // With fewer requests per worker, the duration of a stream says little about one request.
    return rounds >= 3 && script.rateLimited + script.takenOver + script.retries === 0 ? [script.durationMs / rounds] : []
  })
  return samples.length === 0 ? { ms: 100, from: 'assumed' } : { ms: Math.min(...samples), from: 'last run' }
}

/** The estimate of a stream, with null for what is unknown. Its requests count for the service that the definition names first. */
export type StreamEstimate = ReturnType<typeof estimateStream>

export const estimateStream = (counted: StreamFacts, latency: LatencyEstimate) => {
  const { stream, workers, script, items, inPlace, known } = counted
  const { name, phase, endpoints } = stream
  const [open, perItem, size] = [items - inPlace, estimateRequestsPerItem(counted), estimateBytesPerItem(counted)]
  const requests = Math.round(perItem.value * open)
  // An item requests its endpoints in parallel.
  const rounds = requests / Math.max(1, Math.min(workers, open) * countEndpoints(stream))
  // Requests per second that the host allowed in the last run, if it limited them.
  const { rateLimited = 0, requests: sent = 0, durationMs = 0 } = script ?? {}
  const limitedTo = rateLimited > 0 && sent > rateLimited && durationMs > 0 ? ((sent - rateLimited) * 1_000) / durationMs : null
  const ms = Math.round(Math.max(rounds * latency.ms, limitedTo === null ? 0 : (requests * 1_000) / limitedTo))
  return {
    ...{ name, phase, follows: stream.work.of ?? null, service: endpoints[0]?.host ?? null, workers },
    ...{ items, inPlace, known, requests, requestsFrom: perItem.from, ms, limitedTo },
    ...{ bytes: size ? Math.round(size.value * items) : null, bytesFrom: size?.from ?? null },
  }
}

/** The time of a run: phase 1 stream by stream, then the longest parallel chain, where a stream starts after the one that it follows. */
export const estimateRunTime = (streams: readonly StreamEstimate[]): number => {
  const later = streams.filter(({ phase }) => phase !== 'core')
  const findEnd = ({ follows, ms }: StreamEstimate): number =>
    later.filter(({ name }) => name === follows).reduce((end, source) => end + findEnd(source), ms)
  return streams.reduce((total, { phase, ms }) => total + (phase === 'core' ? ms : 0), 0) + Math.max(0, ...later.map(findEnd))
}
