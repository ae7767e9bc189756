import { type Observable, of } from 'rxjs'
import type { Item, ItemOutcome } from '../model/outcome.js'
import { mergeMapPool, type WorkerSlot } from '../operators/merge-map-pool.js'
import { type Engine, MAX_BACKLOG } from './engine.js'
import { createItemWork } from './item-work.js'
import { oncePerSecondPass } from './once-per-run.js'

/** Works on all items in this process, `workers` items of a stream at a time. */
export const inProcess: Engine = {
  begin: (run) => {
    const again = { ...run, shared: oncePerSecondPass(run.shared) }
    return of({
      work: ({ stream, workers, findStored, activeItems, hasRoom, isSecondPass }) => {
        const work = createItemWork(stream, isSecondPass ? again : run)
        const settledOne = (item: Item, slot: WorkerSlot): Observable<ItemOutcome> => {
          const before = findStored(item)
          if (before !== undefined) return of(before)
          activeItems.begin()
          return work(item, slot)
        }
        return mergeMapPool(settledOne, workers, { isFree: hasRoom, freed$: activeItems.ended$, backlog: MAX_BACKLOG })
      },
      finish: () => of(undefined),
    })
  },
}
