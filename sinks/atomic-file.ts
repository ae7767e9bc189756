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
  /** The modification time that the file gets, epoch milliseconds: the instant as of which its content holds. */
  readonly asOf?: number | undefined
  /** Asked before the file is put in place: if so, the target stays as it was. */
  readonly isAborted?: () => boolean
  /** There is no such file yet, which spares a look. */
  readonly isNew?: boolean
}

/** Whether a name is that of a file which is not yet in place. */
export const isTemporary = (name: string): boolean => /^\..{1,50}\.[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.tmp$/s.test(name)

/**
 * Writes a file as a whole: beside the target, checked and synced, then moved over it. A failure leaves the target as it was and
 * no temporary file; a target that holds these very bytes stays untouched. Resolves to the file's bytes.
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
    // What is shorter was compared before it was written.
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
  // What only looks at an open file, or dates it, does not wait for the disk.
  const { size } = fstatSync(fd)
  if (size !== bytes) throw Object.assign(new Error(`only ${size} of ${bytes} bytes were written`), { code: 'ESHORT' })
  if (asOf !== undefined) futimesSync(fd, asOf / 1_000, asOf / 1_000)
  await fileCalls.sync(fd)
  return bytes
}

/** Short parts together until they are long, and long ones as they are. What is short as a whole is a single chunk. */
function* chunksOf(parts: Iterable<Part>): Generator<Buffer, undefined> {
  let chunk: Buffer[] = []
  let length = 0
  const whole = (): Buffer => {
    const bytes = chunk.length === 1 ? (chunk[0] as Buffer) : Buffer.concat(chunk)
    chunk = []
    length = 0
    return bytes
  }
  for (const part of parts) {
    const bytes = bytesOf(part)
    if (bytes.length >= LONG_PART && length > 0) yield whole()
    chunk.push(bytes)
    length += bytes.length
    if (length >= LONG_PART) yield whole()
  }
  if (length > 0) yield whole()
}

const bytesOf = (part: Part): Buffer => (typeof part === 'string' ? Buffer.from(part) : bufferOf(part))

function* all<T>(first: Iterable<T>, then: Iterable<T>): Generator<T> {
  yield* first
  yield* then
}

const holds = (path: string, bytes: Buffer): boolean => fileAt(path)?.size === bytes.length && readFileSync(path).equals(bytes)

const areAlike = async (one: string, other: string): Promise<boolean> => {
  if (fileAt(one)?.size !== fileAt(other)?.size) return false
  const handles = await Promise.all([open(one), open(other)])
  try {
    const buffers = handles.map(() => Buffer.alloc(LONG_PART))
    for (;;) {
      const [mine, others] = await Promise.all(
        handles.map(async (handle, index) => (await handle.read(buffers[index] as Buffer)).bytesRead),
      )
      if (mine !== others || !buffers[0]?.equals(buffers[1] as Buffer)) return false
      if (mine === 0) return true
    }
  } finally {
    await Promise.all(handles.map((handle) => handle.close()))
  }
}
