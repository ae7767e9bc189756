import { closeSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readSlices, type Slice } from '../../sinks/slices.js'
import { temporaryFolder } from './support.js'

const reading = (bytes: Buffer) => {
  const path = join(temporaryFolder(), 'records')
  writeFileSync(path, bytes)
  const fd = openSync(path, 'r')
  onTestFinished(() => closeSync(fd))
  return (slices: readonly Slice[]): readonly Buffer[] => [...readSlices({ fd, path }, slices)]
}

/** Bytes that tell where they stand. */
const bytesOf = (length: number): Buffer =>
  Buffer.from(Uint32Array.from({ length: length / 4 }, (_, place) => place * 2_654_435_761).buffer)

describe('slices of a file', () => {
  it('are the bytes that lie there, in whichever order they are wanted and whatever they reach over', () => {
    const bytes = bytesOf(400_000)
    const read = reading(bytes)
    const slice = fc.tuple(fc.nat(bytes.length - 1), fc.oneof(fc.nat(300), fc.nat(200_000)))
    fc.assert(
      fc.property(fc.array(slice, { maxLength: 200 }), (wanted) => {
        const slices = wanted.map(([at, most]) => ({ at, length: Math.min(most, bytes.length - at) }))
        return read(slices).every((record, place) => {
          const { at, length } = slices[place] as Slice
          return record.equals(bytes.subarray(at, at + length))
        })
      }),
    )
  })

  it('are all there, one by one, also where they are more than is fetched at a time', () => {
    const bytes = bytesOf(30_000_000)
    const slices = Array.from({ length: 3_000 }, (_, place) => ({ at: ((place * 7_919) % 3_000) * 10_000, length: 10_000 }))
    const records = reading(bytes)(slices)
    expect(records.length).toBe(3_000)
    expect(Buffer.concat([...records]).equals(Buffer.concat(slices.map(({ at }) => bytes.subarray(at, at + 10_000))))).toBe(true)
  })

  it('that lie beyond its end are an error', () => {
    expect(() => reading(Buffer.from('short'))([{ at: 2, length: 9 }])).toThrow(/records is shorter than what was written to it/)
  })
})
