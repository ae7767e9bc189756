import { clearScreenDown, cursorTo, moveCursor } from 'node:readline'
import { interval, type SchedulerLike, Subscription } from 'rxjs'
import type { RunEvent } from '../model/event.js'
import type { Tally } from '../model/tally.js'
import { frameOf } from './frame.js'
import { endLine, stateLine } from './lines.js'
import { canRedraw, type Glyphs, hideCursor, paintLine, showCursor, sizeOf, type TerminalStream, trimmed, widthOf } from './terminal.js'

export const progressModes = ['auto', 'bars', 'lines', 'none'] as const
export type ProgressMode = (typeof progressModes)[number]

/** Shows how a run goes. It reads from the tally, which must have recorded an event before it is told here. */
export interface Progress {
  readonly tell: (event: RunEvent) => void
  /** Writes lines that stay, such as logs, without tearing the display. */
  readonly above: (text: string) => void
  /** Puts the terminal back in order, and leaves the last state on it if asked to. More than one call is harmless. */
  readonly end: (options?: { readonly keep: boolean }) => void
}

export interface ProgressContext {
  readonly tally: Tally
  readonly stream: TerminalStream
  readonly glyphs: Glyphs
  readonly scheduler: SchedulerLike
}

/** What `auto` means here. */
export const resolveMode = (mode: ProgressMode, stream: TerminalStream, env: NodeJS.ProcessEnv): Exclude<ProgressMode, 'auto'> => {
  if (mode !== 'auto') return mode
  return canRedraw(stream, env) ? 'bars' : 'lines'
}

export const createProgress = (mode: Exclude<ProgressMode, 'auto'>, context: ProgressContext): Progress => {
  if (mode === 'bars') return bars(context)
  return mode === 'lines'
    ? lines(context)
    : { tell: () => undefined, above: (text) => void context.stream.write(text), end: () => undefined }
}

const REDRAW_MS = 100
const LINE_MS = 5_000
const REST_OF_LINE = '\x1b[K'

/** A line for each stream, redrawn in place; nothing is written before the run has started. */
const bars = ({ tally, stream, glyphs, scheduler }: ProgressContext): Progress => {
  let drawn: readonly number[] = []
  let drawnColumns = sizeOf(stream).columns
  let startedAt = 0
  const timer = new Subscription()

  const erase = (): void => {
    const { columns } = sizeOf(stream)
    // In a window that became narrower, lines drawn before have been broken into several.
    const height = drawn.reduce((rows, length) => rows + Math.max(1, Math.ceil(length / columns)), 0)
    // A Ctrl+C leaves its ^C where the cursor was.
    cursorTo(stream, 0)
    if (height > 0) moveCursor(stream, 0, -height)
    if (columns !== drawnColumns) clearScreenDown(stream)
    drawnColumns = columns
    drawn = []
  }
  const draw = (): void => {
    const size = sizeOf(stream)
    const frame = frameOf(tally.streams(), { now: scheduler.now(), startedAt, size, glyphs })
    erase()
    stream.write(frame.map((line) => `${paintLine(line, size.columns - 1, stream)}${REST_OF_LINE}\n`).join(''))
    clearScreenDown(stream)
    drawn = frame.map((line) => Math.min(size.columns - 1, widthOf(trimmed(line))))
  }
  return {
    tell: (event) => {
      if (event.type !== 'run-started') return
      startedAt = event.at
      hideCursor(stream)
      timer.add(interval(REDRAW_MS, scheduler).subscribe(draw))
      draw()
    },
    above: (text) => {
      const wasDrawn = drawn.length > 0
      erase()
      if (wasDrawn) clearScreenDown(stream)
      stream.write(text)
      if (wasDrawn) draw()
    },
    end: ({ keep } = { keep: false }) => {
      if (timer.closed) return
      timer.unsubscribe()
      if (drawn.length === 0) return
      if (keep) draw()
      else {
        erase()
        clearScreenDown(stream)
      }
      showCursor(stream)
    },
  }
}

/** A plain line every few seconds, and one at the end of each stream. */
const lines = ({ tally, stream, scheduler }: ProgressContext): Progress => {
  const timer = new Subscription()
  const say = (line: string): void => void stream.write(`${line}\n`)
  return {
    tell: (event) => {
      if (event.type === 'run-started') {
        timer.add(interval(LINE_MS, scheduler).subscribe(() => say(stateLine(tally.streams(), scheduler.now() - event.at))))
      } else if (event.type === 'stream-finished') {
        const ended = tally.streams().find(({ name }) => name === event.stream)
        if (ended) say(endLine(ended))
      }
    },
    above: (text) => void stream.write(text),
    end: () => timer.unsubscribe(),
  }
}
