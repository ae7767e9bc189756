/** What is done in one turn takes about so long at most, unless it is one thing that takes longer. */
const A_TURN_MS = 1

/**
 * Does one thing after the other, a little in each turn of the event loop: answers that came together would else keep all sockets
 * waiting until the last of them is read. Nothing is done in the turn that it is asked in.
 */
export const createTurns = (): ((act: () => void) => void) => {
  const waiting: (() => void)[] = []
  let isToCome = false
  const come = (): void => {
    if (!isToCome && waiting.length > 0) setImmediate(turn)
    isToCome = waiting.length > 0
  }
  const turn = (): void => {
    isToCome = false
    const end = performance.now() + A_TURN_MS
    do waiting.shift()?.()
    while (waiting.length > 0 && performance.now() < end)
    come()
  }
  return (act) => {
    waiting.push(act)
    come()
  }
}
