import { dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import type { Disk, FileStats, FolderEntry } from '../storage/disk.js'
import { type FileNode, type FolderNode, fail, type Node, Volume } from './volume.js'

export interface MemoryDiskOptions {
  /** Numbers from 0 to 1: what survives a power cut, and the names of temporary folders. */
  readonly random: () => number
  /** The clock of the file times, epoch milliseconds. */
  readonly now: () => number
  /** How long a call that returns a promise takes. It acts at the end of that time. */
  readonly latencyMs?: (call: string) => number
  /** The error code with which a call fails; `short`: a write stops half-way, `writeFile` with ENOSPC. */
  readonly fault?: (call: string, path: string) => string | undefined
}

export type MemoryDisk = ReturnType<typeof createMemoryDisk>

interface Descriptor {
  readonly path: string
  readonly node: Node
  readonly flags: string
  at: number
}

type Calls = Readonly<Record<string, (...args: never[]) => unknown>>

/**
 * A disk in memory that behaves like a local one on Linux. It can fail, be slow, and lose what is not synced.
 * It has no symbolic links and no permissions. Promises settle by the global `setTimeout`.
 *
 * @example
 * const memory = createMemoryDisk({ random: Math.random, now: Date.now })
 * const restore = replaceDisk(memory.disk)
 */
export const createMemoryDisk = (options: MemoryDiskOptions) => {
  const { random, now, latencyMs = () => 0, fault = () => undefined } = options
  const volume = new Volume(now)
  let generation = 0
  let descriptors = createDescriptors(volume)
  const createDisk = (): Disk => {
    const [mine, { open, calls: withDescriptor }] = [generation, descriptors]
    const isKilled = () => mine !== generation
    const calls: Calls = {
      ...withDescriptor,
      ...createContentCalls(descriptors, mine),
      ...createPathCalls(volume),
      ...createFolderCalls(volume, random),
    }
    /** One of the calls, unless the process was killed or the call is to fail. */
    const run = (name: string, call: string, args: readonly unknown[]) => {
      // A file that is closed twice would be an error in a clean-up, which nobody catches.
      if (isKilled() && name === 'closeSync') return
      const act = calls[call] as (...values: readonly unknown[]) => unknown
      const path = typeof args[0] === 'number' ? (open.get(args[0])?.path ?? '') : String(args[0])
      const code = isKilled() ? undefined : fault(name, path)
      // A fault may kill the process.
      if (isKilled()) throw new Error(`${name}: the process was killed`)
      if (code === undefined) return act(...args)
      if (code !== 'short') throw fail(code, name, path)
      const written = act(args[0], halve(args[1] as string | Uint8Array, args[2]), ...args.slice(2))
      if (call === 'writeFileSync') throw fail('ENOSPC', name, path)
      return written
    }
    const runLater = (name: string, args: readonly unknown[]) =>
      actLater(() => run(name, `${name}Sync`, args), isKilled() ? 0 : latencyMs(name), isKilled)
    const sizeOf = (fd: number) => open.get(fd)?.node.bytes?.length ?? 0
    return assembleDisk(Object.keys(calls), { run: (name, args) => run(name, name, args), runLater, sizeOf })
  }
  let disk = createDisk()
  return {
    /**
     * The disk as the present process sees it. A kill ends it: replace the process's disk with the next one.
     */
    get disk() {
      return disk
    },
    /**
     * Ends the process: its promises never settle, its other calls throw. Files stay as written; a power cut
     * takes what is not synced.
     */
    kill: (kind: 'process' | 'power') => {
      generation += 1
      descriptors = createDescriptors(volume)
      if (kind === 'power') volume.losePower(random)
      disk = createDisk()
    },
    /** Writes everything that is not synced, as the system does by itself within half a minute. */
    settle: () => volume.syncAll(),
    files: (path: string): ReadonlyMap<string, Buffer> => volume.listFiles(path),
    openDescriptors: () => descriptors.open.size,
  }
}

/** Acts after some time, unless the process is killed: then the promise never settles. */
const actLater = (act: () => unknown, ms: number, isKilled: () => boolean): Promise<unknown> =>
  new Promise((settle, reject) => {
    const end = () => {
      if (isKilled()) return
      try {
        settle(act())
      } catch (error) {
        if (!isKilled()) reject(error)
      }
    }
    if (ms > 0) setTimeout(end, ms)
    else queueMicrotask(end)
  })

interface RunCalls {
  readonly run: (name: string, args: readonly unknown[]) => unknown
  readonly runLater: (name: string, args: readonly unknown[]) => Promise<unknown>
  readonly sizeOf: (fd: number) => number
}

/** Each call as it is, and without `Sync` as a promise. */
const assembleDisk = (names: readonly string[], { run, runLater, sizeOf }: RunCalls): Disk => {
  const calls = names.flatMap((name) => [
    [name, (...args: unknown[]) => run(name, args)],
    [name.slice(0, -4), (...args: unknown[]) => runLater(name.slice(0, -4), args)],
  ])
  const disk = Object.fromEntries(calls) as Disk
  const read: Disk['read'] = async (fd, bytes, { position } = { position: -1 }) => ({
    bytesRead: (await runLater('read', [
      fd,
      bytes,
      0,
      bytes.length,
      position < 0 ? null : position,
    ])) as number,
  })
  return Object.assign(disk, { read, createReadStream: createStreams(disk, sizeOf) })
}

const halve = (content: string | Uint8Array, offset: unknown): Buffer => {
  const bytes = Buffer.from(content)
  const from = typeof offset === 'number' ? offset : 0
  return bytes.subarray(0, from + Math.ceil((bytes.length - from) / 2))
}

const createStreams =
  (disk: Disk, sizeOf: RunCalls['sizeOf']): Disk['createReadStream'] =>
  (path, { highWaterMark } = { highWaterMark: 1 << 16 }) => {
    async function* readChunks() {
      const fd = await disk.open(path, 'r')
      try {
        for (;;) {
          const bytes = Buffer.alloc(Math.max(1, Math.min(highWaterMark, sizeOf(fd))))
          const { bytesRead } = await disk.read(fd, bytes)
          if (bytesRead === 0) return
          yield bytes.subarray(0, bytesRead)
        }
      } finally {
        await disk.close(fd)
      }
    }
    return Readable.from(readChunks(), { objectMode: false })
  }

/** Above the descriptors of the real process, and like those: a closed number is used again. */
const FIRST_DESCRIPTOR = 1_000

const WRITE_ONLY = ['a', 'w', 'wx']

type Descriptors = ReturnType<typeof createDescriptors>

/** The descriptors of a process, and the calls with them. */
const createDescriptors = (volume: Volume) => {
  const open = new Map<number, Descriptor>()
  const find = (fd: number, call: string, forbidden: readonly string[] = []) => {
    const found = open.get(fd)
    if (found === undefined || forbidden.includes(found.flags)) throw fail('EBADF', call)
    return found
  }
  const openSync = (path: string, flags: string) => {
    let fd = FIRST_DESCRIPTOR
    while (open.has(fd)) fd += 1
    open.set(fd, { path, node: volume.open(path, flags), flags, at: 0 })
    return fd
  }
  const closeSync = (fd: number) => {
    find(fd, 'close')
    open.delete(fd)
  }
  const readSync = (
    fd: number,
    bytes: Uint8Array,
    offset = 0,
    length = bytes.length - offset,
    position: number | null = null,
  ) => {
    const found = find(fd, 'read', WRITE_ONLY)
    const from = position ?? found.at
    const part = asFile(found.node, 'read').bytes.subarray(from, from + length)
    bytes.set(part, offset)
    if (position === null) found.at += part.length
    return part.length
  }
  const writeSync = (fd: number, content: string | Uint8Array, offset = 0) => {
    const found = find(fd, 'write', ['r'])
    const file = asFile(found.node, 'write')
    const bytes = (typeof content === 'string' ? Buffer.from(content) : content).subarray(offset)
    if (bytes.length === 0) return 0
    const at = found.flags.startsWith('a') ? file.bytes.length : found.at
    volume.write(file, bytes, at)
    found.at = at + bytes.length
    return bytes.length
  }
  const sync = (fd: number) => volume.sync(find(fd, 'fsync').node)
  const calls = {
    openSync,
    closeSync,
    readSync,
    writeSync,
    fdatasyncSync: sync,
    fsyncSync: sync,
    fstatSync: (fd: number) => toStats(find(fd, 'fstat').node),
  }
  return { open, find, calls }
}

const createContentCalls = (
  { find, calls: { openSync, writeSync, closeSync } }: Descriptors,
  generation: number,
) => {
  const withFile = <T>(file: string | number, flags: string, act: (fd: number) => T): T => {
    if (typeof file === 'number') return act(file)
    const fd = openSync(file, flags)
    try {
      return act(fd)
    } finally {
      closeSync(fd)
    }
  }
  const readRest = (fd: number) => {
    const found = find(fd, 'read', WRITE_ONLY)
    const rest = asFile(found.node, 'read').bytes.subarray(found.at)
    found.at += rest.length
    return rest
  }
  // The state and the start time of this process; the latter distinguishes it from those before.
  const stat = () => Buffer.from(`${process.pid} (node) S ${'0 '.repeat(18)}${generation}\n`)
  return {
    readFileSync: (file: string | number, encoding?: 'utf8') => {
      const bytes = file === `/proc/${process.pid}/stat` ? stat() : withFile(file, 'r', readRest)
      return encoding ? bytes.toString(encoding) : bytes
    },
    writeFileSync: (file: string | number, content: string | Uint8Array, { flag = 'w' } = {}) =>
      withFile(file, flag, (fd) => void writeSync(fd, content)),
  }
}

const asFile = (node: Node, call: string): FileNode => {
  if (node.names) throw fail('EISDIR', call)
  return node
}

const setTime = (node: Node, mtime: number | Date): void => {
  node.mtimeMs = Math.round(Number(mtime) * (mtime instanceof Date ? 1 : 1_000))
}

const toStats = ({ bytes, names, ino, mtimeMs }: Node): FileStats => ({
  mtimeMs,
  ctimeMs: mtimeMs,
  dev: 1,
  ino,
  size: bytes?.length ?? 0,
  isFile: () => names === undefined,
  isDirectory: () => names !== undefined,
  // Few callers want an object of a time.
  get mtime() {
    return new Date(mtimeMs)
  },
  get atime() {
    return new Date(mtimeMs)
  },
})

const createPathCalls = (volume: Volume) => ({
  existsSync: (path: string) => volume.tryFind(path) !== undefined,
  statfsSync: () => ({ type: 0 }),
  statSync: (path: string, { throwIfNoEntry = true } = {}) => {
    const node = volume.tryFind(path, throwIfNoEntry ? [] : ['ENOENT'])
    return node && toStats(node)
  },
  realpathSync: (path: string) => {
    volume.find(path, 'realpath')
    return resolve(path)
  },
  readlinkSync: (path: string) => {
    volume.find(path, 'readlink')
    throw fail('EINVAL', 'readlink', path)
  },
  renameSync: (from: string, to: string) => volume.rename(from, to),
  linkSync: (from: string, to: string) => volume.link(from, to),
  unlinkSync: (path: string) => volume.remove(path, asFile(volume.find(path, 'unlink'), 'unlink')),
  copyFileSync: (from: string, to: string) => {
    const { bytes } = asFile(volume.find(from, 'copyfile'), 'copyfile')
    volume.write(asFile(volume.open(to, 'w'), 'copyfile'), bytes, 0)
  },
  utimesSync: (path: string, _: unknown, mtime: number | Date) => setTime(volume.find(path, 'utime'), mtime),
})

const toEntry = (name: string, node: Node): FolderEntry =>
  Object.assign(toStats(node), { name, isSymbolicLink: () => false })

const listBelow = (folder: FolderNode, prefix = ''): readonly string[] =>
  [...folder.names].flatMap(([name, node]) => [
    join(prefix, name),
    ...(node.names ? listBelow(node, join(prefix, name)) : []),
  ])

const createFolderCalls = (volume: Volume, random: () => number) => {
  const mkdirSync = (path: string, { recursive = false } = {}) => {
    if (recursive && volume.tryFind(path)?.names) return
    if (recursive && !volume.tryFind(dirname(path), ['ENOENT'])) mkdirSync(dirname(path), { recursive })
    volume.makeFolder(path)
  }
  const rmSync = (path: string, { recursive = false, force = false } = {}) => {
    if (force && !volume.tryFind(path, ['ENOENT'])) return
    const node = volume.find(path, 'rm')
    if (node.names && !recursive) throw fail('ERR_FS_EISDIR', 'rm', path)
    for (const name of node.names?.keys() ?? []) rmSync(join(path, name), { recursive })
    volume.remove(path, node)
  }
  return {
    mkdirSync,
    rmSync,
    rmdirSync: (path: string) => volume.remove(path, volume.findFolder(path, 'rmdir')),
    readdirSync: (path: string, { recursive = false, withFileTypes = false } = {}) => {
      const folder = volume.findFolder(path, 'scandir')
      if (withFileTypes) return [...folder.names].map(([name, node]) => toEntry(name, node))
      return recursive ? listBelow(folder) : [...folder.names.keys()]
    },
    mkdtempSync: (prefix: string) => {
      const path =
        prefix +
        Math.floor(random() * 36 ** 6)
          .toString(36)
          .padStart(6, '0')
      volume.makeFolder(path)
      return path
    },
  }
}
