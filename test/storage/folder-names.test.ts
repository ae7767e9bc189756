import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { openSession } from '../sinks/support.js'
import { filesIn, temporaryFolder } from '../support/folders.js'

/** Locks a folder for a run; returns the function that releases it. */
const openLocked = async (root: string) => {
  const storage = folder(root)
  const { release } = await openSession(storage, { folders: ['', 'news'] })
  return { storage, giveBack: release }
}

describe('a locked folder', () => {
  it('has the files from before the lock and those written since', async () => {
    const root = temporaryFolder()
    mkdirSync(join(root, 'news'))
    writeFileSync(join(root, 'news', 'a.json'), '[1]')
    const { storage, giveBack } = await openLocked(root)
    const { stored } = storage
    expect(await lastValueFrom(stored.document('news/a.json'))).toEqual([1])
    expect(await lastValueFrom(stored.exists('b.json'))).toBe(false)
    expect(await lastValueFrom(stored.tail('news/b.csv'))).toBeUndefined()
    await lastValueFrom(storage.storeDocument('report.json', { outcome: 'complete' }))
    expect(await lastValueFrom(stored.document('.scripstream/report.json'))).toEqual({ outcome: 'complete' })
    giveBack()
  })

  it('does not look up names that were missing: files that others write meanwhile are not read and are replaced', async () => {
    const root = temporaryFolder()
    const { storage, giveBack } = await openLocked(root)
    writeFileSync(join(root, 'a.json'), '[1]')
    expect(await lastValueFrom(storage.stored.document('a.json'))).toBeUndefined()
    giveBack()
    expect(await lastValueFrom(storage.stored.document('a.json'))).toEqual([1])
    rmSync(join(root, 'a.json'))
    expect(filesIn(root)).not.toHaveProperty('a.json')
  })
})
