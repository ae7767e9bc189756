/** Time budget of one turn; a single task may exceed it. */
const MAX_SLICE_MS = 1

/**
 * Creates a queue that runs tasks in order, about 1 ms of them per turn of the event loop. Replies that arrive together would otherwise
 * block all sockets until the last one is decoded. A task never runs in the turn that queued it.
 */
export const createTimeSlicer = (): ((task: () => void) => void) => {
  const waiting: (() => void)[] = []
  let isScheduled = false
  const scheduleTurn = (): void => {
    if (!isScheduled && waiting.length > 0) setImmediate(turn)
    isScheduled = waiting.length > 0
  }
  const turn = (): void => {
    isScheduled = false
    const end = performance.now() + MAX_SLICE_MS
    do waiting.shift()?.()
    while (waiting.length > 0 && performance.now() < end)
    scheduleTurn()
  }
  return (task) => {
    waiting.push(task)
    scheduleTurn()
  }
}
