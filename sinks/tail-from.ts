import type { Tail } from '../src/pipeline/storage.js'

const LINES = 2

/** Extracts header and last lines from the first and last bytes of a file. Ignores a last line without line feed: it may be torn. */
export const tailFrom = ({ head, end, asOf }: { readonly head: string; readonly end: string; readonly asOf: number }): Tail => {
  const [header = ''] = head.split('\n', 1)
  const whole = end.slice(0, end.lastIndexOf('\n') + 1).split('\n')
  return {
    header,
    lines: whole
      .slice(0, -1)
      .slice(-LINES)
      .filter((line) => line !== header),
    asOf,
  }
}
