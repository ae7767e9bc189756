import type { Tail } from '../pipeline/storage.js'

const MAX_LINES = 2

/** Extracts header and last lines from the first and last bytes of a file. Ignores a last line without line feed: it may be torn. */
export const createTail = ({ head, end, asOf }: { readonly head: string; readonly end: string; readonly asOf: number }): Tail => {
  const [header = ''] = head.split('\n', 1)
  const whole = end.slice(0, end.lastIndexOf('\n') + 1).split('\n')
  return {
    header,
    lines: whole
      .slice(0, -1)
      .slice(-MAX_LINES)
      .filter((line) => line !== header),
    asOf,
  }
}
