import type { Observable, Subscription } from 'rxjs'

interface Waiting<T> {
  readonly item: T
  readonly done: () => void
}

interface Asked<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void
  readonly reject: (error: unknown) => void
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
  const waiting: Waiting<T>[] = []
  const asked: Asked<T>[] = []
  let running: Subscription | undefined
  let current: Waiting<T> | undefined
  let end: { readonly error?: unknown } | undefined
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
  const receive = (item: T): Promise<void> =>
    new Promise((done) => {
      waiting.push({ item, done })
      settle()
    })
  const finish = (last: { readonly error?: unknown }): void => {
    end ??= last
    receivers.delete(receive)
    settle()
  }
  const leave = (): void => {
    end = {}
    running?.unsubscribe()
    for (const { done } of waiting.splice(0)) done()
    current?.done()
    finish(end)
  }
  const begin = (): void => {
    if (running ?? end) return
    receivers.add(receive)
    running = event$.subscribe({ error: (error) => finish({ error }), complete: () => finish({}) })
  }
  return {
    next: () => {
      begin()
      return new Promise((resolve, reject) => {
        asked.push({ resolve, reject })
        settle()
      })
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
