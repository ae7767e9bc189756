import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { checkFileSizes, readRecordedFiles } from '../../../src/analysis/verify/output-files.js'
import { compactOutputDigests, createDigestLog } from '../../../src/storage/output-files.js'
import { temporaryFolder } from '../../support/folders.js'
import { tiny } from '../../support/tiny.js'

it('names no file as missing that a kill has kept from being written', async () => {
  const root = temporaryFolder()
  mkdirSync(join(root, '.scripstream'))
  await compactOutputDigests(root, {})
  const log = createDigestLog(root)
  await log.open()
  const file = log.watch('market_news/TCS_news.json')
  file?.add(Buffer.from('abc'))
  // The line of the file is written before the file gets its name.
  file?.end([3, 1_700_000_000_000])
  log.close()
  const stream = { stream: tiny('market-news'), files: [], isPerItem: true, owns: () => true }
  expect(checkFileSizes(stream, await readRecordedFiles(root))).toEqual([])
})
