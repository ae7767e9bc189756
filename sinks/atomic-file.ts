import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

const CHUNK = 1 << 20

export interface Writing {
  /** The modification time that the file gets, epoch milliseconds: the instant as of which its content holds. */
  readonly asOf?: number | undefined
  /** Aborted before the file is in place, the target stays as it was. */
  readonly signal?: AbortSignal
}

/**
 * Writes a file as a whole: beside the target, checked and synced, then moved over it. A failure leaves the target as it was and
 * no temporary file. Resolves to the bytes written.
 */
export const writeWhole = async (path: string, parts: Iterable<string>, { asOf, signal }: Writing = {}): Promise<number> => {
  await mkdir(dirname(path), { recursive: true })
  const temporary = join(dirname(path), `.${basename(path).slice(0, 50)}.${randomUUID()}.tmp`)
  try {
    const handle = await open(temporary, 'wx')
    const bytes = await writeParts(handle, parts, asOf).finally(() => handle.close())
    signal?.throwIfAborted()
    await rename(temporary, path)
    return bytes
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

const writeParts = async (handle: FileHandle, parts: Iterable<string>, asOf: number | undefined): Promise<number> => {
  let bytes = 0
  for (const chunk of chunksOf(parts)) {
    await handle.writeFile(chunk)
    bytes += chunk.length
  }
  const { size } = await handle.stat()
  if (size !== bytes) throw Object.assign(new Error(`only ${size} of ${bytes} bytes were written`), { code: 'ESHORT' })
  if (asOf !== undefined) await handle.utimes(asOf / 1_000, asOf / 1_000)
  await handle.datasync()
  return bytes
}

function* chunksOf(parts: Iterable<string>): Generator<Buffer> {
  let text = ''
  for (const part of parts) {
    text += part
    if (text.length < CHUNK) continue
    yield Buffer.from(text)
    text = ''
  }
  if (text !== '') yield Buffer.from(text)
}
