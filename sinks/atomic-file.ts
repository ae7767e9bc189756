import { randomUUID } from 'node:crypto'
import { fstatSync, futimesSync, readFileSync } from 'node:fs'
import { mkdir, open, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { bufferOf } from '../src/model/bytes.js'
import { fileAt } from './file-at.js'
import { fileCalls } from './file-calls.js'
import { codeOf } from './file-error.js'
import { LONG_PART, type Part } from './files.js'

export interface Writing {
  /** The modification time of the file, epoch milliseconds: the instant for which its content is valid. */
  readonly asOf?: number | undefined
  /** Called before the rename; `true` leaves the target unchanged. */
  readonly isAborted?: () => boolean
  /** The file does not exist yet: skip the comparison with its content. */
  readonly isNew?: boolean
}

/** Whether a name is that of a temporary file. */
export const isTemporary = (name: string): boolean => /^\..{1,50}\.[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.tmp$/s.test(name)

/**
 * Writes a file atomically: to a temporary file next to the target, checked and synced, then renamed. A failure leaves the target
 * unchanged and no temporary file. A target with the same bytes is not touched. Resolves to the size in bytes.
 */
export const writeWhole = async (path: string, parts: Iterable<Part>, writing: Writing = {}): Promise<number> => {
  const chunks = chunksOf(parts)
  const first = chunks.next().value ?? Buffer.alloc(0)
  if (first.length >= LONG_PART) return replace(path, all([first], chunks), writing)
  const second = chunks.next().value
  if (second !== undefined) return replace(path, all([first, second], chunks), writing)
  return !writing.isNew && holds(path, first) ? first.length : replace(path, [first], writing)
}

const replace = async (path: string, chunks: Iterable<Buffer>, { asOf, isAborted }: Writing): Promise<number> => {
  const temporary = join(dirname(path), `.${basename(path).slice(0, 50)}.${randomUUID()}.tmp`)
  const fd = await opened(temporary)
  try {
    const bytes = await writeChunks(fd, chunks, asOf).finally(() => fileCalls.close(fd))
    if (isAborted?.()) throw new Error('the write was aborted')
    // Shorter files were compared before they were written.
    if (bytes >= LONG_PART && (await areAlike(temporary, path))) await rm(temporary)
    else await fileCalls.rename(temporary, path)
    return bytes
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

const opened = async (path: string): Promise<number> => {
  try {
    return await fileCalls.open(path, 'wx')
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    await mkdir(dirname(path), { recursive: true })
    return fileCalls.open(path, 'wx')
  }
}

const writeChunks = async (fd: number, chunks: Iterable<Buffer>, asOf: number | undefined): Promise<number> => {
  let bytes = 0
  for (const chunk of chunks) {
    await fileCalls.write(fd, chunk)
    bytes += chunk.length
  }
  // Synchronous calls: fstat and futimes on an open file do not wait for the disk.
  const { size } = fstatSync(fd)
  if (size !== bytes) throw Object.assign(new Error(`only ${size} of ${bytes} bytes were written`), { code: 'ESHORT' })
  if (asOf !== undefined) futimesSync(fd, asOf / 1_000, asOf / 1_000)
  await fileCalls.sync(fd)
  return bytes
}

/** Joins short chunks until they are large enough, and passes large ones on unchanged. A short file is a single buffer. */
function* chunksOf(parts: Iterable<Part>): Generator<Buffer, undefined> {
  let chunk: Buffer[] = []
  let length = 0
  const flush = (): Buffer => {
    const bytes = chunk.length === 1 ? (chunk[0] as Buffer) : Buffer.concat(chunk)
    chunk = []
    length = 0
    return bytes
  }
  for (const part of parts) {
    const bytes = bytesOf(part)
    if (bytes.length >= LONG_PART && length > 0) yield flush()
    chunk.push(bytes)
    length += bytes.length
    if (length >= LONG_PART) yield flush()
  }
  if (length > 0) yield flush()
}

const bytesOf = (part: Part): Buffer => (typeof part === 'string' ? Buffer.from(part) : bufferOf(part))

function* all<T>(first: Iterable<T>, second: Iterable<T>): Generator<T> {
  yield* first
  yield* second
}

const holds = (path: string, bytes: Buffer): boolean => fileAt(path)?.size === bytes.length && readFileSync(path).equals(bytes)

const areAlike = async (one: string, other: string): Promise<boolean> => {
  if (fileAt(one)?.size !== fileAt(other)?.size) return false
  const handles = await Promise.all([open(one), open(other)])
  try {
    const buffers = handles.map(() => Buffer.alloc(LONG_PART))
    for (;;) {
      const [bytesRead, otherBytesRead] = await Promise.all(
        handles.map(async (handle, index) => (await handle.read(buffers[index] as Buffer)).bytesRead),
      )
      if (bytesRead !== otherBytesRead || !buffers[0]?.equals(buffers[1] as Buffer)) return false
      if (bytesRead === 0) return true
    }
  } finally {
    await Promise.all(handles.map((handle) => handle.close()))
  }
}
