import { readFile } from 'node:fs/promises'
import { codeOf } from './file-error.js'

/** Reads a JSON document about the runs in a folder; `undefined` if it is missing or damaged. */
export const stateDocument = async (path: string): Promise<unknown> => {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError || codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
