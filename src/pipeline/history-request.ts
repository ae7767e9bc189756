import type { HistoryRequest, RecordedDocuments, RecordedFile } from '../model/history.js'
import type { Settings } from '../model/settings.js'
import type { StreamDefinition } from './define-stream.js'
import { type Output, toFilePath } from './output.js'
import type { PlannedStream } from './plan.js'

/** What the history keeps of the streams that run. */
export const createHistoryRequest = (plan: readonly PlannedStream[], { exchange }: Pick<Settings, 'exchange'>): HistoryRequest => {
  const outputs = plan
    .filter(({ state }) => state === 'waiting')
    .flatMap(({ stream }) => stream.outputs.map((output) => ({ stream, output })))
  return {
    files: outputs.flatMap(({ stream, output }) => listRecordedFiles(stream, output, exchange)),
    documents: outputs.flatMap(({ stream, output }) => listRecordedDocuments(stream, output, exchange)),
  }
}

/** The files of an output that the history keeps: all but candles, and files of single stocks or indices. */
export const listRecordedFiles = ({ name, work }: StreamDefinition, output: Output, exchange: string): readonly RecordedFile[] => {
  const isOneFile = output.shape === 'rows-in-one-file'
  if (output.shape === 'candles-per-item' || (work.of !== undefined && !isOneFile)) return []
  const parts = isOneFile || work.parts.length === 0 ? [{ fileName: '' }] : work.parts
  const files = new Set(parts.map((part) => toFilePath(output, exchange, part)))
  return [...files].map((file) => ({ stream: name, file, isPerItem: work.of !== undefined }))
}

const listRecordedDocuments = ({ work }: StreamDefinition, output: Output, exchange: string): readonly RecordedDocuments[] => {
  if (output.shape !== 'document-per-item' || work.of === undefined) return []
  const pattern = toFilePath(output, exchange, { fileName: '*' })
  return (output.tables ?? []).flatMap(({ lists, identity }) =>
    lists === undefined || identity === undefined ? [] : [{ pattern, lists, identity }],
  )
}
