import { readSync } from 'node:fs'

/** Where a record lies in its file, in bytes. */
export interface Slice {
  readonly at: number
  readonly length: number
}

const WINDOW = 8 << 20
const BLOCK = 1 << 18

export interface OpenFile {
  readonly fd: number
  readonly path: string
}

/**
 * Reads slices of an open file in the order in which they are given, with a separator between two, many of them at a time. However they are
 * strewn, some megabytes of them are fetched in the order in which they lie there. What it has yielded does not change any more.
 */
export function* readSlices(file: OpenFile, slices: Iterable<Slice>, separator: Buffer): Generator<Buffer, undefined> {
  let wanted: Slice[] = []
  let bytes = 0
  for (const slice of slices) {
    if (wanted.length > 0 && bytes + slice.length > WINDOW) {
      yield fetched(file, wanted, { separator, isLast: false })
      wanted = []
      bytes = 0
    }
    wanted.push(slice)
    bytes += slice.length + separator.length
  }
  if (wanted.length > 0) yield fetched(file, wanted, { separator, isLast: true })
}

interface Between {
  readonly separator: Buffer
  /** Whether none follows the last slice. */
  readonly isLast: boolean
}

const fetched = (file: OpenFile, slices: readonly Slice[], { separator, isLast }: Between): Buffer => {
  const bytes = slices.reduce((sum, { length }) => sum + length + separator.length, isLast ? -separator.length : 0)
  const window = Buffer.allocUnsafeSlow(bytes)
  const block = Buffer.allocUnsafeSlow(BLOCK)
  for (const [number, places] of byBlocks(slices, separator.length)) {
    const start = number * BLOCK
    const filled = readSync(file.fd, block, 0, BLOCK, start)
    for (let nth = 0; nth < places.length; nth += 2) {
      const { at, length } = slices[places[nth] as number] as Slice
      const to = places[nth + 1] as number
      const copied = block.copy(window, to, at - start, Math.min(filled, at + length - start))
      if (copied < length) readWhole(file, window.subarray(to + copied, to + length), at + copied)
      if (to + length < bytes) separator.copy(window, to + length)
    }
  }
  return window
}

/** The slices that begin in each block of the file, block by block, in turns with where in the window they belong. */
const byBlocks = (slices: readonly Slice[], between: number): readonly (readonly [number: number, places: readonly number[]])[] => {
  const blocks = new Map<number, number[]>()
  let to = 0
  for (const [nth, { at, length }] of slices.entries()) {
    const number = Math.floor(at / BLOCK)
    const places = blocks.get(number)
    if (places) places.push(nth, to)
    else blocks.set(number, [nth, to])
    to += length + between
  }
  return [...blocks].sort(([one], [other]) => one - other)
}

/** What lies beyond a block. */
const readWhole = ({ fd, path }: OpenFile, into: Buffer, from: number): void => {
  for (let done = 0; done < into.length; ) {
    const read = readSync(fd, into, done, into.length - done, from + done)
    if (read === 0) throw new Error(`${path} is shorter than what was written to it`)
    done += read
  }
}
