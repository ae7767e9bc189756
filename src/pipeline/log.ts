import type { RunEvent } from '../model/event.js'
import { isLost } from '../model/outcome.js'

/** The part of a pino logger that a run uses; any logger of that shape works. */
export type Log = Readonly<Record<'debug' | 'info' | 'warn', (fields: object, message: string) => void>>

/** Logs the start and end of streams, retries, lost and rewritten items, warnings, and the state of hosts. */
export const logEvent = (log: Log, event: RunEvent): void => {
  const level = toLevel(event)
  if (level === undefined) return
  const { type, ...fields } = event
  const { report, ...others } = { report: undefined, ...fields }
  log[level](report === undefined ? others : { outcome: report.outcome, durationMs: report.durationMs }, type)
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
    case 'settled':
      return isLost(event) || event.degraded !== undefined ? 'warn' : event.remark === undefined ? undefined : 'info'
    case 'noticed':
      return 'warn'
    case 'second-pass':
    case 'host-held':
    case 'host-open':
    case 'run-finished':
      return 'info'
    default:
      return undefined
  }
}
