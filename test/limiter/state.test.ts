import { expect, it } from 'vitest'
import { answered, type TroubleSignal } from '../../src/limiter/health-signal.js'
import { createLimitPolicy } from '../../src/limiter/limiter-registry.js'
import {
  type AttemptEnd,
  applyAttemptEnd,
  countAnswer,
  countSent,
  createLimiterState,
} from '../../src/limiter/state.js'

const policy = createLimitPolicy({ retries: 3, patience: '5m' })
const reset: TroubleSignal = {
  kind: 'trouble',
  sign: 'gateway',
  reason: 'reset',
  mayBeLimit: true,
  retryAfterMs: undefined,
}

/** Requests of one host; each has one end, 50 ms after it was sent unless said. */
const createHost = () => {
  let state = createLimiterState(Number.POSITIVE_INFINITY)
  const end = (sentAt: number, now: number, signal: AttemptEnd['signal']): void => {
    const permit = { generation: state.generation, sentAt }
    if (signal.kind === 'answered' && countAnswer(state, permit, now)) return
    state = applyAttemptEnd(state, { ...permit, now, signal, item: `${now}`, isOneItemEnough: false }, policy)
  }
  return {
    read: () => state,
    answerLate: (sentAt: number, now: number): void => {
      countSent(state, sentAt)
      end(sentAt, now, answered)
    },
    send: (now: number, ...signals: readonly AttemptEnd['signal'][]): void => {
      for (const _ of signals) countSent(state, now)
      for (const [index, signal] of signals.entries()) end(now, now + 50 + index, signal)
    },
  }
}

it('a reset beside an answer, long after some that may have been an outage, is no limit', () => {
  const host = createHost()
  for (let now = 0; now < 1_000; now += 20) host.send(now, answered)
  host.send(10_000, reset, reset, reset, reset)
  host.answerLate(9_700, 10_100)
  for (let now = 11_000; now < 20_000; now += 20) host.send(now, answered)
  expect(host.read().doubtful).toBe(0)
  host.send(3_600_000, reset, answered)
  expect(host.read().rate.perSecond.level).toBe(Number.POSITIVE_INFINITY)
})
