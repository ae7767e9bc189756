import type { Tail } from '../src/pipeline/storage.js'

/** The last line that is whole: one without its line end may be torn. `text` is the end of a file. */
export const lastLine = (text: string, asOf: number): Tail | undefined => {
  const line = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .at(-2)
  return line ? { line, asOf } : undefined
}
