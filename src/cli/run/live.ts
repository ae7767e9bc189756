import { finalize, type MonoTypeOperatorFunction, tap } from 'rxjs'
import type { Telemetry } from '../../pipeline/telemetry.js'
import { createLiveFile } from '../../storage/live-file.js'
import type { LiveRunState } from '../../web/api/live.js'
import { createLiveRun } from '../../web/server/live-run.js'
import type { RunCommandContext } from './flags.js'

/** What the page of this process, and pages of others on the same folder, show of the run. */
export interface RunFollower {
  readonly telemetry: Telemetry
  readonly state: () => LiveRunState | undefined
  /** Measures rates and keeps the live file of the folder, until the source ends. */
  readonly whileRunning: <T>() => MonoTypeOperatorFunction<T>
}

const SAMPLE_MS = 500
const PAGE = 'the page of the run'

export const followForPage = ({ settings, io, dependencies }: Pick<RunCommandContext, 'settings' | 'io' | 'dependencies'>): RunFollower => {
  const live = createLiveRun(dependencies.streams, settings)
  const { wall } = io
  const file = wall.guard('the live file of the page', createLiveFile<LiveRunState>(settings.out))
  const state = (): LiveRunState | undefined => live.state(io.scheduler.now())
  let samples = 0
  const sample = (): void => {
    live.sample(io.scheduler.now())
    samples += 1
    const now = samples % 2 === 0 ? state() : undefined
    if (now !== undefined) file.write(now)
  }
  return {
    telemetry: () => ({ event: live.event, request: live.request, over: live.over, notes: wall.notes }),
    state,
    whileRunning: () => (source$) => {
      // A run that waits for something that never happens must end: the timer does not keep the process.
      const sampling = setInterval(() => wall.attempt(PAGE, sample), SAMPLE_MS).unref()
      return source$.pipe(
        tap({ complete: () => wall.attempt(PAGE, () => live.sample(io.scheduler.now())) }),
        finalize(() => {
          clearInterval(sampling)
          if (samples > 1) file.remove()
        }),
      )
    },
  }
}
