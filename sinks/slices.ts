import { readSync } from 'node:fs'

/** Where a record lies in its file, in bytes. */
export interface Slice {
  readonly at: number
  readonly length: number
}

const WINDOW = 8 << 20
const BLOCK = 1 << 18

/**
 * Reads slices of an open file in the order in which they are given. However they are strewn, some megabytes of them at a time are
 * fetched in the order in which they lie there. What it has yielded does not change any more.
 */
export function* readSlices(file: OpenFile, slices: readonly Slice[]): Generator<Buffer, undefined> {
  for (let from = 0; from < slices.length; ) {
    let to = from
    let bytes = 0
    do bytes += (slices[to++] as Slice).length
    while (to < slices.length && bytes + (slices[to] as Slice).length <= WINDOW)
    yield* fetched(file, slices.slice(from, to), Buffer.allocUnsafeSlow(bytes))
    from = to
  }
}

export interface OpenFile {
  readonly fd: number
  readonly path: string
}

const fetched = (file: OpenFile, slices: readonly Slice[], window: Buffer): readonly Buffer[] => {
  let end = 0
  const records = slices.map(({ length }) => {
    end += length
    return window.subarray(end - length, end)
  })
  const inFile = slices.map((_, place) => place).sort((one, other) => (slices[one] as Slice).at - (slices[other] as Slice).at)
  const block = Buffer.allocUnsafeSlow(BLOCK)
  let [start, filled] = [0, 0]
  for (const place of inFile) {
    const { at, length } = slices[place] as Slice
    for (let copied = 0; copied < length; ) {
      if (at + copied < start || at + copied >= start + filled) {
        start = at + copied
        filled = readSync(file.fd, block, 0, BLOCK, start)
        if (filled === 0) throw new Error(`${file.path} is shorter than what was written to it`)
      }
      copied += block.copy(records[place] as Buffer, copied, at + copied - start, Math.min(filled, at + length - start))
    }
  }
  return records
}
