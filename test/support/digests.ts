import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { digestFile } from '../../src/storage/output-files.js'

/** Records files of a folder as a run does that has stored them. */
export const recordDigests = (root: string, files: readonly string[]): void => {
  mkdirSync(join(root, '.scripstream'), { recursive: true })
  const lines = files.map((file) => {
    const { digest, stamp } = digestFile(join(root, file))
    return `${digest} ${stamp.join(' ')} ${file}\n`
  })
  writeFileSync(join(root, '.scripstream', 'output-digests'), lines.join(''))
}
