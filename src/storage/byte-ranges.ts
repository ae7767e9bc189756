import { readSync } from 'node:fs'
import { MIN_LARGE_CHUNK_BYTES } from './file-store.js'

/** The position of a record in its file, in bytes. */
export interface ByteRange {
  readonly at: number
  readonly length: number
}

const WINDOW_BYTES = 8 << 20
const MAX_RANGES = 1 << 16
const BLOCK_BYTES = 1 << 18

export interface OpenFile {
  readonly fd: number
  readonly path: string
}

/**
 * Reads byte ranges of an open file in the given order, with a separator between two, up to 8 MiB at a time. Each batch is read in file
 * order, however scattered its ranges are. The yielded buffer is reused for the next batch: allocating it takes longer than filling it.
 */
export function* readByteRanges(file: OpenFile, ranges: Iterable<ByteRange>, separator: Buffer): Generator<Buffer, undefined> {
  const [window, block] = [Buffer.allocUnsafeSlow(WINDOW_BYTES), Buffer.allocUnsafeSlow(BLOCK_BYTES)]
  const allocate = (bytes: number): Buffer =>
    bytes < MIN_LARGE_CHUNK_BYTES || bytes > WINDOW_BYTES ? Buffer.allocUnsafeSlow(bytes) : window.subarray(0, bytes)
  // Typed arrays: objects that live until the window is full would pile up in the old generation until the next major GC.
  const batch: RangeBatch = { at: new Float64Array(MAX_RANGES), length: new Uint32Array(MAX_RANGES), count: 0 }
  let bytes = 0
  for (const { at, length } of ranges) {
    const needed = length + separator.length
    if (batch.count === MAX_RANGES || (batch.count > 0 && bytes + needed > WINDOW_BYTES)) {
      yield fillWindow(allocate(bytes), { file, batch, separator, block })
      batch.count = 0
      bytes = 0
    }
    batch.at[batch.count] = at
    batch.length[batch.count] = length
    batch.count += 1
    bytes += needed
  }
  // No separator follows the last one.
  if (batch.count > 0) yield fillWindow(allocate(bytes - separator.length), { file, batch, separator, block })
}

/** The ranges of one batch. */
interface RangeBatch {
  readonly at: Float64Array
  readonly length: Uint32Array
  count: number
}

interface FillContext {
  readonly file: OpenFile
  readonly batch: RangeBatch
  readonly separator: Buffer
  /** The buffer for one block of the file. */
  readonly block: Buffer
}

const fillWindow = (window: Buffer, { file, batch, separator, block }: FillContext): Buffer => {
  const offsets = computeOffsets(batch, separator.length)
  let [current, filledTo] = [-1, 0]
  for (const index of orderByBlock(batch)) {
    const [at, length, to] = [batch.at[index] as number, batch.length[index] as number, offsets[index] as number]
    if (current !== toBlockIndex(at)) {
      current = toBlockIndex(at)
      filledTo = current * BLOCK_BYTES + readSync(file.fd, block, 0, BLOCK_BYTES, current * BLOCK_BYTES)
    }
    const copied = block.copy(window, to, at - current * BLOCK_BYTES, Math.min(filledTo, at + length) - current * BLOCK_BYTES)
    if (copied < length) readFully(file, window.subarray(to + copied, to + length), at + copied)
    if (to + length < window.length) separator.copy(window, to + length)
  }
  return window
}

/** Computes the offset of each range in the window. */
const computeOffsets = ({ length, count }: RangeBatch, separatorLength: number): Uint32Array => {
  const offsets = new Uint32Array(count)
  let to = 0
  for (let index = 0; index < count; index += 1) {
    offsets[index] = to
    to += (length[index] as number) + separatorLength
  }
  return offsets
}

const toBlockIndex = (at: number): number => Math.floor(at / BLOCK_BYTES)

/** Orders the ranges by block of the file (a counting sort). */
const orderByBlock = ({ at, count }: RangeBatch): Uint32Array => {
  const blocks = at.subarray(0, count).map(toBlockIndex)
  const next = new Uint32Array(blocks.reduce((max, block) => Math.max(max, block), 0) + 2)
  for (const block of blocks) next[block + 1] = (next[block + 1] as number) + 1
  for (let block = 1; block < next.length; block += 1) next[block] = (next[block] as number) + (next[block - 1] as number)
  const order = new Uint32Array(count)
  for (const [index, block] of blocks.entries()) {
    order[next[block] as number] = index
    next[block] = (next[block] as number) + 1
  }
  return order
}

/** Reads the part of a range beyond its first block. */
const readFully = ({ fd, path }: OpenFile, into: Buffer, from: number): void => {
  for (let done = 0; done < into.length; ) {
    const read = readSync(fd, into, done, into.length - done, from + done)
    if (read === 0) throw new Error(`${path} is shorter than it was when written`)
    done += read
  }
}
