import * as files from 'node:fs'
import { promisify } from 'node:util'

/** The facts of a file that we use. */
export type FileStats = Pick<
  files.Stats,
  'size' | 'mtimeMs' | 'ctimeMs' | 'atime' | 'mtime' | 'dev' | 'ino' | 'isFile' | 'isDirectory'
>
/** An entry of a folder. */
export type FolderEntry = Pick<files.Dirent, 'name' | 'isFile' | 'isDirectory' | 'isSymbolicLink'>
export type OpenFlags = 'r' | 'r+' | 'w+' | 'a' | 'a+' | 'wx'
type ReadCall = (
  fd: number,
  bytes: Uint8Array,
  place?: { readonly position: number },
) => Promise<{ readonly bytesRead: number }>

const {
  openSync,
  readSync,
  readFileSync,
  writeSync,
  writeFileSync,
  fstatSync,
  closeSync,
  existsSync,
  statSync,
  utimesSync,
} = files
const { renameSync, linkSync, unlinkSync, rmSync, mkdirSync, rmdirSync, readdirSync, readlinkSync } = files

/** A sync; resolves to false where Node's permission model forbids it, which it does whatever it allows. */
const unlessForbidden = (sync: (fd: number) => Promise<void>): ((fd: number) => Promise<unknown>) =>
  process.permission === undefined
    ? sync
    : (fd) =>
        sync(fd).catch((error: { readonly code?: unknown }) => {
          if (error.code !== 'ERR_ACCESS_DENIED') throw error
          return false
        })

/**
 * The calls of `node:fs` that the output folder needs, with names and behaviour as there. Calls with a
 * descriptor, not `FileHandle`: handles cost 50 % more for each written file.
 */
const nodeDisk = {
  open: promisify(files.open) as (path: string, flags: OpenFlags) => Promise<number>,
  read: promisify(files.read) as ReadCall,
  readFile: promisify(files.readFile),
  writeFile: promisify(files.writeFile),
  fdatasync: unlessForbidden(promisify(files.fdatasync)),
  fsync: unlessForbidden(promisify(files.fsync)),
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
  openSync,
  readSync,
  readFileSync,
  writeSync,
  writeFileSync,
  fstatSync,
  closeSync,
  existsSync,
  statSync,
  utimesSync,
  renameSync,
  linkSync,
  unlinkSync,
  rmSync,
  mkdirSync,
  rmdirSync,
  readdirSync,
  readlinkSync,
  statfsSync: (path: string): Pick<files.StatsFs, 'type'> => files.statfsSync(path),
  createReadStream: (
    path: string,
    options?: { readonly highWaterMark: number },
  ): NodeJS.ReadableStream & AsyncIterable<unknown> => files.createReadStream(path, options),
  // A clone where the file system can: it takes no space.
  copyFileSync: (from: string, to: string) => files.copyFileSync(from, to, files.constants.COPYFILE_FICLONE),
}

export type Disk = typeof nodeDisk

/** The disk of this process. */
export const disk: Disk = { ...nodeDisk }

/**
 * Replaces calls of the disk; the returned function restores those of Node. Only for a simulation or a test,
 * which replaces the timers of the process in the same way. It is state of the module on purpose: two
 * collectors in one process share its disk in reality, too.
 */
export const replaceDisk = (other: Partial<Disk>): (() => void) => {
  Object.assign(disk, other)
  return () => void Object.assign(disk, nodeDisk)
}
