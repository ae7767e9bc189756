import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createCollector } from '../../src/index.js'
import { disk } from '../../src/storage/disk.js'
import {
  createFolder,
  isRemoteFolder,
  renameOver,
  writeFileAtomically,
} from '../../src/storage/file-system.js'
import { filesIn, temporaryFolder } from '../support/folders.js'

/**
 * Two files, and renames that fail with a code this many times. Pauses take no time; their lengths are
 * recorded.
 */
const prepare = (code: string, failures: number) => {
  onTestFinished(() => {
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })
  const root = temporaryFolder()
  const [from, to] = [join(root, 'a.tmp'), join(root, 'a.json')]
  writeFileSync(from, 'new')
  writeFileSync(to, 'old')
  const { renameSync } = disk
  let left = failures
  const renames = vi.spyOn(disk, 'renameSync').mockImplementation((...paths) => {
    left -= 1
    if (left < 0) renameSync(...paths)
    else throw Object.assign(new Error(`it failed: ${code}`), { code })
  })
  const pauses: unknown[] = []
  vi.stubGlobal('setTimeout', (done: () => void, ms: number) => {
    pauses.push(ms)
    done()
  })
  return { root, from, to, renames, pauses }
}

describe('a rename over a file that another program has open', () => {
  it.each(['EPERM', 'EACCES', 'EBUSY'])(
    'is tried again on Windows, with growing pauses (%s)',
    async (code) => {
      const { from, to, pauses } = prepare(code, 3)
      await renameOver(from, to, 'win32')
      expect(readFileSync(to, 'utf8')).toBe('new')
      expect(pauses).toEqual([20, 40, 80])
    },
  )

  it('fails on Windows after 2.5 s, and the old file stays', async () => {
    const { root, from, to, renames, pauses } = prepare('EPERM', Number.POSITIVE_INFINITY)
    await expect(renameOver(from, to, 'win32')).rejects.toThrow('EPERM')
    expect(renames).toHaveBeenCalledTimes(8)
    expect(pauses.reduce<number>((sum, ms) => sum + Number(ms), 0)).toBe(2_540)
    expect(filesIn(root)).toEqual({ 'a.tmp': 'new', 'a.json': 'old' })
  })

  it.each([
    ['EPERM', 'linux'],
    ['EBUSY', 'darwin'],
    ['ENOSPC', 'win32'],
  ] as const)('fails at once where that is no passing state: %s on %s', async (code, platform) => {
    const { from, to, renames } = prepare(code, 1)
    await expect(renameOver(from, to, platform)).rejects.toThrow(code)
    expect(renames).toHaveBeenCalledTimes(1)
  })
})

describe('a file on a network file system', () => {
  it('is written without a call that the main thread waits for', async () => {
    onTestFinished(() => void vi.restoreAllMocks())
    const root = temporaryFolder()
    const path = join(root, 'a.json')
    writeFileSync(path, 'old')
    const calls = (['openSync', 'renameSync'] as const).map((name) => vi.spyOn(disk, name))
    await writeFileAtomically(path, ['new'], { isRemote: true })
    // What an earlier test in this process has left may write elsewhere.
    expect(
      calls
        .flatMap((call) => call.mock.calls.map(([file]) => file))
        .filter((file) => String(file).startsWith(root)),
    ).toEqual([])
    expect(readFileSync(path, 'utf8')).toBe('new')
  })

  it.each([
    [0x6969, true],
    [0xef53, false],
  ])('is recognised by its kind (%i)', (type, isRemote) => {
    onTestFinished(() => void vi.restoreAllMocks())
    vi.spyOn(disk, 'statfsSync').mockReturnValue({ type })
    expect(isRemoteFolder('/data')).toBe(isRemote)
  })
})

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
  it.skipIf(!hasProc)(
    'ends a run with an error where the system forbids folders (skipped without /proc)',
    async () => {
      const urls = Object.fromEntries(
        ['analytics', 'fundamental', 'static', 'news', 'ticks', 'archive', 'sheet', 'web'].map((host) => [
          host,
          'http://127.0.0.1:9',
        ]),
      )
      const settings = {
        out: '/proc/no-such-folder/data',
        urls,
        options: { 'surveillance-lists': { sheetId: 's', asmTabId: '1', gsmTabId: '2' } },
      }
      const report$ = createCollector({ settings }).run()
      await expect(lastValueFrom(report$)).rejects.toThrow(
        /cannot be written: its folder does not exist or cannot be created/,
      )
    },
  )
})
