import { Observable, of } from 'rxjs'
import type { Item, Settled } from '../model/outcome.js'
import { mergePulled } from '../operators/merge-pulled.js'
import type { Slot } from '../operators/slot.js'
import { askedAgain } from './asked-once.js'
import type { Engine } from './engine.js'
import { itemWork } from './item-work.js'

/** Works on all items in this process, `workers` items of a stream at a time. */
export const embedded: Engine = {
  begin: (run) => {
    const again = { ...run, shared: askedAgain(run.shared) }
    return of({
      work: ({ stream, workers, earlier, inWork, hasRoom, isSecondPass }) => {
        const work = itemWork(stream, isSecondPass ? again : run)
        const settledOne = (item: Item, slot: Slot): Observable<Settled> => {
          const before = earlier(item)
          if (before !== undefined) return of(before)
          inWork.begin()
          return resting(work(item, slot), slot)
        }
        return mergePulled(settledOne, workers, { isFree: hasRoom, freed$: inWork.ended$ })
      },
      finish: () => of(undefined),
    })
  },
}

/** Work that sends no request when it begins waits for something else, so its worker takes another item meanwhile. */
const resting = <T>(work$: Observable<T>, { rest }: Slot): Observable<T> =>
  new Observable((subscriber) => {
    const subscription = work$.subscribe(subscriber)
    rest()
    return subscription
  })
