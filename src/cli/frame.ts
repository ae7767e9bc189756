import type { StreamTally } from '../model/tally.js'
import { count, countdown, counted, duration, bytes as inBytes, rate } from './format.js'
import type { Glyphs, Line, Size, Style } from './terminal.js'
import { clean, padEnd, padStart } from './text.js'

export interface FrameContext {
  readonly now: number
  readonly startedAt: number
  readonly size: Size
  readonly glyphs: Glyphs
}

/**
 * What the terminal shows at a moment: a line for each stream and a total. Where they do not fit, the running streams and the total;
 * never more lines than the terminal has rows, less the one for the cursor.
 */
export const frameOf = (streams: readonly StreamTally[], context: FrameContext): readonly Line[] => {
  const layout = layoutOf(streams, context.size.columns)
  const room = Math.max(0, context.size.rows - 2)
  const shown = streams.length <= room ? streams : streams.filter(({ state }) => state === 'running').slice(0, room)
  return [...shown.map((stream) => lineOf(stream, layout, context)), totalLine(streams, context)]
}

/** Columns of each cell, the gap before it included; a bar of 0 is left out. */
interface Layout {
  readonly name: number
  readonly bar: number
  readonly count: number
  readonly isWide: boolean
}

const RATE = 8
const TIME = 11
const LOST = 12
const BAR = { least: 6, most: 40 }

const layoutOf = (streams: readonly StreamTally[], columns: number): Layout => {
  const name = Math.max(0, ...streams.map((stream) => stream.name.length)) + 1
  const counts = Math.max(8, ...streams.map((stream) => countOf(stream).length + 1))
  const room = columns - 1 - (2 + name + counts + RATE + TIME + LOST)
  return { name, count: counts, bar: room < BAR.least ? 0 : Math.min(BAR.most, room), isWide: columns >= 150 }
}

const lineOf = (stream: StreamTally, layout: Layout, context: FrameContext): Line => {
  const [mark, style] = markOf(stream, context.glyphs)
  const isPlain = stream.state === 'success' || stream.state === 'running'
  const head: Line = [
    [`${mark} `, style],
    [padEnd(stream.name, layout.name), isPlain ? undefined : style],
  ]
  if (isPlain) return [...head, ...workCells(stream, layout, context), ...moreCells(stream, layout)]
  if (stream.state === 'failed') return [...head, [`failed: ${clean(stream.error ?? 'no reason given')}`, 'red']]
  return [...head, [stream.state, 'dim']]
}

const markOf = ({ state, lost, degraded }: StreamTally, glyphs: Glyphs): readonly [string, Style] => {
  if (state === 'running') return [glyphs.run, 'cyan']
  if (state === 'failed') return [glyphs.bad, 'red']
  if (state === 'success') return lost + degraded > 0 ? [glyphs.warn, 'yellow'] : [glyphs.ok, 'green']
  return [state === 'waiting' ? glyphs.wait : glyphs.off, 'dim']
}

const workCells = (stream: StreamTally, layout: Layout, { now, glyphs }: FrameContext): Line => {
  const { startedAt = now, finishedAt = now, settled, total, lost, degraded, state } = stream
  const elapsed = finishedAt - startedAt
  const full = Math.floor(doneShare(stream) * layout.bar)
  const isTiming = total !== undefined && settled > 0 && settled < total
  const left = isTiming ? `${countdown(((total - settled) * elapsed) / settled)} left` : ''
  return [
    [glyphs.full.repeat(full), state === 'success' ? 'green' : 'cyan'],
    [glyphs.rest.repeat(layout.bar - full), 'dim'],
    [padStart(countOf(stream), layout.count)],
    [padStart(rate(settled, elapsed), RATE), 'dim'],
    [padStart(state === 'running' ? left : duration(elapsed), TIME)],
    [padEnd(lost > 0 ? `  ${count(lost)} lost` : '', degraded > 0 && lost === 0 ? 0 : LOST), 'red'],
    [lost === 0 && degraded > 0 ? padEnd(`  ${count(degraded)} partly`, LOST) : '', 'yellow'],
  ]
}

const doneShare = ({ settled, total, state }: StreamTally): number => {
  if (total === undefined || total === 0) return state === 'success' ? 1 : 0
  return Math.min(1, settled / total)
}

const countOf = ({ settled, total }: StreamTally): string =>
  total === undefined ? (settled > 0 ? count(settled) : '') : `${count(Math.min(settled, total))}/${count(total)}`

const moreCells = ({ requests, retries, rateLimited, files, bytes }: StreamTally, { isWide }: Layout): Line =>
  isWide
    ? [
        [padStart(counted(requests, 'request'), 16), 'dim'],
        [padStart(retries > 0 ? `${count(retries)} again` : '', 13), 'yellow'],
        [padStart(rateLimited > 0 ? `${count(rateLimited)} x 429` : '', 13), 'yellow'],
        [files > 0 ? `  ${counted(files, 'file')}, ${inBytes(bytes)}` : '', 'dim'],
      ]
    : []

const totalLine = (streams: readonly StreamTally[], { now, startedAt, glyphs }: FrameContext): Line => {
  const sum = (read: (stream: StreamTally) => number): number => streams.reduce((total, stream) => total + read(stream), 0)
  const active = streams.filter(({ state }) => state !== 'skipped' && state !== 'disabled')
  const ended = active.filter(({ state }) => state === 'success' || state === 'failed')
  const gap = ` ${glyphs.dot} `
  const [lost, limited, failed] = [sum((s) => s.lost), sum((s) => s.rateLimited), active.filter(({ state }) => state === 'failed').length]
  return [
    [`  ${duration(now - startedAt)}`],
    [
      `${gap}${ended.length} of ${counted(active.length, 'stream')}${gap}${counted(
        sum((s) => s.settled),
        'item',
      )}`,
    ],
    [failed > 0 ? `${gap}${failed} failed` : '', 'red'],
    [lost > 0 ? `${gap}${count(lost)} lost` : '', 'red'],
    [limited > 0 ? `${gap}${count(limited)} x 429` : '', 'yellow'],
    [
      `${gap}${counted(
        sum((s) => s.requests),
        'request',
      )}`,
      'dim',
    ],
  ]
}
