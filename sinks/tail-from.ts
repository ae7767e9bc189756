import type { Tail } from '../src/pipeline/storage.js'

const LINES = 2

/** What a file begins and ends with, from its first and last bytes. A line without its end may be torn, so it does not count. */
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
