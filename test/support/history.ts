import { extname } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Entry } from '../../src/storage/history/day-file.js'
import { createHistoryReader } from '../../src/storage/history/history-reader.js'
import { temporaryFolder } from './folders.js'

/** The content of a recorded file: its JSON, or its lines. */
export const readEntryRows = async (root: string, file: string, entry: Entry): Promise<unknown> => {
  const reader = createHistoryReader(root, temporaryFolder())
  try {
    const content = await text(reader.read(entry))
    return extname(file) === '.json' ? JSON.parse(content) : content.split('\n')
  } finally {
    await reader.close()
  }
}
