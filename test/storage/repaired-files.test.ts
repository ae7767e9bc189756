import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openDuckDb } from '../../src/storage/duckdb.js'
import { buildOwnPath, createFileRepair } from '../../src/storage/repaired-files.js'
import { temporaryFolder } from '../support/folders.js'
import { duckdb } from '../tables/support.js'

const MIB = 1 << 20
const BROKEN = '["a \\ud83d"]\n'

const folderWithFile = (text: string) => {
  const root = temporaryFolder()
  const path = join(root, 'market_news', 'A_news.json')
  mkdirSync(join(root, 'market_news'))
  writeFileSync(path, text)
  return { root, path }
}

describe('the files that a query reads', () => {
  it('are copies for files with broken texts only, with the same name', async () => {
    const { root, path } = folderWithFile(BROKEN)
    const sound = join(root, 'sound.json')
    writeFileSync(sound, '["\\ud83d\\ude00 \\\\ud83d \\n"]')
    const copy = join(root, '.scripstream/cache/repaired/market_news/A_news.json')
    expect(await createFileRepair(root)([path, sound])).toEqual([copy, sound])
    expect(readFileSync(copy, 'utf8')).toBe('["a \\ufffd"]\n')
    writeFileSync(path, BROKEN.replace('a', 'b'))
    expect(await createFileRepair(root)([path])).toEqual([copy])
    expect(readFileSync(copy, 'utf8')).toBe('["b \\ufffd"]\n')
  })

  it('are repaired wherever an escape is, also across the parts in which a large file is read', async () => {
    for (let before = MIB - 8; before <= MIB + 1; before += 1) {
      const { root, path } = folderWithFile(`"${'x'.repeat(before)}\\ud83d"`)
      expect(await createFileRepair(root)([path]), String(before)).not.toEqual([path])
    }
  })

  it('stay as they are if they cannot be read or copied', async () => {
    const { root, path } = folderWithFile(BROKEN)
    writeFileSync(join(root, '.scripstream'), 'not a folder')
    const missing = join(root, 'missing.json')
    expect(await createFileRepair(root)([path, missing])).toEqual([path, missing])
  })

  it.skipIf(!duckdb)('have the path of their own file, also as a copy', async () => {
    const { connection, close } = await openDuckDb()
    const paths = ['/out/market_news/A_news.json', '/out/.scripstream/cache/repaired/market_news/A_news.json']
    const from = paths.map((path) => `('${path}')`).join(', ')
    const reader = await connection.runAndReadAll(
      `SELECT ${buildOwnPath('/out')} FROM (VALUES ${from}) t(filename)`,
    )
    expect(reader.getRows().flat()).toEqual(['market_news/A_news.json', 'market_news/A_news.json'])
    close()
  })
})
