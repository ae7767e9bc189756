import { CollectError, formatError } from '../model/errors.js'
import type { RunEvent } from '../model/event.js'
import { isLost } from '../model/outcome.js'
import type { RunReport } from '../model/report.js'
import { omitUndefined } from '../model/row.js'
import type { RunStats, StreamStats } from '../model/run-stats.js'
import type { Wall } from '../model/wall.js'

/** The part of a pino logger that a run uses; any logger of that shape works. An error that it throws ends no run. */
export type Log = Readonly<Record<'debug' | 'info' | 'warn' | 'error', (fields: object, message: string) => void>>

/**
 * Logs start and end of run and streams, retries, lost and rewritten items, warnings, and the state of hosts. Each line has the id of the
 * run, once it is known, and the stream that it is about.
 */
export const createRunLog = (log: Log, stats: RunStats, wall: Wall) => {
  let run: string | undefined
  const write = (level: keyof Log, fields: object, message: string): void =>
    wall.attempt('the log of this run', () => log[level](omitUndefined({ run, ...fields }), message))
  return {
    event: (event: RunEvent): void => {
      if (event.type === 'run-started') run = event.run
      if (event.type === 'run-finished') run = event.report.run
      const level = toLevel(event)
      if (level !== undefined) write(level, toFields(event, stats), event.type)
    },
    /** Logs what ended the run without a report. */
    fail: (error: unknown): void => {
      const code = error instanceof CollectError ? error.code : undefined
      write('error', { code, error: formatError(error) }, 'run-failed')
    },
  }
}

const toLevel = (event: RunEvent): keyof Log | undefined => {
  switch (event.type) {
    case 'run-started':
    case 'stream-started':
    case 'rate-limited':
    case 'retried':
      return 'debug'
    case 'stream-finished':
      return event.outcome === 'success' ? 'info' : 'warn'
    case 'item-finished':
      return isLost(event) || event.degraded !== undefined ? 'warn' : event.remark === undefined ? undefined : 'info'
    case 'warning':
    case 'note':
      return 'warn'
    case 'second-pass':
    case 'host-paused':
    case 'host-resumed':
      return 'info'
    case 'run-finished':
      return event.report.outcome === 'complete' ? 'info' : event.report.outcome === 'failed' ? 'error' : 'warn'
    default:
      return undefined
  }
}

/** The fields of a line; the ends of streams and of the run have their duration and counts. */
const toFields = (event: RunEvent, stats: RunStats): object => {
  if (event.type === 'run-finished') return sumUp(event.report)
  const { type, ...fields } = event
  if (type !== 'stream-finished') return fields
  const stream = stats.stream(event.stream)
  return stream === undefined ? fields : { ...fields, ...countsOf(stream) }
}

const countsOf = ({ startedAt, finishedAt, ...stats }: StreamStats): object => {
  const { requests, retries, rateLimited, items, degraded, files, bytes } = stats
  return { durationMs: (finishedAt ?? 0) - (startedAt ?? 0), requests, retries, rateLimited, items, degraded, files, bytes }
}

const sumUp = ({ outcome, durationMs, stocks, scripts, error, code }: RunReport): object => {
  const all = Object.values(scripts)
  const sum = (counts: readonly object[]): Readonly<Record<string, number>> => {
    const sums: Record<string, number> = {}
    for (const [name, count] of counts.flatMap((one) => Object.entries(one) as [string, number][])) sums[name] = (sums[name] ?? 0) + count
    return sums
  }
  const counts = all.map(({ requests, retries, rateLimited, degraded, files, bytes }) => ({
    ...{ requests, retries, rateLimited, degraded, files, bytes },
  }))
  const streams = sum(all.map((script) => ({ [script.outcome]: 1 })))
  return omitUndefined({ outcome, durationMs, stocks, streams, items: sum(all.map(({ items }) => items)), ...sum(counts), error, code })
}
