import { clearScreenDown, cursorTo, moveCursor } from 'node:readline'
import { interval, type SchedulerLike, Subscription } from 'rxjs'
import type { RunEvent } from '../../model/event.js'
import type { RunProgress } from '../../model/progress.js'
import { isSelected, type StreamStats } from '../../model/run-stats.js'
import { fleetText } from '../fleet.js'
import { overallLine, pausedHostsText, renderFrame } from './frame.js'
import { canRedraw, measureLine, paintLine, readSize, type TerminalSize, type TerminalStream, type TextLine, trimLine } from './terminal.js'
import { clean, formatBytes, formatCount, formatDuration, formatQuantity } from './text.js'

export const progressModes = ['auto', 'bars', 'lines', 'none'] as const
export type ProgressMode = (typeof progressModes)[number]

/** Shows the progress of a run. It reads the statistics of the run, which must have an event before `update` gets it. */
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

/** Resolves `auto` for this terminal. */
export const resolveMode = (mode: ProgressMode, stream: TerminalStream, env: NodeJS.ProcessEnv): Exclude<ProgressMode, 'auto'> => {
  if (mode !== 'auto') return mode
  return canRedraw(stream, env) ? 'bars' : 'lines'
}

export const createProgress = (mode: Exclude<ProgressMode, 'auto'>, context: ProgressContext): ProgressDisplay => {
  if (mode === 'bars') return createBars(context)
  return mode === 'lines'
    ? createLines(context)
    : { update: () => undefined, writeAbove: (text) => void context.stream.write(text), end: () => undefined }
}

const REDRAW_INTERVAL_MS = 100
const SAMPLE_INTERVAL_MS = 1_000
const LINE_INTERVAL_MS = 5_000

/** One line per stream, redrawn at the same position; writes nothing before the run starts. */
const createBars = ({ progress: findProgress, stream, scheduler, attempt }: ProgressContext): ProgressDisplay => {
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
      const progress = findProgress()
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

const createLines = ({ progress: findProgress, stream, scheduler, attempt }: ProgressContext): ProgressDisplay => {
  const timer = new Subscription()
  const say = (line: string): void => void stream.write(`${line}\n`)
  return {
    update: (event) => {
      const progress = findProgress()
      if (progress === undefined) return
      if (event.type === 'run-started') {
        const every = (ms: number, action: () => void): void => void timer.add(interval(ms, scheduler).subscribe(() => attempt(action)))
        every(SAMPLE_INTERVAL_MS, () => progress.sample(scheduler.now()))
        every(LINE_INTERVAL_MS, () => say(stateLine(progress, event.at, scheduler.now())))
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

const stateLine = (progress: RunProgress, startedAt: number, now: number): string => {
  const { stats } = progress
  const place = { elapsedMs: now - startedAt, columns: Number.POSITIVE_INFINITY, gap: ', ' }
  const whole = overallLine(stats.streams().filter(isSelected), progress.sample(now), place).map(([text]) => text)
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
      stream.write(lines.map((line) => `${paintLine(line, size.columns - 1, stream)}${REST_OF_LINE}\n`).join(''))
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
