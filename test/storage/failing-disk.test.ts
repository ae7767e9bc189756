import { closeSync, existsSync, fstatSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { StorageError } from '../../src/model/errors.js'
import { disk } from '../../src/storage/disk.js'
import { toStorageError, writeFileAtomically } from '../../src/storage/file-system.js'
import { createJournalFile } from '../../src/storage/journal.js'
import { openSession } from '../sinks/support.js'
import { filesIn, temporaryFolder } from '../support/folders.js'
import { until } from '../support/until.js'

/** Replaces a call of the disk until the test ends. */
const spyOn = <Name extends 'writeSync' | 'fdatasync' | 'fsync'>(name: Name) => {
  onTestFinished(() => void vi.restoreAllMocks())
  return vi.spyOn(disk, name)
}

/** A disk that is always full. */
const FULL = '/dev/full'

const failure = (code: string): Error => Object.assign(new Error(`it failed: ${code}`), { code })

describe('a failing disk', () => {
  it('leaves the old file after a short write and reports the written bytes', async () => {
    const root = temporaryFolder()
    writeFileSync(join(root, 'a.json'), 'old')
    const { writeSync } = disk
    spyOn('writeSync').mockImplementation((fd, data) => {
      writeSync(fd, (data as unknown as Buffer).subarray(0, data.length / 2))
      return data.length
    })
    await expect(lastValueFrom(folder(root).storeDocument('a.json', {}))).rejects.toThrow(
      /only 1 of 3 bytes were written/,
    )
    await expect(writeFileAtomically(join(root, 'a.json'), ['1234'])).rejects.toThrow(
      'only 2 of 4 bytes were written',
    )
    expect(filesIn(root)).toEqual({ 'a.json': 'old' })
  })

  it.each([
    ['EIO', 'the disk reports an error'],
    ['ENOSPC', 'the disk is full'],
  ])('leaves the old file after a failed sync (%s) and names file and cause', async (code, cause) => {
    const root = temporaryFolder()
    const storage = folder(root)
    await lastValueFrom(storage.storeDocument('a.json', { of: 'old' }))
    const before = filesIn(root)
    const sync = spyOn('fdatasync').mockRejectedValue(failure(code))
    const writing = lastValueFrom(storage.storeDocument('a.json', { of: 'new' }))
    await expect(writing).rejects.toThrow(StorageError)
    await expect(writing).rejects.toThrow(
      `${join(root, '.scripstream', 'a.json')} cannot be written: ${cause}`,
    )
    expect(sync).toHaveBeenCalledTimes(1)
    expect(filesIn(root)).toEqual(before)
  })

  it('syncs the new file before the rename, so that a power cut leaves the old or the new file', async () => {
    const root = temporaryFolder()
    const path = join(root, 'a.json')
    writeFileSync(path, 'old')
    const seen: string[] = []
    const { fdatasync } = disk
    spyOn('fdatasync').mockImplementation((fd) => {
      seen.push(
        readFileSync(path, 'utf8'),
        ...readdirSync(root).map((name) => readFileSync(join(root, name), 'utf8')),
      )
      return fdatasync(fd)
    })
    await writeFileAtomically(path, ['new'])
    expect(seen[0]).toBe('old')
    expect(seen.slice(1).sort()).toEqual(['new', 'old'])
    expect(filesIn(root)).toEqual({ 'a.json': 'new' })
  })
})

it('goes on with other work while a slow disk syncs', async () => {
  const root = temporaryFolder()
  const syncs: (() => void)[] = []
  spyOn('fdatasync').mockImplementation(() => new Promise<void>((done) => void syncs.push(done)))
  const writing = ['a', 'b'].map((name) => writeFileAtomically(join(root, name), [name]))
  await until('two syncs', () => syncs.length === 2)
  expect(existsSync(join(root, 'a'))).toBe(false)
  syncs[1]?.()
  expect(await writing[1]).toBe(1)
  expect([existsSync(join(root, 'a')), existsSync(join(root, 'b'))]).toEqual([false, true])
  syncs[0]?.()
  expect(await writing[0]).toBe(1)
})

describe('a failure of the file system', () => {
  it.each([
    ['ENOSPC', /the disk is full/],
    ['EDQUOT', /quota/],
    ['EACCES', /permission denied/],
    ['EPERM', /permission denied/],
    ['EROFS', /read-only/],
    ['EISDIR', /a directory has that name/],
    ['ENOTDIR', /a file has the name of its folder/],
    ['EMFILE', /too many open files \(ulimit -n\)/],
    ['ENFILE', /too many open files/],
    ['ENAMETOOLONG', /name is too long/],
    ['EIO', /the disk reports an error/],
    ['EOTHER', /it failed: EOTHER/],
  ])('turns %s into a StorageError that names file and cause', (code, cause) => {
    const error = toStorageError(failure(code), 'written', '/data/a.json') as StorageError
    expect(error).toBeInstanceOf(StorageError)
    expect(error.verdict).toBe('stop')
    expect(error.message).toMatch(/^\/data\/a\.json cannot be written: /)
    expect(error.message).toMatch(cause)
  })

  it('leaves a bug as it is', () => {
    const bug = new TypeError('x is not a function')
    expect(toStorageError(bug, 'written', '/data/a.json')).toBe(bug)
  })

  it.skipIf(!existsSync(FULL))(
    'ends the run if the journal does not fit on the disk (needs /dev/full)',
    () => {
      const lines = createJournalFile(FULL)
      const done = vi.fn()
      lines.append({ item: 'A' }, undefined, done)
      lines.flush()
      expect(done.mock.calls).toEqual([[expect.any(StorageError)]])
      expect(String(done.mock.calls[0]?.[0])).toContain(`${FULL} cannot be written: the disk is full`)
      lines.close()
    },
  )

  it('ignores lines of a closed journal', () => {
    const path = join(temporaryFolder(), 'news.ndjson')
    const lines = createJournalFile(path)
    lines.append({ item: 'A' }, undefined, () => expect.fail('it was written'))
    lines.close()
    lines.close()
    const other = openSync(join(temporaryFolder(), 'other'), 'w')
    lines.flush()
    expect([readFileSync(path, 'utf8'), fstatSync(other).size]).toEqual(['', 0])
    closeSync(other)
  })

  it.each([
    ['EIO', false],
    ['EINVAL', true],
  ])('answers the sync of its folders with %s lets a run be complete: %s', async (code, isComplete) => {
    const root = temporaryFolder()
    const { session, release } = await openSession(folder(root))
    if (session.commit) await lastValueFrom(session.commit())
    spyOn('fsync').mockRejectedValue(failure(code))
    const finishing = lastValueFrom(session.finish())
    if (isComplete) await finishing
    else await expect(finishing).rejects.toThrow('the disk reports an error')
    expect(readdirSync(join(root, '.scripstream')).includes('run.json')).toBe(!isComplete)
    release()
  })
})
