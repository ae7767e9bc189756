import type { StreamTally } from '../model/tally.js'
import { count, counted, duration, bytes as inBytes } from './format.js'
import { clean } from './text.js'

/** How a stream ended, on one plain line. */
export const endLine = (stream: StreamTally): string => {
  const { name, state, settled, total = settled, lost, degraded, files, bytes, startedAt = 0, finishedAt = startedAt, error } = stream
  if (state === 'failed') return `${name}: failed: ${clean(error ?? 'no reason given')}`
  if (state !== 'success') return `${name}: ${state}`
  const parts = [
    `${count(settled)}/${counted(total, 'item')} in ${duration(finishedAt - startedAt)}`,
    ...(lost > 0 ? [`${count(lost)} lost`] : []),
    ...(degraded > 0 ? [`${count(degraded)} partly`] : []),
    ...(files > 0 ? [`${counted(files, 'file')} (${inBytes(bytes)})`] : []),
  ]
  return `${name}: done, ${parts.join(', ')}`
}

/** How a run stands, on one plain line. */
export const stateLine = (streams: readonly StreamTally[], elapsedMs: number): string => {
  const active = streams.filter(({ state }) => state !== 'skipped' && state !== 'disabled')
  const ended = active.filter(({ state }) => state === 'success' || state === 'failed').length
  const lost = active.reduce((total, stream) => total + stream.lost, 0)
  const running = active.filter(({ state }) => state === 'running').map(workOf)
  return [
    `${duration(elapsedMs)}: ${ended} of ${counted(active.length, 'stream')} done`,
    lost > 0 ? `, ${counted(lost, 'item')} lost` : '',
    running.length > 0 ? `; ${running.join(', ')}` : '',
  ].join('')
}

const workOf = ({ name, settled, total }: StreamTally): string =>
  total === undefined ? `${name} ${count(settled)}` : `${name} ${count(settled)}/${count(total)}`
