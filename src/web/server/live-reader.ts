import type { Writable } from 'node:stream'

/** One connection that reads the events of the run. */
export interface LiveReader {
  readonly send: (text: string) => void
}

/**
 * A connection that does not take what was sent gets nothing more until it has, and then the present state instead of all that it has missed:
 * a slow reader costs no memory.
 */
export const createLiveReader = (connection: Pick<Writable, 'write' | 'once'>, snapshot: () => string): LiveReader => {
  let isBehind = false
  let hasMissed = false
  const send = (text: string): void => {
    if (isBehind) {
      hasMissed = true
      return
    }
    if (connection.write(text)) return
    isBehind = true
    connection.once('drain', () => {
      isBehind = false
      if (!hasMissed) return
      hasMissed = false
      send(snapshot())
    })
  }
  return { send }
}
