import { clearScreenDown, cursorTo, moveCursor } from 'node:readline'
import { interval, type SchedulerLike, Subscription } from 'rxjs'
import type { RunEvent } from '../../model/event.js'
import { formatPart } from '../../model/format.js'
import type { OverallProgress, RunProgress } from '../../model/progress.js'
import { hasEnded, isSelected, type PausedHosts, type StreamStats } from '../../model/run-stats.js'
import { fleetText } from '../fleet.js'
import {
  canRedraw,
  GLYPHS,
  measureLine,
  paintLine,
  readSize,
  type Style,
  type TerminalSize,
  type TerminalStream,
  type TextLine,
  type TextSpan,
  trimLine,
} from './terminal.js'
import {
  clean,
  formatBytes,
  formatCount,
  formatCountdown,
  formatDuration,
  formatQuantity,
  formatRate,
  padEnd,
  padStart,
  width,
} from './text.js'

export const progressModes = ['auto', 'bars', 'lines', 'none'] as const
export type ProgressMode = (typeof progressModes)[number]
type ShownMode = Exclude<ProgressMode, 'auto'>

/**
 * Shows the progress of a run. It reads the statistics of the run, which must have an event before `update`
 * gets it.
 */
export interface ProgressDisplay {
  readonly update: (event: RunEvent) => void
  readonly writeAbove: (text: string) => void
  /** Clears the display; `keep` leaves the last state on it. Safe to call more than once. */
  readonly end: (options?: { readonly keep: boolean }) => void
}

interface ProgressContext {
  /** The progress of the run; undefined before it has started. */
  readonly progress: () => RunProgress | undefined
  readonly stream: TerminalStream
  readonly scheduler: SchedulerLike
  /** Runs what a timer does, which must not throw. */
  readonly attempt: (action: () => void) => void
}

export const resolveMode = (
  mode: ProgressMode,
  stream: TerminalStream,
  env: NodeJS.ProcessEnv,
): ShownMode => {
  if (mode !== 'auto') return mode
  return canRedraw(stream, env) ? 'bars' : 'lines'
}

export const createProgress = (mode: ShownMode, context: ProgressContext): ProgressDisplay => {
  if (mode === 'bars') return createBars(context)
  return mode === 'lines'
    ? createLines(context)
    : { update: () => undefined, writeAbove: (text) => void context.stream.write(text), end: () => undefined }
}

const REDRAW_INTERVAL_MS = 100
const SAMPLE_INTERVAL_MS = 1_000
const LINE_INTERVAL_MS = 5_000

/** One line per stream, redrawn at the same position; writes nothing before the run starts. */
const createBars = (context: ProgressContext): ProgressDisplay => {
  const { stream, scheduler, attempt } = context
  const canvas = createCanvas(stream)
  const timer = new Subscription()
  let started: { readonly at: number; readonly progress: RunProgress } | undefined

  const draw = (): void => {
    if (started === undefined) return
    const { at: startedAt, progress } = started
    const now = scheduler.now()
    const overall = progress.sample(now)
    canvas.draw((size) => renderFrame(overall, { now, startedAt, size, progress }))
  }
  return {
    update: (event) => {
      const progress = context.progress()
      if (event.type !== 'run-started' || progress === undefined) return
      started = { at: event.at, progress }
      timer.add(interval(REDRAW_INTERVAL_MS, scheduler).subscribe(() => attempt(draw)))
      draw()
    },
    writeAbove: (text) => {
      const wasDrawn = canvas.erase()
      stream.write(text)
      if (wasDrawn) draw()
    },
    end: ({ keep } = { keep: false }) => {
      if (timer.closed) return
      timer.unsubscribe()
      if (keep) draw()
      else canvas.erase()
    },
  }
}

const createLines = (context: ProgressContext): ProgressDisplay => {
  const { stream, scheduler, attempt } = context
  const timer = new Subscription()
  const say = (line: string): void => void stream.write(`${line}\n`)
  let lastStep: string | undefined

  const sayState = (progress: RunProgress, startedAt: number): void => {
    const now = scheduler.now()
    const overall = progress.sample(now)
    // Of a step that goes on, only the time would differ from the line before.
    const isSaid = overall.step !== undefined && overall.step === lastStep
    if (!isSaid) say(stateLine(overall, progress, { now, startedAt }))
    lastStep = overall.step
  }
  return {
    update: (event) => {
      const progress = context.progress()
      if (progress === undefined) return
      if (event.type === 'run-started') {
        const every = (ms: number, action: () => void): void =>
          void timer.add(interval(ms, scheduler).subscribe(() => attempt(action)))
        every(SAMPLE_INTERVAL_MS, () => progress.sample(scheduler.now()))
        every(LINE_INTERVAL_MS, () => sayState(progress, event.at))
      } else if (event.type === 'stream-finished') {
        const ended = progress.stats.stream(event.stream)
        if (ended) say(endLine(ended))
      }
    },
    writeAbove: (text) => void stream.write(text),
    end: () => timer.unsubscribe(),
  }
}

const endLine = (stream: StreamStats): string => {
  const {
    name,
    state,
    finished,
    total = finished,
    lost,
    degraded,
    files,
    bytes,
    startedAt = 0,
    finishedAt = startedAt,
    error,
  } = stream
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

const stateLine = (
  overall: OverallProgress,
  { stats }: RunProgress,
  { now, startedAt }: { readonly now: number; readonly startedAt: number },
): string => {
  const place = { elapsedMs: now - startedAt, columns: Number.POSITIVE_INFINITY, gap: ', ' }
  const whole = overallLine(stats.streams().filter(isSelected), overall, place).map(([text]) => text)
  const others = [pausedHostsText(stats.pausedHosts(), now, '; '), fleetText(stats.fleet(), ', ')]
  return [whole.join('').trim(), ...others.filter((text) => text !== '')].join('; ')
}

const REST_OF_LINE = '\x1b[K'

const createCanvas = (stream: TerminalStream) => {
  let widths: readonly number[] = []
  let drawnColumns = 0

  const goBack = ({ columns }: TerminalSize): void => {
    // If the window became narrower, the terminal has wrapped the earlier lines.
    const height = widths.reduce((rows, width) => rows + Math.max(1, Math.ceil(width / columns)), 0)
    // Ctrl+C prints ^C at the cursor.
    cursorTo(stream, 0)
    moveCursor(stream, 0, -height)
    if (columns !== drawnColumns) clearScreenDown(stream)
  }
  return {
    draw: (linesFor: (size: TerminalSize) => readonly TextLine[]): void => {
      const size = readSize(stream)
      const lines = linesFor(size)
      if (widths.length > 0) goBack(size)
      stream.write(
        lines.map((line) => `${paintLine(line, size.columns - 1, stream)}${REST_OF_LINE}\n`).join(''),
      )
      clearScreenDown(stream)
      widths = lines.map((line) => Math.min(size.columns - 1, measureLine(trimLine(line))))
      drawnColumns = size.columns
    },
    /** Clears the drawn lines, so that other text can be written; returns whether there were any. */
    erase: (): boolean => {
      if (widths.length === 0) return false
      goBack(readSize(stream))
      clearScreenDown(stream)
      widths = []
      return true
    },
  }
}

interface FrameContext {
  readonly now: number
  readonly startedAt: number
  readonly size: TerminalSize
  readonly progress: RunProgress
}

/**
 * The lines of the progress display: one per selected stream, the fleet, the paused hosts, and last the whole
 * run, which is always shown. If they do not fit, only running streams are listed. Never more lines than the
 * terminal has rows, less one for the cursor.
 */
export const renderFrame = (overall: OverallProgress, context: FrameContext): readonly TextLine[] => {
  const { progress, now, startedAt, size } = context
  const selected = progress.stats.streams().filter(isSelected)
  const layout = computeLayout(selected, size.columns)
  const whole = overallLine(selected, overall, {
    elapsedMs: now - startedAt,
    columns: size.columns,
    gap: GLYPHS.gap,
  })
  const below = [...fleetLine(context), ...pausedLines(context), whole]
  const room = Math.max(0, context.size.rows - 1 - below.length)
  const shown =
    selected.length <= room ? selected : selected.filter(({ state }) => state === 'running').slice(0, room)
  return [...shown.map((stream) => formatStreamLine(stream, layout, context)), ...below].slice(
    -Math.max(1, context.size.rows - 1),
  )
}

const RATE = 8
const TIME = 11
const LOST = 12
const BAR = { min: 6, max: 40 }

/**
 * Columns of each cell with the gap before it. 0 omits a cell: first the bar, then the rate, then the time.
 */
const computeLayout = (streams: readonly StreamStats[], columns: number) => {
  const name = Math.max(0, ...streams.map((stream) => stream.name.length)) + 1
  const counts = Math.max(8, ...streams.map((stream) => formatProgressCount(stream).length + 1))
  const room = columns - 1 - (2 + name + counts + RATE + TIME + LOST)
  return {
    name,
    count: counts,
    bar: room < BAR.min ? 0 : Math.min(BAR.max, room),
    rate: room < 0 ? 0 : RATE,
    time: room + RATE < 0 ? 0 : TIME,
  }
}

type FrameLayout = ReturnType<typeof computeLayout>

const formatStreamLine = (stream: StreamStats, layout: FrameLayout, context: FrameContext): TextLine => {
  const [mark, style] = MARKS[stream.state] ?? [GLYPHS.off, 'dim']
  const isPlain = ['success', 'partial', 'running'].includes(stream.state)
  const head: TextLine = [
    [`${mark} `, style],
    [padEnd(stream.name, layout.name), isPlain ? undefined : style],
  ]
  if (isPlain) return [...head, ...workCells(stream, layout, context)]
  if (stream.state === 'failed')
    return [...head, [`failed: ${clean(stream.error ?? 'unknown reason')}`, 'red']]
  return [...head, [stream.state, 'dim']]
}

const MARKS: Readonly<Partial<Record<StreamStats['state'], readonly [string, Style]>>> = {
  running: [GLYPHS.run, 'cyan'],
  failed: [GLYPHS.bad, 'red'],
  success: [GLYPHS.ok, 'green'],
  partial: [GLYPHS.warn, 'yellow'],
  waiting: [GLYPHS.wait, 'dim'],
}

const workCells = (stream: StreamStats, layout: FrameLayout, { now, progress }: FrameContext): TextLine => {
  const { startedAt = now, finishedAt = now, finished, takenOver, state, total } = stream
  const { share, perSecond } = progress.estimate(stream)
  const elapsed = finishedAt - startedAt
  const full = Math.floor(share * layout.bar)
  const isRunning = state === 'running'
  const rate = isRunning ? formatRate(perSecond ?? 0, 1_000) : formatRate(finished - takenOver, elapsed)
  const [time, style] = isRunning ? timeLeft(stream, progress, now) : [formatDuration(elapsed)]
  return [
    [GLYPHS.full.repeat(full), isRunning ? 'cyan' : 'green'],
    [GLYPHS.rest.repeat(layout.bar - full), 'dim'],
    [padStart(formatProgressCount(stream), layout.count)],
    // The rate of one item says nothing.
    [layout.rate === 0 ? '' : padStart(total === 1 ? '' : rate, layout.rate), 'dim'],
    [layout.time === 0 ? '' : padStart(time, layout.time), style],
    lossCell(stream),
  ]
}

const timeLeft = (stream: StreamStats, progress: RunProgress, now: number): TextSpan => {
  const { leftMs, pausedUntil } = progress.estimate(stream)
  const { finished, total } = stream
  if (total !== undefined && total > 0 && finished >= total) return ['finishing']
  if (pausedUntil !== undefined) return [`waits ${formatCountdown(Math.max(1, pausedUntil - now))}`, 'yellow']
  return [leftMs === undefined ? '' : `${formatCountdown(leftMs)} left`]
}

const lossCell = ({ lost, degraded }: StreamStats): TextSpan => {
  const text =
    lost > 0 ? `  ${formatCount(lost)} lost` : degraded > 0 ? `  ${formatCount(degraded)} partly` : ''
  return [text, lost > 0 ? 'red' : 'yellow']
}

const formatProgressCount = ({ finished, total }: StreamStats): string =>
  total === undefined
    ? finished > 0
      ? formatCount(finished)
      : ''
    : `${formatCount(Math.min(finished, total))}/${formatCount(total)}`

const fleetLine = ({ progress }: FrameContext): readonly TextLine[] => {
  const text = fleetText(progress.stats.fleet(), GLYPHS.gap)
  return text === '' ? [] : [[[`  ${text}`, 'dim']]]
}

const pausedLines = ({ progress, now, size }: FrameContext): readonly TextLine[] => {
  const pauses = progress.stats.pausedHosts()
  const text = pausedHostsText(pauses, now, GLYPHS.gap)
  const texts = width(text) + 2 < size.columns ? [text] : pauses.map((one) => pausedHostsText([one], now, ''))
  return texts.flatMap((one): readonly TextLine[] => (one === '' ? [] : [[[`  ${one}`, 'yellow']]]))
}

export const pausedHostsText = (pauses: readonly PausedHosts[], now: number, gap: string): string =>
  pauses
    .map(
      (one) =>
        `${one.hosts.join(' and ')}${one.endpoint === undefined ? '' : ` ${one.endpoint}`}: ${formatPause(one, now)}`,
    )
    .join(gap)

const formatPause = ({ why, since, until, giveUpAt }: PausedHosts, now: number): string => {
  const left = formatCountdown(Math.max(1, until - now))
  if (why !== 'down')
    return `${why === 'refuses' ? 'rate limited' : 'sends HTML instead of data'}, wait ${left}`
  const giveUp =
    giveUpAt === undefined ? '' : `, giving up in ${formatCountdown(Math.max(1, giveUpAt - now))}`
  return `down for ${formatCountdown(Math.max(1, now - since))}, next try in ${left}${giveUp}`
}

/** The line of the selected streams. Where it is too long, the least important parts are left out. */
export const overallLine = (
  streams: readonly StreamStats[],
  { done, total, share, leftMs, bytesPerSecond, step }: OverallProgress,
  { elapsedMs, columns, gap }: { readonly elapsedMs: number; readonly columns: number; readonly gap: string },
): TextLine => {
  const sum = (read: (stream: StreamStats) => number): number =>
    streams.reduce((result, stream) => result + read(stream), 0)
  const ended = sum((stream) => Number(hasEnded(stream)))
  const failed = sum(({ state }) => Number(state === 'failed'))
  const [lost, limited] = [sum((stream) => stream.lost), sum(({ rateLimited }) => rateLimited)]
  const count = formatQuantity(total || done, 'item')
  const items = total ? `${formatCount(Math.min(done, total))}/${count}` : count
  const requests = sum((stream) => stream.requests)
  // In the order of the line; the number says how important a part is.
  const parts: readonly (readonly [importance: number, text: string, style?: TextSpan[1]])[] = [
    [9, `${Math.floor(share * 100)} %`, 'bold'],
    [5, items],
    [8, step ?? (leftMs === undefined ? '' : `${formatCountdown(leftMs)} left`)],
    [4, bytesPerSecond === undefined ? '' : `${formatBytes(Math.round(bytesPerSecond))}/s`],
    [3, formatPart(ended, streams.length, 'stream')],
    [1, formatDuration(elapsedMs)],
    [7, failed > 0 ? `${failed} failed` : '', 'red'],
    [6, lost > 0 ? `${formatCount(lost)} lost` : '', 'red'],
    [2, limited > 0 ? `${formatCount(limited)} x 429` : '', 'yellow'],
    [0, formatQuantity(requests, 'request'), 'dim'],
  ]
  const lineFrom = (least: number): TextLine =>
    parts
      .filter(([importance, text]) => importance >= least && text !== '')
      .map(([, text, style], index): TextSpan => [(index === 0 ? '  ' : gap) + text, style])
  const least = parts.findIndex((_, index) => measureLine(lineFrom(index)) < columns)
  return lineFrom(least === -1 ? parts.length - 1 : least)
}
