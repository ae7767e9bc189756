import { asapScheduler, defer, finalize, type Observable, of, Subject } from 'rxjs'
import { thresholds } from '../market/never-worse.js'

/**
 * Tells the provider's error from single stocks whose history changed: how many of the series of a run have become multiples of the
 * stored ones. While that cannot be told, such series wait, without a worker and at most `many` of them.
 */
export interface RescaleWatch {
  /** Counts work as going on from subscription to end. */
  readonly working: <T>(work$: Observable<T>) => Observable<T>
  /** A stored series is what the provider still answers. */
  readonly agrees: () => void
  /** A stored series has become a multiple. */
  readonly disagrees: () => void
  /** Whether many have: emits once that can be told, at the latest when nothing but what waits here goes on. */
  readonly areMany: () => Observable<boolean>
}

export const createRescaleWatch = (): RescaleWatch => {
  const { window, many, few, share } = thresholds.rescale
  /** What waits, by how many series were compared when it began to. */
  const held = new Map<Subject<boolean>, number>()
  let recent: readonly number[] = []
  let [inWork, compared, areMany] = [0, 0, false]

  const releaseWhere = (isOver: (since: number) => boolean): void => {
    for (const [waiting, since] of [...held]) {
      if (!isOver(since) || !held.delete(waiting)) continue
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
    areMany ||= recent.length >= few && recent.length >= share * Math.min(compared, window)
    releaseWhere(() => true)
  }
  /** Not at once: the worker of what has ended takes the next item first. */
  const decideSoon = (): void => {
    if (inWork === 0 && held.size > 0) asapScheduler.schedule(decide)
  }
  const end = (): void => {
    inWork -= 1
    decideSoon()
  }
  return {
    working: (work$) =>
      defer(() => {
        inWork += 1
        return work$.pipe(finalize(end))
      }),
    agrees: compare,
    disagrees: () => {
      compare()
      recent = [...recent, compared]
      areMany ||= recent.length >= many
      if (areMany) releaseWhere(() => true)
    },
    areMany: () =>
      defer(() => {
        if (areMany) return of(true)
        const waiting = new Subject<boolean>()
        held.set(waiting, compared)
        end()
        return waiting.pipe(
          finalize(() => {
            if (held.delete(waiting)) inWork += 1
          }),
        )
      }),
  }
}
