import { readSync } from 'node:fs'
import { LONG_PART } from './files.js'

/** Where a record lies in its file, in bytes. */
export interface Slice {
  readonly at: number
  readonly length: number
}

const WINDOW = 8 << 20
const MOST_SLICES = 1 << 16
const BLOCK = 1 << 18

export interface OpenFile {
  readonly fd: number
  readonly path: string
}

/**
 * Reads slices of an open file in the order in which they are given, with a separator between two, many of them at a time. However they are
 * strewn, some megabytes of them are fetched in the order in which they lie there. What it has yielded may change when it goes on, as parts
 * of a file do: memory that is new each time would take longer to be had than to be filled.
 */
export function* readSlices(file: OpenFile, slices: Iterable<Slice>, separator: Buffer): Generator<Buffer, undefined> {
  const [window, block] = [Buffer.allocUnsafeSlow(WINDOW), Buffer.allocUnsafeSlow(BLOCK)]
  const room = (bytes: number): Buffer => (bytes < LONG_PART || bytes > WINDOW ? Buffer.allocUnsafeSlow(bytes) : window.subarray(0, bytes))
  // Numbers in place of the slices: objects that live as long as it takes to fill a window would pile up until the next great collection.
  const wanted: Wanted = { at: new Float64Array(MOST_SLICES), length: new Uint32Array(MOST_SLICES), count: 0 }
  let bytes = 0
  for (const { at, length } of slices) {
    const needed = length + separator.length
    if (wanted.count === MOST_SLICES || (wanted.count > 0 && bytes + needed > WINDOW)) {
      yield filled(room(bytes), { file, wanted, separator, block })
      wanted.count = 0
      bytes = 0
    }
    wanted.at[wanted.count] = at
    wanted.length[wanted.count] = length
    wanted.count += 1
    bytes += needed
  }
  // No separator follows the last one.
  if (wanted.count > 0) yield filled(room(bytes - separator.length), { file, wanted, separator, block })
}

/** The slices that are fetched together. */
interface Wanted {
  readonly at: Float64Array
  readonly length: Uint32Array
  count: number
}

interface Filling {
  readonly file: OpenFile
  readonly wanted: Wanted
  readonly separator: Buffer
  /** Takes a block of the file at a time. */
  readonly block: Buffer
}

const filled = (window: Buffer, { file, wanted, separator, block }: Filling): Buffer => {
  const places = placesOf(wanted, separator.length)
  let [number, filledTo] = [-1, 0]
  for (const nth of byBlock(wanted)) {
    const [at, length, to] = [wanted.at[nth] as number, wanted.length[nth] as number, places[nth] as number]
    if (number !== blockOf(at)) {
      number = blockOf(at)
      filledTo = number * BLOCK + readSync(file.fd, block, 0, BLOCK, number * BLOCK)
    }
    const copied = block.copy(window, to, at - number * BLOCK, Math.min(filledTo, at + length) - number * BLOCK)
    if (copied < length) readWhole(file, window.subarray(to + copied, to + length), at + copied)
    if (to + length < window.length) separator.copy(window, to + length)
  }
  return window
}

/** Where in the window each slice belongs. */
const placesOf = ({ length, count }: Wanted, between: number): Uint32Array => {
  const places = new Uint32Array(count)
  let to = 0
  for (let nth = 0; nth < count; nth += 1) {
    places[nth] = to
    to += (length[nth] as number) + between
  }
  return places
}

const blockOf = (at: number): number => Math.floor(at / BLOCK)

/** Which slice comes after which in the file, block by block. */
const byBlock = ({ at, count }: Wanted): Uint32Array => {
  const blocks = at.subarray(0, count).map(blockOf)
  const next = new Uint32Array(blocks.reduce((most, number) => Math.max(most, number), 0) + 2)
  for (const number of blocks) next[number + 1] = (next[number + 1] as number) + 1
  for (let number = 1; number < next.length; number += 1) next[number] = (next[number] as number) + (next[number - 1] as number)
  const order = new Uint32Array(count)
  for (const [nth, number] of blocks.entries()) {
    order[next[number] as number] = nth
    next[number] = (next[number] as number) + 1
  }
  return order
}

/** What lies beyond a block. */
const readWhole = ({ fd, path }: OpenFile, into: Buffer, from: number): void => {
  for (let done = 0; done < into.length; ) {
    const read = readSync(fd, into, done, into.length - done, from + done)
    if (read === 0) throw new Error(`${path} is shorter than what was written to it`)
    done += read
  }
}
