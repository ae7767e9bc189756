import { computeLimit } from './adaptive-limit.js'
import type { HostState } from './host-state.js'

/** Summarises back-offs and outages of a host for the report. */
export const createHostSummary = (name: string) => {
  let backoffs = 0
  let lowestRate = Number.POSITIVE_INFINITY
  let outages = 0
  let downMs = 0
  return {
    onChange(before: HostState, after: HostState, now: number): void {
      if (before.backoff === after.backoff) return
      if (after.backoff?.why === 'refuses' && before.generation !== after.generation) backoffs += 1
      // An outage counts once its first probe has failed; before that it may be a false alarm.
      if (after.backoff?.why === 'down' && after.backoff.attempts === 1) outages += 1
      if (before.backoff?.why === 'down' && before.backoff.attempts > 0 && after.backoff?.why !== 'down')
        downMs += now - before.backoff.since
      if (after.backoff === undefined) lowestRate = Math.min(lowestRate, computeLimit(after.rate.perSecond, now))
    },
    toWarnings(host: HostState, now: number): readonly string[] {
      const ongoing = host.backoff?.why === 'down' && host.backoff.attempts > 0 ? now - host.backoff.since : 0
      const rate = lowestRate === Number.POSITIVE_INFINITY ? '' : `; the lowest rate was ${Number(lowestRate.toPrecision(2))} requests/s`
      const suffix = ongoing > 0 ? ' and has not recovered' : ''
      return [
        ...(backoffs > 0 ? [`${name} refused requests (429, or pages instead of data); backed off ${formatTimes(backoffs)}${rate}`] : []),
        ...(outages > 0 ? [`${name} was down ${formatTimes(outages)}, ${Math.round((downMs + ongoing) / 1_000)} s in total${suffix}`] : []),
      ]
    },
  }
}

const formatTimes = (count: number): string => (count === 1 ? 'once' : `${count} times`)
