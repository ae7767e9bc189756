import { describe, expect, it } from 'vitest'
import { type Cause, findConnections, nameCause, type RefusalEvidence } from '../../src/limiter/verdict.js'

const seen: RefusalEvidence = {
  hasGranted: true,
  refused: 4,
  granted: 4,
  minRefused: 4,
  maxShare: 1 / 2,
  inFlight: 40,
  atOnce: [],
}
const rate = { cause: 'rate', share: 0.2, isOver: false } as const
const connections = { cause: 'connections', share: 0.8, isOver: false, connections: 8 } as const
const eight = [8, 8, 8, 7, 8, 8]

const table: readonly [what: string, given: Partial<RefusalEvidence>, cause: Cause | undefined][] = [
  ['nothing was ever answered', { hasGranted: false, refused: 1, granted: 0 }, 'outage'],
  ['fewer refusals than may be a limit', { refused: 3, granted: 0 }, undefined],
  ['half are refused', {}, 'rate'],
  ['all are refused, and the host names no time', { refused: 9, granted: 0 }, 'rate'],
  ['most are refused, and the host names a time', { refused: 9, granted: 1, asksToWait: true }, 'outage'],
  ['few are refused, and the host names a time', { granted: 40, asksToWait: true }, 'rate'],
  ['always eight are answered at once', { atOnce: eight }, 'connections'],
  ['always eight, but no more were in flight', { atOnce: eight, inFlight: 9 }, 'rate'],
  ['any number is answered at once', { atOnce: [1, 5, 20, 12, 3, 8] }, 'rate'],
  ['one is answered at once: any slow rate does that', { atOnce: [1, 1, 1, 1, 1] }, 'rate'],
  ['one refusal at the lower rate', { test: rate, refused: 1 }, undefined],
  ['no refusals at the lower rate', { test: { ...rate, isOver: true }, refused: 1, granted: 60 }, 'rate'],
  ['some are refused at the lower rate as well', { test: rate, refused: 2 }, 'accidents'],
  ['most are refused at any rate', { test: { ...rate, share: 0.9 }, refused: 2 }, 'outage'],
  [
    'most, but back-offs did not end it',
    { test: { ...rate, share: 0.7 }, refused: 2, maxShare: 3 / 4 },
    'accidents',
  ],
  ['no refusals with fewer in flight', { test: { ...connections, isOver: true }, refused: 0 }, 'connections'],
  [
    'fewer are answered at once than thought',
    { test: connections, atOnce: [5, 5, 5, 5], inFlight: 8 },
    'connections',
  ],
  ['refusals do not depend on the number in flight', { test: connections, atOnce: [8, 8, 8, 8] }, 'rate'],
]

describe('the cause of refusals', () => {
  for (const [what, given, cause] of table)
    it(`is ${cause ?? 'open'}: ${what}`, () => expect(nameCause({ ...seen, ...given })).toBe(cause))

  it('as many connections as were answered at nearly every refusal', () =>
    expect(findConnections({ atOnce: [7, ...Array(11).fill(8), 11], inFlight: 40 })).toBe(8))
})
