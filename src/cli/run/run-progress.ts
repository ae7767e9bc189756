import { Subscription } from 'rxjs'
import type { RunStats } from '../../model/run-stats.js'
import type { Settings } from '../../model/settings.js'
import { forecastStreams } from '../../pipeline/phases.js'
import type { Dependencies, ProcessIo } from '../dependencies.js'
import { createProgress, type ProgressDisplay, resolveMode } from '../terminal/progress.js'
import { chooseGlyphs } from '../terminal/terminal.js'
import type { RunFlags } from './flags.js'

interface ProgressOptions {
  readonly flags: Pick<RunFlags, 'quiet' | 'progress'>
  readonly settings: Settings
  readonly stats: RunStats
}

/** The progress display of a run, as its flags want it. */
export const createRunProgress = (
  { flags, settings, stats }: ProgressOptions,
  { stderr, env, scheduler, wall }: ProcessIo,
  { streams }: Dependencies,
): ProgressDisplay =>
  wall.guard(
    DISPLAY,
    createProgress(flags.quiet ? 'none' : resolveMode(flags.progress, stderr, env), {
      stats,
      stream: stderr,
      glyphs: chooseGlyphs(env),
      scheduler,
      forecasts: forecastStreams(streams, settings),
      attempt: (action) => wall.attempt(DISPLAY, action),
    }),
  )

const DISPLAY = 'the progress display'

/** Ctrl+Z clears the display and shows the cursor before the process stops; `fg` draws again. */
export const followJobControl = ({ jobSignal$, suspend }: ProcessIo, { pause, resume }: ProgressDisplay): Subscription => {
  if (pause === undefined || resume === undefined) return Subscription.EMPTY
  return jobSignal$.subscribe((signal) => {
    if (signal === 'SIGCONT') return resume()
    pause()
    suspend()
  })
}
