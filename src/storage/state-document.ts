import { readFile } from 'node:fs/promises'
import { getErrorCode } from './file-error.js'

/** Reads a JSON document about the runs in a folder; `undefined` if it is missing or damaged. */
export const readStateDocument = async (path: string): Promise<unknown> => {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError || getErrorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
