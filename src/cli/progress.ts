import { interval, type SchedulerLike, Subscription } from 'rxjs'
import type { RunEvent } from '../model/event.js'
import type { RunStats } from '../model/run-stats.js'
import { createCanvas } from './canvas.js'
import { renderFrame } from './frame.js'
import { endLine, stateLine } from './lines.js'
import { createProgressEstimator } from './progress-estimator.js'
import { canRedraw, type Glyphs, type TerminalStream } from './terminal.js'

export const progressModes = ['auto', 'bars', 'lines', 'none'] as const
export type ProgressMode = (typeof progressModes)[number]

/** Shows the progress of a run. It reads the run statistics, which must record an event before `tell` gets it. */
export interface ProgressDisplay {
  readonly update: (event: RunEvent) => void
  /** Writes permanent lines, such as logs, above the display. */
  readonly writeAbove: (text: string) => void
  /** Restores the terminal; `keep` leaves the last state on it. Safe to call more than once. */
  readonly end: (options?: { readonly keep: boolean }) => void
}

export interface ProgressContext {
  readonly tally: RunStats
  readonly stream: TerminalStream
  readonly glyphs: Glyphs
  readonly scheduler: SchedulerLike
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
const createBars = ({ tally, stream, glyphs, scheduler }: ProgressContext): ProgressDisplay => {
  const canvas = createCanvas(stream)
  const estimator = createProgressEstimator()
  const timer = new Subscription()
  let startedAt: number | undefined

  const draw = (): void => {
    const [at, now, streams] = [startedAt, scheduler.now(), tally.streams()]
    estimator.sample(streams, now)
    if (at !== undefined) canvas.draw((size) => renderFrame(streams, { now, startedAt: at, size, glyphs, estimator, fleet: tally.fleet() }))
  }
  return {
    update: (event) => {
      estimator.record(event)
      if (event.type !== 'run-started') return
      startedAt = event.at
      timer.add(interval(REDRAW_INTERVAL_MS, scheduler).subscribe(draw))
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
const createLines = ({ tally, stream, scheduler }: ProgressContext): ProgressDisplay => {
  const timer = new Subscription()
  const estimator = createProgressEstimator()
  const say = (line: string): void => void stream.write(`${line}\n`)
  return {
    update: (event) => {
      estimator.record(event)
      if (event.type === 'run-started') {
        timer.add(interval(SAMPLE_INTERVAL_MS, scheduler).subscribe(() => estimator.sample(tally.streams(), scheduler.now())))
        timer.add(
          interval(LINE_INTERVAL_MS, scheduler).subscribe(() =>
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
