import type { StreamDefinition } from '../pipeline/define-stream.js'
import { toFilePath } from '../pipeline/output.js'

/** The files of a stream for display: their names, or one pattern if there is a file per stock or index. */
export const listOutputFiles = ({ outputs, work }: Pick<StreamDefinition, 'outputs' | 'work'>, exchange = '{exch}'): readonly string[] => {
  const named = outputs.flatMap((output) =>
    work.of === undefined
      ? work.parts.map((part) => toFilePath(output, exchange, part))
      : [output.file.replaceAll('{exch}', exchange.toLowerCase())],
  )
  return [...new Set(named)]
}
