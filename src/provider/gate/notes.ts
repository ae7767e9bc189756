import type { Host } from './host.js'
import { allowed } from './limit.js'

/** Sums up what became of a host, for the report. */
export const createNotes = (name: string) => {
  let pauses = 0
  let slowest = Number.POSITIVE_INFINITY
  let outages = 0
  let downMs = 0
  return {
    take(before: Host, after: Host, now: number): void {
      if (before.hold === after.hold) return
      if (after.hold?.why === 'refuses' && before.era !== after.era) pauses += 1
      // The first try after it tells whether the host was away at all.
      if (after.hold?.why === 'down' && after.hold.strikes === 1) outages += 1
      if (before.hold?.why === 'down' && before.hold.strikes > 0 && after.hold?.why !== 'down') downMs += now - before.hold.since
      if (after.hold === undefined) slowest = Math.min(slowest, allowed(after.pace.perSecond, now))
    },
    read(host: Host, now: number): readonly string[] {
      const ongoing = host.hold?.why === 'down' && host.hold.strikes > 0 ? now - host.hold.since : 0
      const pace = slowest === Number.POSITIVE_INFINITY ? '' : `; the slowest pace was ${Number(slowest.toPrecision(2))} requests a second`
      const isBack = ongoing > 0 ? ', and is not back' : ''
      return [
        ...(pauses > 0 ? [`${name} was given a pause ${times(pauses)}, for 429s or pages in place of answers${pace}`] : []),
        ...(outages > 0 ? [`${name} was down ${times(outages)}, for ${Math.round((downMs + ongoing) / 1_000)} s in all${isBack}`] : []),
      ]
    },
  }
}

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`)
