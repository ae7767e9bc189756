import type { Observable, Subscription } from 'rxjs'

interface Waiting<T> {
  readonly item: T
  readonly done: () => void
}

interface PendingNext<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void
  readonly reject: (error: unknown) => void
}

interface End {
  readonly error?: unknown
}

/** Items and who asks for them, in either order; an item is done once the one after it is asked for. */
const createItemQueue = <T>() => {
  const waiting: Waiting<T>[] = []
  const asked: PendingNext<T>[] = []
  let current: Waiting<T> | undefined
  let end: End | undefined
  const settle = (): void => {
    while (asked.length > 0) {
      current?.done()
      current = waiting.shift()
      if (current === undefined && end === undefined) return
      const next = asked.shift()
      if (current) next?.resolve({ done: false, value: current.item })
      else if (end && 'error' in end) {
        next?.reject(end.error)
        end = {}
      } else next?.resolve({ done: true, value: undefined })
    }
  }
  return {
    /** Fulfilled when the item is done. */
    add: (item: T): Promise<void> =>
      new Promise((done) => {
        waiting.push({ item, done })
        settle()
      }),
    next: (): Promise<IteratorResult<T, undefined>> =>
      new Promise((resolve, reject) => {
        asked.push({ resolve, reject })
        settle()
      }),
    /** What waits is still given. */
    end: (last: End): void => {
      end ??= last
      settle()
    },
    /** Everything is done, and nothing more is given. */
    clear: (): void => {
      end = {}
      for (const { done } of waiting.splice(0)) done()
      current?.done()
      settle()
    },
  }
}

/**
 * The items that `receivers` get while `event$` is subscribed to, as they are asked for; whoever sends one
 * waits until the next one is asked for. Not a generator: its `return()` would wait for the pending `next()`,
 * and a run that has been left would go on until its next item.
 */
export const iterate = <T>(
  event$: Observable<unknown>,
  receivers: Set<(item: T) => Promise<void>>,
): AsyncGenerator<T, undefined, undefined> & AsyncDisposable => {
  const items = createItemQueue<T>()
  let running: Subscription | undefined
  let isLeft = false
  const leave = (): void => {
    isLeft = true
    running?.unsubscribe()
    receivers.delete(items.add)
    items.clear()
  }
  const begin = (): void => {
    if (running || isLeft) return
    receivers.add(items.add)
    running = event$.subscribe({ error: (error) => items.end({ error }), complete: () => items.end({}) })
  }
  return {
    next: () => {
      begin()
      return items.next()
    },
    return: async () => {
      leave()
      return { done: true, value: undefined }
    },
    throw: async (error) => {
      leave()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
    [Symbol.asyncDispose]: async () => leave(),
  }
}
