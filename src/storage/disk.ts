import * as files from 'node:fs'
import { promisify } from 'node:util'

/** The facts of a file that we use. */
export type FileStats = Pick<files.Stats, 'size' | 'mtimeMs' | 'ctimeMs' | 'atime' | 'mtime' | 'dev' | 'ino' | 'isFile' | 'isDirectory'>
/** An entry of a folder. */
export type FolderEntry = Pick<files.Dirent, 'name' | 'isFile' | 'isDirectory' | 'isSymbolicLink'>
export type OpenFlags = 'r' | 'r+' | 'w+' | 'a' | 'a+' | 'wx'
type Content = string | Uint8Array
interface WriteOptions {
  readonly flag?: 'w' | 'wx' | 'a'
}

/**
 * The calls of `node:fs` that the output folder needs, with names and behaviour as there. Calls with a descriptor, not `FileHandle`: handles cost
 * 50 % more for each written file.
 */
export interface Disk {
  open(path: string, flags: OpenFlags): Promise<number>
  read(fd: number, bytes: Uint8Array, place?: { readonly position: number }): Promise<{ readonly bytesRead: number }>
  readFile(path: string): Promise<Buffer>
  readFile(path: string, encoding: 'utf8'): Promise<string>
  /** Writes all bytes: to a new or replaced file, or at the current position of an open one. */
  writeFile(file: string | number, content: Content, options?: WriteOptions): Promise<void>
  fdatasync(fd: number): Promise<void>
  /** For the names in a folder. */
  fsync(fd: number): Promise<void>
  close(fd: number): Promise<void>
  rename(from: string, to: string): Promise<void>
  link(from: string, to: string): Promise<void>
  copyFile(from: string, to: string): Promise<void>
  rm(path: string, options?: { readonly recursive?: boolean; readonly force?: boolean }): Promise<void>
  mkdir(path: string, options?: { readonly recursive: true }): Promise<unknown>
  mkdtemp(prefix: string): Promise<string>
  readdir(path: string, options?: { readonly recursive: true }): Promise<string[]>
  readdir(path: string, options: { readonly withFileTypes: true }): Promise<FolderEntry[]>
  realpath(path: string): Promise<string>
  stat(path: string): Promise<FileStats>
  utimes(path: string, atime: number | Date, mtime: number | Date): Promise<void>
  createReadStream(path: string, options?: { readonly highWaterMark: number }): NodeJS.ReadableStream & AsyncIterable<unknown>

  openSync(path: string, flags: OpenFlags): number
  readSync(fd: number, bytes: Uint8Array): number
  readSync(fd: number, bytes: Uint8Array, offset: number, length: number, position: number | null): number
  readFileSync(file: string | number): Buffer
  readFileSync(file: string | number, encoding: 'utf8'): string
  writeSync(fd: number, content: Content, offset?: number): number
  writeFileSync(path: string, content: Content, options?: WriteOptions): void
  fstatSync(fd: number): FileStats
  futimesSync(fd: number, atime: number, mtime: number): void
  closeSync(fd: number): void
  existsSync(path: string): boolean
  /** The kind of a file system, as a number of statfs(2). */
  statfsSync(path: string): Pick<files.StatsFs, 'type'>
  statSync(path: string): FileStats
  statSync(path: string, options: { readonly throwIfNoEntry: false }): FileStats | undefined
  renameSync(from: string, to: string): void
  linkSync(from: string, to: string): void
  copyFileSync(from: string, to: string): void
  unlinkSync(path: string): void
  rmSync(path: string, options?: { readonly force: true }): void
  mkdirSync(path: string, options: { readonly recursive: true }): unknown
  rmdirSync(path: string): void
  readdirSync(path: string): string[]
  readdirSync(path: string, options: { readonly withFileTypes: true }): FolderEntry[]
  /** Of `/proc`, which names the PID namespace of a process. */
  readlinkSync(path: string): string
}

const nodeDisk: Disk = {
  ...files,
  open: promisify(files.open),
  read: promisify(files.read),
  readFile: promisify(files.readFile),
  writeFile: promisify(files.writeFile),
  fdatasync: promisify(files.fdatasync),
  fsync: promisify(files.fsync),
  close: promisify(files.close),
  rename: promisify(files.rename),
  link: promisify(files.link),
  copyFile: promisify(files.copyFile),
  rm: promisify(files.rm),
  mkdir: promisify(files.mkdir),
  mkdtemp: promisify(files.mkdtemp),
  readdir: files.promises.readdir,
  realpath: promisify(files.realpath),
  stat: promisify(files.stat),
  utimes: promisify(files.utimes),
  statfsSync: (path) => files.statfsSync(path),
  // A clone where the file system can: it takes no space.
  copyFileSync: (from, to) => files.copyFileSync(from, to, files.constants.COPYFILE_FICLONE),
}

/** The disk of this process. */
export const disk: Disk = { ...nodeDisk }

/**
 * Replaces calls of the disk; the returned function restores those of Node. Only for a simulation or a test, which replaces the timers of the
 * process in the same way. It is state of the module on purpose: two collectors in one process share its disk in reality, too.
 */
export const replaceDisk = (other: Partial<Disk>): (() => void) => {
  Object.assign(disk, other)
  return () => void Object.assign(disk, nodeDisk)
}
