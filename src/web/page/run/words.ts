import {
  formatCountdown,
  formatDuration,
  formatNumber,
  formatPart,
  formatQuantity,
  formatTime,
} from '../../../model/format.js'
import type { LivePause, LiveStream } from '../../api/live.js'

/** A few words with a colour that means the same. */
export interface Note {
  readonly tone: '' | 'soft' | 'ok' | 'waiting' | 'failed'
  readonly text: string
}

const WHY: Readonly<Record<LivePause['why'], string>> = {
  refuses: 'rate limit',
  pages: 'sends HTML instead of data',
  down: 'down, circuit open',
}

/** Why and until when requests wait: `news: rate limit, until 20:02:07 IST (3 s)`. */
export const describePause = ({ what, why, until, giveUpAt }: LivePause, now: number): string => {
  const left = formatCountdown(until - now)
  const end = giveUpAt === undefined ? '' : `, given up at ${formatTime(giveUpAt)}`
  return `${what}: ${WHY[why]}, next request ${formatTime(until)} (in ${left})${end}`
}

const describeShortly = ({ why, until }: LivePause, now: number): string =>
  `waits ${formatCountdown(until - now)}: ${WHY[why]}`

/** `3 failed, 1 incomplete`; empty without any. */
export const describeLosses = ({ lost, partial }: Pick<LiveStream, 'lost' | 'partial'>): string =>
  [
    ...(lost > 0 ? [`${formatNumber(lost)} failed`] : []),
    ...(partial > 0 ? [`${formatNumber(partial)} incomplete`] : []),
  ].join(', ')

/** How a stream stands, in a few words. */
export const describeStream = (stream: LiveStream, now: number): Note => {
  const { state, pauses, leftMs, startedAt, finishedAt, total, done, deferred, secondPass } = stream
  const losses = describeLosses(stream)
  switch (state) {
    case 'waiting':
      return { tone: 'soft', text: 'not started' }
    case 'skipped':
      return { tone: 'soft', text: 'not in this run' }
    case 'disabled':
      return { tone: 'soft', text: 'switched off' }
    case 'interrupted':
      return { tone: 'waiting', text: '! interrupted' }
    case 'failed':
      return { tone: 'failed', text: '✕ failed' }
    case 'running': {
      const [pause] = pauses
      if (pause) return { tone: 'waiting', text: describeShortly(pause, now) }
      if (losses !== '') return { tone: 'failed', text: losses }
      if (secondPass !== undefined)
        return { tone: 'waiting', text: `tries ${formatQuantity(secondPass, 'item')} again` }
      if (deferred !== undefined)
        return { tone: 'waiting', text: `tries ${formatQuantity(deferred, 'item')} later` }
      if (total !== undefined && total > 0 && done >= total) return { tone: '', text: 'writes its files' }
      return { tone: '', text: leftMs === undefined ? 'running' : `${formatCountdown(leftMs)} left` }
    }
    default: {
      const took =
        startedAt === undefined || finishedAt === undefined ? '' : formatDuration(finishedAt - startedAt)
      if (losses !== '') return { tone: 'failed', text: `${losses} · ${took}` }
      return state === 'partial'
        ? { tone: 'waiting', text: `! answers refused · ${took}` }
        : { tone: 'ok', text: `✔ ${took}` }
    }
  }
}

/** A stream as one sentence, for readers that cannot see the bar. */
export const describeAloud = (stream: LiveStream, now: number): string => {
  const { name, done, total, perSecond, workers, inFlight } = stream
  return [
    `${name}: ${describeStream(stream, now).text}`,
    total === undefined ? formatQuantity(done, 'item') : formatPart(done, total, 'item'),
    ...(perSecond === undefined ? [] : [`${formatNumber(perSecond)} per second`]),
    ...(inFlight === undefined || inFlight === 0
      ? []
      : [`${formatQuantity(inFlight, 'open request')}, ${formatQuantity(workers, 'worker')}`]),
  ].join(', ')
}
