import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { writeFileAtomically } from '../../src/storage/atomic-file.js'
import { temporaryFolder } from '../support/folders.js'

it('leaves the target unchanged and no temporary file after an aborted write', async () => {
  const path = join(temporaryFolder(), 'deals.json')
  writeFileSync(path, 'earlier')
  const abort = new AbortController()
  const writing = writeFileAtomically(path, ['later'], { isAborted: () => abort.signal.aborted })
  abort.abort()
  await expect(writing).rejects.toThrow(/abort/i)
  expect(readFileSync(path, 'utf8')).toBe('earlier')
  expect(readdirSync(join(path, '..'))).toEqual(['deals.json'])
})

it('writes the file with the requested modification time', async () => {
  const path = join(temporaryFolder(), 'deals.json')
  expect(await writeFileAtomically(path, ['lat', 'er'], { asOf: 0, isAborted: () => false })).toBe(5)
  expect(statSync(path).mtimeMs).toBe(0)
})
