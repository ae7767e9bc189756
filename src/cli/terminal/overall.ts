import { isSelected, type OverallProgress } from '../../model/overall-progress.js'
import type { StreamStats } from '../../model/run-stats.js'
import { formatBytes, formatCount, formatCountdown, formatDuration, formatQuantity } from './format.js'
import { measureLine, type TextLine, type TextSpan } from './terminal.js'

interface LineContext {
  readonly elapsedMs: number
  readonly columns: number
  readonly gap: string
}

/** The line of the whole run. Where it is too long, the least important parts are left out. */
export const overallLine = (
  all: readonly StreamStats[],
  { done, total, share, leftMs, bytesPerSecond }: OverallProgress,
  { elapsedMs, columns, gap }: LineContext,
): TextLine => {
  const streams = all.filter(isSelected)
  const sum = (read: (stream: StreamStats) => number): number => streams.reduce((result, stream) => result + read(stream), 0)
  const ended = sum(({ state }) => Number(state !== 'waiting' && state !== 'running'))
  const failed = sum(({ state }) => Number(state === 'failed'))
  const [lost, limited] = [sum((stream) => stream.lost), sum(({ rateLimited }) => rateLimited)]
  const items =
    total === undefined || total === 0
      ? formatQuantity(done, 'item')
      : `${formatCount(Math.min(done, total))}/${formatQuantity(total, 'item')}`
  // In the order of the line; the number says how important a part is.
  const parts: readonly (readonly [importance: number, text: string, style?: TextSpan[1]])[] = [
    [9, `${Math.floor(share * 100)} %`, 'bold'],
    [5, items],
    [8, leftMs === undefined ? '' : `${formatCountdown(Math.max(1, leftMs))} left`],
    [4, bytesPerSecond === undefined ? '' : `${formatBytes(Math.round(bytesPerSecond))}/s`],
    [3, `${ended} of ${formatQuantity(streams.length, 'stream')}`],
    [1, formatDuration(elapsedMs)],
    [7, failed > 0 ? `${failed} failed` : '', 'red'],
    [6, lost > 0 ? `${formatCount(lost)} lost` : '', 'red'],
    [2, limited > 0 ? `${formatCount(limited)} x 429` : '', 'yellow'],
    [
      0,
      formatQuantity(
        sum((stream) => stream.requests),
        'request',
      ),
      'dim',
    ],
  ]
  const lineFrom = (least: number): TextLine =>
    parts
      .filter(([importance, text]) => importance >= least && text !== '')
      .map(([, text, style], index): TextSpan => [(index === 0 ? '  ' : gap) + text, style])
  const least = parts.findIndex((_, index) => measureLine(lineFrom(index)) < columns)
  return lineFrom(least === -1 ? parts.length - 1 : least)
}
