import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

const CHUNK = 1 << 20

export interface Writing {
  /** The modification time that the file gets, epoch milliseconds: the instant as of which its content holds. */
  readonly asOf?: number | undefined
  /** Aborted before the file is in place, the target stays as it was. */
  readonly signal?: AbortSignal
}

/** Whether a name is that of a file which is not yet in place. */
export const isTemporary = (name: string): boolean => /^\..{1,50}\.[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.tmp$/s.test(name)

/**
 * Writes a file as a whole: beside the target, checked and synced, then moved over it. A failure leaves the target as it was and
 * no temporary file; a target that holds these very bytes stays untouched. Resolves to the file's bytes.
 */
export const writeWhole = async (path: string, parts: Iterable<string>, writing: Writing = {}): Promise<number> => {
  const chunks = chunksOf(parts)
  const first = chunks.next().value ?? Buffer.alloc(0)
  const second = chunks.next().value
  if (second === undefined) return (await holds(path, first)) ? first.length : replace(path, [first], writing)
  return replace(path, all([first, second], chunks), writing)
}

const replace = async (path: string, chunks: Iterable<Buffer>, { asOf, signal }: Writing): Promise<number> => {
  await mkdir(dirname(path), { recursive: true })
  const temporary = join(dirname(path), `.${basename(path).slice(0, 50)}.${randomUUID()}.tmp`)
  try {
    const handle = await open(temporary, 'wx')
    const bytes = await writeChunks(handle, chunks, asOf).finally(() => handle.close())
    signal?.throwIfAborted()
    // A single chunk was compared before it was written.
    if (bytes > CHUNK && (await areAlike(temporary, path))) await rm(temporary)
    else await rename(temporary, path)
    return bytes
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

const writeChunks = async (handle: FileHandle, chunks: Iterable<Buffer>, asOf: number | undefined): Promise<number> => {
  let bytes = 0
  for (const chunk of chunks) {
    await handle.writeFile(chunk)
    bytes += chunk.length
  }
  const { size } = await handle.stat()
  if (size !== bytes) throw Object.assign(new Error(`only ${size} of ${bytes} bytes were written`), { code: 'ESHORT' })
  if (asOf !== undefined) await handle.utimes(asOf / 1_000, asOf / 1_000)
  await handle.datasync()
  return bytes
}

function* chunksOf(parts: Iterable<string>): Generator<Buffer, undefined> {
  let text = ''
  for (const part of parts) {
    text += part
    if (text.length < CHUNK) continue
    yield Buffer.from(text)
    text = ''
  }
  if (text !== '') yield Buffer.from(text)
}

function* all<T>(first: Iterable<T>, then: Iterable<T>): Generator<T> {
  yield* first
  yield* then
}

const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    (found) => (found.isFile() ? found.size : undefined),
    () => undefined,
  )

const holds = async (path: string, bytes: Buffer): Promise<boolean> =>
  (await sizeOf(path)) === bytes.length && (await readFile(path)).equals(bytes)

const areAlike = async (one: string, other: string): Promise<boolean> => {
  if ((await sizeOf(one)) !== (await sizeOf(other))) return false
  const handles = await Promise.all([open(one), open(other)])
  try {
    const buffers = handles.map(() => Buffer.alloc(CHUNK))
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
