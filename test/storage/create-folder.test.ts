import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom, throwError, timeout } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { createCollector } from '../../src/index.js'
import { createFolder } from '../../src/storage/file-system.js'
import { temporaryFolder } from '../support/folders.js'

describe('createFolder', () => {
  it('creates the folders above it, and accepts one that exists', async () => {
    const path = join(temporaryFolder(), 'a/b/c')
    await createFolder(path)
    await createFolder(path)
    expect(statSync(path).isDirectory()).toBe(true)
  })

  it('creates a folder that several callers want at once', async () => {
    const path = join(temporaryFolder(), 'a/b/c')
    await Promise.all(Array.from({ length: 20 }, () => createFolder(path)))
    expect(existsSync(path)).toBe(true)
  })

  it('rejects a path whose place a file has', async () => {
    const file = join(temporaryFolder(), 'file')
    writeFileSync(file, '')
    await expect(createFolder(file)).rejects.toMatchObject({ code: 'EEXIST' })
    await expect(createFolder(join(file, 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' })
  })

  const hasProc = existsSync('/proc/self')
  it.skipIf(!hasProc)('ends a run with an error where the system forbids folders (skipped without /proc)', async () => {
    const urls = Object.fromEntries(
      ['analytics', 'fundamental', 'static', 'news', 'ticks', 'archive', 'sheet', 'web'].map((host) => [host, 'http://127.0.0.1:9']),
    )
    const settings = { out: '/proc/no-such-folder/data', urls, sheetId: 's', asmTabId: '1', gsmTabId: '2' }
    const report$ = createCollector({ settings }).run()
    const limit = timeout({ each: 20_000, with: () => throwError(() => new Error('it does not end')) })
    await expect(lastValueFrom(report$.pipe(limit))).rejects.toThrow(/cannot be written: its folder does not exist or cannot be created/)
  })
})
