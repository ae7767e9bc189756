import { from, merge, mergeMap, tap, toArray } from 'rxjs'
import type { Executor } from '../pipeline/engine.js'
import { BARRIERS } from './barriers.js'
import { clearQueues, type Driver } from './driver-connections.js'
import type { PreparedRun } from './prepare-run.js'
import { processOnFleet } from './process-stage.js'

/** Hands the items of a prepared run to the workers. `emitWorkers` is called at the end of each stage. */
export const createFleetExecutor = (driver: Driver, { lease, barriers }: PreparedRun, emitWorkers: () => void): Executor => {
  const { run, plan, queues, blobs, workerStats } = driver
  return {
    work: (stage) => (item$) =>
      item$.pipe(
        // The barrier needs the complete list.
        toArray(),
        mergeMap((items) => {
          const earlier = items.map((item) => stage.findStored(item))
          const remaining = items.filter((_, index) => earlier[index] === undefined)
          return merge(
            from(earlier.filter((outcome) => outcome !== undefined)),
            processOnFleet(stage, remaining, { run, plan, queues, barriers, blobs, workerStats }).pipe(tap({ complete: emitWorkers })),
          )
        }),
      ),
    finish: () => from(finishOnFleet(driver, lease)),
  }
}

/** Removes the data of a finished run, so that the fleet is free for the next one. */
const finishOnFleet = async (driver: Driver, lease: PreparedRun['lease']): Promise<void> => {
  const { run, names, queues, blobs, watching } = driver
  watching.unsubscribe()
  await Promise.all([clearQueues(queues, [...names, BARRIERS]), blobs.removeRun(run.session.record.run)])
  await queues.clearWorkerCount()
  driver.isRunning = false
  await lease.finishRun()
  // Released here, not on unsubscribe: a program may start its next run at once.
  await lease.release()
}
