import { closeSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ByteRange, readByteRanges } from '../../src/storage/byte-ranges.js'
import { MIN_LARGE_CHUNK_BYTES } from '../../src/storage/file-store.js'
import { temporaryFolder } from '../sinks/support.js'

const BETWEEN = Buffer.from(', ')

const reading = (bytes: Buffer) => {
  const path = join(temporaryFolder(), 'records')
  writeFileSync(path, bytes)
  const fd = openSync(path, 'r')
  onTestFinished(() => closeSync(fd))
  return (slices: readonly ByteRange[]): readonly Buffer[] => {
    const parts: Buffer[] = []
    for (const part of readByteRanges({ fd, path }, slices, BETWEEN)) {
      // The buffer of a large chunk is reused: copy it.
      parts.push(part.length < MIN_LARGE_CHUNK_BYTES ? part : Buffer.from(part))
    }
    return parts
  }
}

/** Bytes that depend on their position. */
const bytesOf = (length: number): Buffer =>
  Buffer.from(Uint32Array.from({ length: length / 4 }, (_, place) => place * 2_654_435_761).buffer)

function* separated(parts: readonly Buffer[]): Generator<Buffer> {
  for (const [place, part] of parts.entries()) yield* place === 0 ? [part] : [BETWEEN, part]
}

const expected = (bytes: Buffer, slices: readonly ByteRange[]): Buffer =>
  Buffer.concat([...separated(slices.map(({ at, length }) => bytes.subarray(at, at + length)))])

describe('byte ranges of a file', () => {
  it('are read in any order, with separators, also across blocks', () => {
    const bytes = bytesOf(400_000)
    const read = reading(bytes)
    const slice = fc.tuple(fc.nat(bytes.length - 1), fc.oneof(fc.nat(300), fc.nat(200_000)))
    fc.assert(
      fc.property(fc.array(slice, { maxLength: 200 }), (wanted) => {
        const slices = wanted.map(([at, most]) => ({ at, length: Math.min(most, bytes.length - at) }))
        return Buffer.concat([...read(slices)]).equals(expected(bytes, slices))
      }),
    )
  })

  it('are complete if they exceed one window', () => {
    const bytes = bytesOf(30_000_000)
    const slices = Array.from({ length: 3_000 }, (_, place) => ({ at: ((place * 7_919) % 3_000) * 10_000, length: 10_000 }))
    const parts = reading(bytes)(slices)
    expect(parts.length).toBeGreaterThan(3)
    expect(Buffer.concat([...parts]).equals(expected(bytes, slices))).toBe(true)
  })

  it('are complete if their number exceeds one batch', () => {
    const bytes = bytesOf(400_000)
    const slices = Array.from({ length: 70_000 }, (_, place) => ({ at: ((place * 7_919) % 70_000) * 5, length: 5 }))
    const parts = reading(bytes)(slices)
    expect(parts.length).toBe(2)
    expect(Buffer.concat([...parts]).equals(expected(bytes, slices))).toBe(true)
  })

  it('fail beyond the end of the file', () => {
    expect(() => reading(Buffer.from('short'))([{ at: 2, length: 9 }])).toThrow(/records is shorter than it was when written/)
  })
})
