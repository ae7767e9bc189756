import { asapScheduler, defer, finalize, type Observable, of, Subject } from 'rxjs'
import { thresholds } from './never-worse.js'

/**
 * Counts the series of a run that have become multiples of the stored ones: many indicate an error of the provider, a few are single stocks
 * whose history changed. While the count is undecided, such series wait without occupying a worker, at most `maxSuspects` of them.
 */
export interface RescaleWatch {
  /** Counts work as active from subscription to end. */
  readonly track: <T>(work$: Observable<T>) => Observable<T>
  /** Records a series that equals the stored one. */
  readonly countUsual: () => void
  /** Records a series that is a multiple of the stored one. */
  readonly countSuspect: () => void
  /** Whether many series are multiples: emits once that is decided, at the latest when only waiting work is left. */
  readonly whenDecided: () => Observable<boolean>
}

export const createRescaleWatch = (): RescaleWatch => {
  const { window, maxSuspects, minSuspects, suspectShare } = thresholds.rescale
  /** Waiting series, with the number of compared series at the start of their wait. */
  const waiters = new Map<Subject<boolean>, number>()
  let recent: readonly number[] = []
  let [inWork, compared, areMany] = [0, 0, false]

  const releaseWhere = (isOver: (since: number) => boolean): void => {
    for (const [waiting, since] of [...waiters]) {
      if (!isOver(since) || !waiters.delete(waiting)) continue
      inWork += 1
      waiting.next(areMany)
      waiting.complete()
    }
  }
  const compare = (): void => {
    compared += 1
    recent = recent.filter((at) => compared - at < window)
    releaseWhere((since) => areMany || compared - since >= window)
  }
  const decide = (): void => {
    if (inWork > 0) return
    areMany ||= recent.length >= minSuspects && recent.length >= suspectShare * Math.min(compared, window)
    releaseWhere(() => true)
  }
  /** Deferred: the worker of the work that has ended takes its next item first. */
  const decideSoon = (): void => {
    if (inWork === 0 && waiters.size > 0) asapScheduler.schedule(decide)
  }
  const end = (): void => {
    inWork -= 1
    decideSoon()
  }
  return {
    track: (work$) =>
      defer(() => {
        inWork += 1
        return work$.pipe(finalize(end))
      }),
    countUsual: compare,
    countSuspect: () => {
      compare()
      recent = [...recent, compared]
      areMany ||= recent.length >= maxSuspects
      if (areMany) releaseWhere(() => true)
    },
    whenDecided: () =>
      defer(() => {
        if (areMany) return of(true)
        const waiting = new Subject<boolean>()
        waiters.set(waiting, compared)
        end()
        return waiting.pipe(
          finalize(() => {
            if (waiters.delete(waiting)) inWork += 1
          }),
        )
      }),
  }
}
