import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { NEVER } from 'rxjs'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createMemoryDisk, type MemoryDiskOptions } from '../../src/simulation/memory-disk.js'
import { createRandom } from '../../src/simulator/random.js'
import { type Disk, disk as realDisk, replaceDisk } from '../../src/storage/disk.js'
import { appendLine, writeFileAtomically } from '../../src/storage/file-system.js'
import { acquireLock } from '../../src/storage/lock.js'
import { temporaryFolder } from '../support/folders.js'

const ROOT = '/data'

const createDisk = (options: Partial<MemoryDiskOptions> = {}) => {
  const random = createRandom(1, 'disk')
  const memory = createMemoryDisk({ random: () => random.next(), now: () => 1_770_000_000_000, ...options })
  memory.disk.mkdirSync(ROOT, { recursive: true })
  return memory
}

const codeOf = (error: unknown): string => (error as { readonly code?: string }).code ?? String(error)

const settle = async (act: () => unknown): Promise<unknown> => {
  try {
    return await act()
  } catch (error) {
    return codeOf(error)
  }
}

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

describe('a disk in memory', () => {
  const NAMES = ['a', 'b', 'sub', 'sub/a', 'sub/b', 'sub/deep', 'sub/deep/a', 'a/below']
  const FLAGS = ['r', 'r+', 'w+', 'a', 'a+', 'wx'] as const

  /** The same calls of both disks, with what can be compared of the results. */
  const createCalls = (random: () => number, pairs: [number, number][]) => {
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
    const [one, other, text] = [
      pick(NAMES),
      pick(NAMES),
      pick(['', 'x', 'some text', '0123456789'.repeat(9)]),
    ]
    const [flags, place, offset] = [
      pick(FLAGS),
      Math.floor(random() * 12),
      Math.floor(random() * text.length),
    ]
    const pair = pick(pairs) ?? [99_999, 99_999]
    const isReal = (disk: Disk): boolean => disk === realDisk
    const fdOf = (disk: Disk): number => pair[isReal(disk) ? 1 : 0]
    const facts = (found: { size: number; isFile: () => boolean; isDirectory: () => boolean } | undefined) =>
      found && [found.isFile() ? found.size : 'folder', found.isDirectory()]
    type Call = (disk: Disk, root: string) => unknown
    const read = async (disk: Disk, position?: number) => {
      const bytes = Buffer.alloc(7)
      const { bytesRead } = await (position === undefined
        ? disk.read(fdOf(disk), bytes)
        : disk.read(fdOf(disk), bytes, { position }))
      return [bytesRead, bytes.toString()]
    }
    const opened = async (disk: Disk, fd: number | Promise<number>) => {
      pairs[isReal(disk) ? pairs.length - 1 : pairs.length] = isReal(disk)
        ? [pairs.at(-1)?.[0] ?? 0, await fd]
        : [await fd, 0]
      return 'open'
    }
    const calls: Readonly<Record<string, Call>> = {
      open: async (disk, root) => opened(disk, await disk.open(join(root, one), flags)),
      openSync: (disk, root) => opened(disk, disk.openSync(join(root, one), flags)),
      read: (disk) => read(disk),
      readAt: (disk) => read(disk, place),
      readSync: (disk) => disk.readSync(fdOf(disk), Buffer.alloc(5), 1, 3, null),
      readFile: (disk, root) => disk.readFile(join(root, one), 'utf8'),
      readFileOpen: (disk) => disk.readFileSync(fdOf(disk), 'utf8'),
      writeFile: (disk, root) => disk.writeFile(join(root, one), text),
      writeNew: (disk, root) => disk.writeFile(join(root, one), text, { flag: 'wx' }),
      writeMore: (disk, root) => disk.writeFileSync(join(root, one), text, { flag: 'a' }),
      writeOpen: (disk) => disk.writeFile(fdOf(disk), text),
      writeSync: (disk) => disk.writeSync(fdOf(disk), Buffer.from(text), offset),
      writeText: (disk) => disk.writeSync(fdOf(disk), text),
      fdatasync: (disk) => disk.fdatasync(fdOf(disk)),
      fsync: (disk) => disk.fsync(fdOf(disk)),
      fstatSync: (disk) => facts(disk.fstatSync(fdOf(disk))),
      close: async (disk) => {
        await disk.close(fdOf(disk))
        if (isReal(disk)) pairs.splice(pairs.indexOf(pair), 1)
      },
      rename: (disk, root) => disk.rename(join(root, one), join(root, other)),
      renameSync: (disk, root) => disk.renameSync(join(root, one), join(root, other)),
      link: (disk, root) => disk.link(join(root, one), join(root, other)),
      copyFile: async (disk, root) =>
        disk.statSync(join(root, one), { throwIfNoEntry: false })?.isFile() &&
        disk.copyFile(join(root, one), join(root, other)),
      rm: (disk, root) => disk.rm(join(root, one)),
      rmForced: (disk, root) => disk.rm(join(root, one), { force: true }),
      rmTree: (disk, root) => disk.rm(join(root, one), { recursive: true, force: true }),
      rmSync: (disk, root) => disk.rmSync(join(root, one), { force: true }),
      unlinkSync: (disk, root) => disk.unlinkSync(join(root, one)),
      rmdirSync: (disk, root) => disk.rmdirSync(join(root, one)),
      mkdir: (disk, root) => disk.mkdir(join(root, one)),
      mkdirAll: async (disk, root) => void (await disk.mkdir(join(root, one), { recursive: true })),
      mkdirSync: (disk, root) => void disk.mkdirSync(join(root, 'sub/deep'), { recursive: true }),
      readdir: async (disk, root) => (await disk.readdir(join(root, one))).sort(),
      readdirAll: async (disk, root) => (await disk.readdir(root, { recursive: true })).sort(),
      entries: (disk, root) =>
        disk
          .readdirSync(root, { withFileTypes: true })
          .map((entry) => `${entry.name} ${entry.isFile()} ${entry.isDirectory()}`)
          .sort(),
      stat: async (disk, root) => facts(await disk.stat(join(root, one))),
      statSync: (disk, root) => facts(disk.statSync(join(root, one), { throwIfNoEntry: false })),
      existsSync: (disk, root) => disk.existsSync(join(root, one)),
      realpath: async (disk, root) => (await disk.realpath(join(root, one))).slice(root.length),
      utimes: async (disk, root) => {
        await disk.utimes(join(root, one), place, 1_000 + place)
        return (await disk.stat(join(root, one))).mtimeMs
      },
      utimesSync: (disk, root) => {
        disk.utimesSync(join(root, one), place, place)
        return disk.statSync(join(root, one)).mtimeMs
      },
      stream: async (disk, root) => {
        let all = ''
        for await (const chunk of disk.createReadStream(join(root, one), { highWaterMark: 16 }))
          all += String(chunk)
        return all
      },
    }
    const name = pick(Object.keys(calls))
    return {
      name: `${pair[1]} ${name} ${one} ${other} ${flags} ${JSON.stringify(text)} ${place}`,
      call: calls[name] as Call,
    }
  }

  it.each([1, 2, 3])(
    'gives the same results, contents and error codes as a local disk (seed %i)',
    async (seed) => {
      const random = createRandom(seed, 'calls')
      const [memory, root] = [createDisk(), temporaryFolder()]
      const pairs: [number, number][] = []
      const log: string[] = []
      let succeeded = 0
      for (let step = 0; step < 2_000; step += 1) {
        const { name, call } = createCalls(() => random.next(), pairs)
        log.push(name)
        const wanted = await settle(() => call(memory.disk, ROOT))
        const found = await settle(() => call(realDisk, root))
        if (!/^"E/.test(JSON.stringify(found) ?? '')) succeeded += 1
        if (JSON.stringify(wanted) !== JSON.stringify(found))
          expect({ log: log.slice(-20), value: wanted }).toEqual({ value: found })
      }
      for (const [, fd] of pairs) realDisk.closeSync(fd)
      expect([...memory.files('/').keys()].map((path) => path.slice(ROOT.length)).sort()).toEqual(
        readdirSync(root, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
          .sort(),
      )
      for (const [path, bytes] of memory.files('/'))
        expect(bytes.toString()).toBe(realDisk.readFileSync(join(root, path.slice(ROOT.length)), 'utf8'))
      expect(memory.openDescriptors()).toBe(pairs.length)
      expect(succeeded).toBeGreaterThan(600)
    },
  )

  it('gives the time by its clock, and copies and links as the disk does', async () => {
    let now = 1_000
    const { disk } = createDisk({ now: () => now })
    await disk.writeFile('/data/a', 'a')
    await disk.link('/data/a', '/data/b')
    now = 2_000
    await disk.writeFile('/data/b', 'b', { flag: 'a' })
    await disk.copyFile('/data/a', '/data/c')
    expect([disk.statSync('/data/a').mtimeMs, disk.readFileSync('/data/c', 'utf8')]).toEqual([2_000, 'ab'])
    const folder = await disk.mkdtemp('/data/work-')
    expect(folder).toMatch(/^\/data\/work-\w{6}$/)
    expect(disk.statSync(folder).isDirectory()).toBe(true)
  })
})

describe('calls of a disk in memory', () => {
  it('fail with the code of a fault', async () => {
    const { disk } = createDisk({
      fault: (call, path) =>
        path === '/data/a' && ['fdatasync', 'statSync'].includes(call) ? 'EIO' : undefined,
    })
    const fd = await disk.open('/data/a', 'wx')
    await disk.writeFile(fd, 'a')
    await expect(disk.fdatasync(fd)).rejects.toMatchObject({ code: 'EIO', path: '/data/a' })
    expect(() => disk.statSync('/data/a')).toThrow(/EIO/)
    expect(disk.existsSync('/data/a')).toBe(true)
  })

  it('write a part only at a short write', async () => {
    const { disk } = createDisk({ fault: (call) => (call.startsWith('write') ? 'short' : undefined) })
    const fd = disk.openSync('/data/a', 'w+')
    const bytes = Buffer.from('123456')
    expect(disk.writeSync(fd, bytes)).toBe(3)
    expect(disk.writeSync(fd, bytes, 3)).toBe(2)
    expect(disk.readFileSync('/data/a', 'utf8')).toBe('12345')
    await expect(disk.writeFile('/data/b', '123456')).rejects.toMatchObject({ code: 'ENOSPC' })
    expect(disk.readFileSync('/data/b', 'utf8')).toBe('123')
  })

  it('act at the end of their time', async () => {
    vi.useFakeTimers()
    const { disk, files } = createDisk({ latencyMs: (call) => (call === 'writeFile' ? 30 : 0) })
    const writing = disk.writeFile('/data/a', 'a')
    await vi.advanceTimersByTimeAsync(29)
    expect(files('/').size).toBe(0)
    await vi.advanceTimersByTimeAsync(1)
    expect(files('/').size).toBe(1)
    await writing
  })
})

/**
 * Does something on new disks that then lose power. The distinct contents of a file that were found
 * afterwards, sorted; `-` if it is missing.
 */
const collectOutcomes = async (
  act: (disk: Disk) => unknown,
  show: (disk: Disk) => string,
): Promise<readonly string[]> => {
  const outcomes = new Set<string>()
  for (let seed = 0; seed < 200; seed += 1) {
    const random = createRandom(seed, 'power')
    const memory = createMemoryDisk({ random: () => random.next(), now: () => 5_000 })
    memory.disk.mkdirSync(ROOT, { recursive: true })
    await syncFolder(memory.disk, '/')
    await act(memory.disk)
    memory.kill('power')
    outcomes.add(show(memory.disk))
  }
  return [...outcomes].sort()
}

const syncFolder = async (disk: Disk, path: string): Promise<void> => {
  const fd = await disk.open(path, 'r')
  await disk.fsync(fd)
  await disk.close(fd)
}

const writeSynced = async (disk: Disk, path: string, text: string): Promise<void> => {
  const fd = await disk.open(path, 'w+')
  await disk.writeFile(fd, text)
  await disk.fdatasync(fd)
  await disk.close(fd)
}

const show =
  (...names: readonly string[]) =>
  (disk: Disk): string =>
    names
      .map((name) => (disk.existsSync(join(ROOT, name)) ? disk.readFileSync(join(ROOT, name), 'utf8') : '-'))
      .join(' ')

describe('a power cut', () => {
  it('leaves what is synced, file and name', async () => {
    const act = async (disk: Disk) => {
      await writeSynced(disk, '/data/a', 'new')
      await syncFolder(disk, ROOT)
    }
    expect(await collectOutcomes(act, show('a'))).toEqual(['new'])
  })

  it('may lose the name of a synced file in a folder that is not synced', async () => {
    expect(await collectOutcomes((disk) => writeSynced(disk, '/data/a', 'new'), show('a'))).toEqual([
      '-',
      'new',
    ])
  })

  it('leaves of an unsynced file what was synced, a part of it, all of it, or zeros', async () => {
    const act = async (disk: Disk) => {
      await writeSynced(disk, '/data/a', 'ab')
      await syncFolder(disk, ROOT)
      await disk.writeFile('/data/a', 'cd', { flag: 'a' })
    }
    expect(await collectOutcomes(act, show('a'))).toEqual(['ab', 'ab\0\0', 'abc', 'abcd'])
    const replace = async (disk: Disk) => {
      await writeSynced(disk, '/data/a', 'ab')
      await syncFolder(disk, ROOT)
      await disk.writeFile('/data/a', 'cd')
    }
    expect(await collectOutcomes(replace, show('a'))).toEqual(['', '\0\0', 'ab', 'c', 'cd'])
    const change = async (disk: Disk) => {
      await writeSynced(disk, '/data/a', 'ab')
      await syncFolder(disk, ROOT)
      disk.writeSync(disk.openSync('/data/a', 'r+'), 'X')
    }
    expect(await collectOutcomes(change, show('a'))).toEqual(['', '\0\0', 'X', 'Xb', 'ab'])
  })

  it('leaves the old or the new file after a rename of a synced one, and both names change together', async () => {
    const act = async (disk: Disk) => {
      await writeSynced(disk, '/data/a', 'old')
      await writeSynced(disk, '/data/b', 'new')
      await syncFolder(disk, ROOT)
      await disk.rename('/data/b', '/data/a')
    }
    expect(await collectOutcomes(act, show('a', 'b'))).toEqual(['new -', 'old new'])
  })

  it('keeps or loses each change of a name alone, in any order', async () => {
    const act = async (disk: Disk) => {
      await writeSynced(disk, '/data/a', '1')
      await writeSynced(disk, '/data/b', '2')
      await syncFolder(disk, ROOT)
      await disk.rename('/data/a', '/data/c')
      await disk.rm('/data/b')
    }
    expect(await collectOutcomes(act, show('a', 'b', 'c'))).toEqual(['- - 1', '- 2 1', '1 - -', '1 2 -'])
  })

  it('never undoes a synced change by an older one of another folder', async () => {
    const act = async (disk: Disk) => {
      disk.mkdirSync('/data/sub', { recursive: true })
      await syncFolder(disk, ROOT)
      await writeSynced(disk, '/data/a', '1')
      await disk.rename('/data/a', '/data/sub/a')
      await syncFolder(disk, '/data/sub')
    }
    expect(await collectOutcomes(act, show('a', 'sub/a'))).toEqual(['- 1'])
  })

  it('leaves what another power cut cannot take', async () => {
    const random = createRandom(1, 'twice')
    const memory = createMemoryDisk({ random: () => random.next(), now: () => 5_000 })
    memory.disk.mkdirSync(ROOT, { recursive: true })
    for (const name of 'abcdefgh') memory.disk.writeFileSync(join(ROOT, name), name)
    memory.kill('power')
    const left = [...memory.files('/')].map(([path, bytes]) => `${path} ${bytes}`)
    memory.kill('power')
    expect([...memory.files('/')].map(([path, bytes]) => `${path} ${bytes}`)).toEqual(left)
  })
})

describe('the kill of a process', () => {
  it('leaves all that is written, closes its descriptors, and ends its calls', async () => {
    const memory = createDisk()
    const { disk } = memory
    const fd = disk.openSync('/data/a', 'w+')
    disk.writeSync(fd, 'ab')
    const settled = vi.fn()
    disk.writeFile('/data/b', 'b').then(settled, settled)
    memory.kill('process')
    disk.rm('/data/a').then(settled, settled)
    expect(() => disk.unlinkSync('/data/a')).toThrow('killed')
    await new Promise((resolve) => setTimeout(resolve, 0))
    expect(settled).not.toHaveBeenCalled()
    expect(memory.openDescriptors()).toBe(0)
    expect([...memory.files('/')].map(([path, bytes]) => `${path} ${bytes}`)).toEqual(['data/a ab'])
    expect(() => memory.disk.closeSync(fd)).toThrow(/EBADF/)
  })

  it('ends the call at which a fault kills it', async () => {
    const memory = createDisk({
      fault: (_, path) => {
        if (path === '/data/a') memory.kill('process')
        return undefined
      },
    })
    const [{ disk }, settled] = [memory, vi.fn()]
    disk.writeFile('/data/a', 'a').then(settled, settled)
    await new Promise((resolve) => setTimeout(resolve, 0))
    expect(settled).not.toHaveBeenCalled()
    expect(() => memory.disk.writeFileSync('/data/a', 'a')).toThrow('killed')
    expect(memory.files('/').size).toBe(0)
  })

  it('frees its lock for the next process, although that has the same number', async () => {
    const memory = createDisk()
    const restores = [replaceDisk(memory.disk)]
    onTestFinished(() => restores.forEach((restore) => void restore()))
    await acquireLock('/data/lock', 0, { heartbeat$: NEVER })
    await expect(acquireLock('/data/lock', 0)).rejects.toThrow('another run is using this folder')
    memory.kill('process')
    restores.push(replaceDisk(memory.disk))
    const release = await acquireLock('/data/lock', 0, { heartbeat$: NEVER })
    release()
    expect(memory.files('/').size).toBe(0)
  })
})

describe('the files of the product on a disk that loses power', () => {
  afterEach(() => replaceDisk({})())

  it('are the old or the new one after an atomic write', async () => {
    const act = async (disk: Disk) => {
      replaceDisk(disk)
      await writeFileAtomically('/data/a', ['old'])
      await syncFolder(disk, ROOT)
      await writeFileAtomically('/data/a', ['new text'])
    }
    expect(await collectOutcomes(act, show('a'))).toEqual(['new text', 'old'])
  })

  it('have each appended line once it is synced', async () => {
    const act = async (disk: Disk) => {
      replaceDisk(disk)
      await appendLine('/data/a', 'one')
      await syncFolder(disk, ROOT)
      await appendLine('/data/a', 'two')
    }
    expect(await collectOutcomes(act, show('a'))).toEqual(['one\ntwo\n'])
  })
})
