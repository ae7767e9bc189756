import { finalize, type MonoTypeOperatorFunction, tap } from 'rxjs'
import type { LiveRun } from '../../engine/event-bus.js'
import { forecastStreams } from '../../engine/plan.js'
import { createRunProgress, type RunProgress, SAMPLE_MS } from '../../model/progress.js'
import { createLiveFile } from '../../storage/run-state.js'
import type { LiveRunState } from '../../web/api/live.js'
import { createRunView, type RunView } from '../../web/server/run-view.js'
import type { RunCommandContext } from './context.js'

/**
 * The statistics of the run, and what the page of this process, and pages of others on the same folder, show
 * of it.
 */
export type RunFollower = ReturnType<typeof followProgress>

const PAGE = 'the page of the run'

export const followProgress = ({
  settings,
  io: { wall, scheduler },
  dependencies: { streams },
}: Pick<RunCommandContext, 'settings' | 'io' | 'dependencies'>) => {
  let run: { readonly progress: RunProgress; readonly view: RunView } | undefined
  const file = wall.guard('the live file of the page', createLiveFile<LiveRunState>(settings.out))
  const state = (): LiveRunState | undefined => run?.view.state(scheduler.now())
  const sample = (): void => run?.view.sample(scheduler.now())
  let samples = 0
  const sampleAndWrite = (): void => {
    sample()
    samples += 1
    const now = samples % 2 === 0 ? state() : undefined
    if (now !== undefined) file.write(now)
  }
  return {
    telemetry: ({ stats, limiters }: LiveRun) => {
      const progress = createRunProgress(stats, forecastStreams(streams, settings))
      const view = createRunView(streams, settings, progress, limiters)
      run = { progress, view }
      return { over: view.over, notes: wall.notes }
    },
    progress: (): RunProgress | undefined => run?.progress,
    state,
    /** Measures rates and keeps the live file of the folder, until the source ends. */
    whileRunning:
      <T>(): MonoTypeOperatorFunction<T> =>
      (source$) => {
        // A run that waits for something that never happens must end: the timer does not keep the process.
        const sampling = setInterval(() => wall.attempt(PAGE, sampleAndWrite), SAMPLE_MS).unref()
        return source$.pipe(
          tap({ complete: () => wall.attempt(PAGE, sample) }),
          finalize(() => {
            clearInterval(sampling)
            if (samples > 1) file.remove()
          }),
        )
      },
  }
}
