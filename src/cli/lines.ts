import type { FleetState } from '../model/report.js'
import type { StreamStats } from '../model/run-stats.js'
import { fleetText } from './fleet.js'
import { formatBytes, formatCount, formatCountdown, formatDuration, formatQuantity } from './format.js'
import { pausedHostsText } from './paused-hosts.js'
import type { ProgressEstimator } from './progress-estimator.js'
import { clean } from './text.js'

/** The outcome of a stream, on one plain line. */
export const endLine = (stream: StreamStats): string => {
  const { name, state, finished, total = finished, lost, degraded, files, bytes, startedAt = 0, finishedAt = startedAt, error } = stream
  if (state === 'failed') return `${name}: failed: ${clean(error ?? 'unknown reason')}`
  if (state !== 'success' && state !== 'partial') return `${name}: ${state}`
  const parts = [
    `${formatCount(finished)}/${formatQuantity(total, 'item')} in ${formatDuration(finishedAt - startedAt)}`,
    ...(lost > 0 ? [`${formatCount(lost)} lost`] : []),
    ...(degraded > 0 ? [`${formatCount(degraded)} partly`] : []),
    ...(files > 0 ? [`${formatQuantity(files, 'file')} (${formatBytes(bytes)})`] : []),
  ]
  return `${name}: ${state === 'success' ? 'done' : state}, ${parts.join(', ')}`
}

export interface StateContext {
  readonly startedAt: number
  readonly now: number
  readonly estimator: ProgressEstimator
  readonly fleet?: FleetState | undefined
}

/** The state of a run, on one plain line. */
export const stateLine = (streams: readonly StreamStats[], { startedAt, now, estimator, fleet }: StateContext): string => {
  const active = streams.filter(({ state }) => state !== 'skipped' && state !== 'disabled')
  const ended = active.filter(({ state }) => ['success', 'partial', 'failed'].includes(state)).length
  const lost = active.reduce((total, stream) => total + stream.lost, 0)
  const running = active.filter(({ state }) => state === 'running').map((stream) => formatRunningStream(stream, estimator))
  const paused = pausedHostsText(estimator.pausedHosts(), now, '; ')
  return [
    `${formatDuration(now - startedAt)}: ${ended} of ${formatQuantity(active.length, 'stream')} done`,
    lost > 0 ? `, ${formatQuantity(lost, 'item')} lost` : '',
    running.length > 0 ? `; ${running.join(', ')}` : '',
    paused === '' ? '' : `; ${paused}`,
    fleet === undefined ? '' : `; ${fleetText(fleet, ', ')}`,
  ].join('')
}

const formatRunningStream = (stream: StreamStats, estimator: ProgressEstimator): string => {
  const { name, finished: settled, total } = stream
  if (total === undefined) return `${name} ${formatCount(settled)}`
  const { leftMs, pausedUntil } = estimator.estimate(stream)
  const left = leftMs === undefined || pausedUntil !== undefined ? '' : ` (${formatCountdown(Math.max(1, leftMs))} left)`
  return `${name} ${formatCount(Math.min(settled, total))}/${formatCount(total)}${left}`
}
