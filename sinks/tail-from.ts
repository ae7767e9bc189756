import type { Tail } from '../src/pipeline/storage.js'

/** What a file begins and ends with. The last line is the last whole one: one without its line end may be torn. */
export const tailFrom = ({ head, end, asOf }: { readonly head: string; readonly end: string; readonly asOf: number }): Tail | undefined => {
  const [header = ''] = head.split('\n', 1)
  const line = end
    .slice(0, end.lastIndexOf('\n') + 1)
    .split('\n')
    .at(-2)
  return line ? { header, line, asOf } : undefined
}
