import { interval, type SchedulerLike, Subscription } from 'rxjs'
import type { RunEvent } from '../model/event.js'
import type { Tally } from '../model/tally.js'
import { createCanvas } from './canvas.js'
import { createCourse } from './course.js'
import { frameOf } from './frame.js'
import { endLine, stateLine } from './lines.js'
import { canRedraw, type Glyphs, type TerminalStream } from './terminal.js'

export const progressModes = ['auto', 'bars', 'lines', 'none'] as const
export type ProgressMode = (typeof progressModes)[number]

/** Shows the progress of a run. It reads the run statistics, which must record an event before `tell` gets it. */
export interface Progress {
  readonly tell: (event: RunEvent) => void
  /** Writes permanent lines, such as logs, above the display. */
  readonly writeAbove: (text: string) => void
  /** Restores the terminal; `keep` leaves the last state on it. Safe to call more than once. */
  readonly end: (options?: { readonly keep: boolean }) => void
}

export interface ProgressContext {
  readonly tally: Tally
  readonly stream: TerminalStream
  readonly glyphs: Glyphs
  readonly scheduler: SchedulerLike
}

/** Resolves `auto` for this terminal. */
export const resolveMode = (mode: ProgressMode, stream: TerminalStream, env: NodeJS.ProcessEnv): Exclude<ProgressMode, 'auto'> => {
  if (mode !== 'auto') return mode
  return canRedraw(stream, env) ? 'bars' : 'lines'
}

export const createProgress = (mode: Exclude<ProgressMode, 'auto'>, context: ProgressContext): Progress => {
  if (mode === 'bars') return bars(context)
  return mode === 'lines'
    ? lines(context)
    : { tell: () => undefined, writeAbove: (text) => void context.stream.write(text), end: () => undefined }
}

const REDRAW_MS = 100
const LOOK_MS = 1_000
const LINE_MS = 5_000

/** One line per stream, redrawn at the same position; writes nothing before the run starts. */
const bars = ({ tally, stream, glyphs, scheduler }: ProgressContext): Progress => {
  const canvas = createCanvas(stream)
  const estimator = createCourse()
  const timer = new Subscription()
  let startedAt: number | undefined

  const draw = (): void => {
    const [at, now, streams] = [startedAt, scheduler.now(), tally.streams()]
    estimator.look(streams, now)
    if (at !== undefined) canvas.draw((size) => frameOf(streams, { now, startedAt: at, size, glyphs, estimator, fleet: tally.fleet() }))
  }
  return {
    tell: (event) => {
      estimator.tell(event)
      if (event.type !== 'run-started') return
      startedAt = event.at
      timer.add(interval(REDRAW_MS, scheduler).subscribe(draw))
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
      canvas.close()
    },
  }
}

/** One plain line every few seconds, and one at the end of each stream. */
const lines = ({ tally, stream, scheduler }: ProgressContext): Progress => {
  const timer = new Subscription()
  const estimator = createCourse()
  const say = (line: string): void => void stream.write(`${line}\n`)
  return {
    tell: (event) => {
      estimator.tell(event)
      if (event.type === 'run-started') {
        timer.add(interval(LOOK_MS, scheduler).subscribe(() => estimator.look(tally.streams(), scheduler.now())))
        timer.add(
          interval(LINE_MS, scheduler).subscribe(() =>
            say(stateLine(tally.streams(), { startedAt: event.at, now: scheduler.now(), estimator, fleet: tally.fleet() })),
          ),
        )
      } else if (event.type === 'stream-finished') {
        const ended = tally.streams().find(({ name }) => name === event.stream)
        if (ended) say(endLine(ended))
      }
    },
    writeAbove: (text) => void stream.write(text),
    end: () => timer.unsubscribe(),
  }
}
