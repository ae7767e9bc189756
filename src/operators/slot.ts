import { Observable } from 'rxjs'

/** The worker of one item. It is the item's from the beginning on until all it asks for has arrived, and again when it asks further. */
export interface Slot {
  /** For one thing that the item asks for, however often it is tried. */
  readonly use: () => Use
  /** The item does something else for now: unless it is asking, its worker is free until it does. */
  readonly rest: () => void
  /** The item is done with. */
  readonly leave: () => void
}

export interface Use {
  /** Subscribes as soon as the item has a worker: at once, while it has one. */
  readonly hold: <T>(request$: Observable<T>) => Observable<T>
  /** What was asked for has arrived: if it was the last thing of the item, its worker is free. */
  readonly give: () => void
}

/** Those that an item's worker comes from and goes back to. */
export interface Crew {
  /** Waits for a worker; the teardown ends the waiting. */
  readonly wait: (begin: () => void) => () => void
  readonly free: () => void
}

/** The slot of an item that has just been given a worker. */
export const createSlot = (crew: Crew): Slot => {
  let isHeld = true
  let uses = 0
  const leave = (): void => {
    if (!isHeld) return
    isHeld = false
    crew.free()
  }
  const use = (): Use => {
    let isInUse = false
    return {
      hold: (request$) =>
        new Observable((subscriber) => {
          const begin = (): void => {
            if (!isInUse) uses += 1
            isInUse = true
            subscriber.add(request$.subscribe(subscriber))
          }
          if (isHeld) return begin()
          return crew.wait(() => {
            // Something else of this item may have waited too: it needs but one worker.
            if (isHeld) crew.free()
            isHeld = true
            begin()
          })
        }),
      give: () => {
        if (!isInUse) return
        isInUse = false
        uses -= 1
        if (uses === 0) leave()
      },
    }
  }
  const rest = (): void => {
    if (uses === 0) leave()
  }
  return { use, rest, leave }
}
