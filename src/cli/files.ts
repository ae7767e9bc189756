import type { StreamDefinition } from '../pipeline/define-stream.js'
import { fileOf } from '../pipeline/output.js'

/** The files of a stream as people read of them: each by its name, or one pattern where there is a file for every stock or index. */
export const filesOf = ({ outputs, work }: Pick<StreamDefinition, 'outputs' | 'work'>, exchange = '{exch}'): readonly string[] => {
  const named = outputs.flatMap((output) =>
    work.of === undefined
      ? work.parts.map((part) => fileOf(output, exchange, part))
      : [output.file.replaceAll('{exch}', exchange.toLowerCase())],
  )
  return [...new Set(named)]
}
