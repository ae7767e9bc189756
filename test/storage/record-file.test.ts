import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DamagedFileError } from '../../src/model/errors.js'
import type { Row } from '../../src/model/row.js'
import { parseOwners, readRecords } from '../../src/storage/record-file.js'
import { temporaryFolder } from '../support/folders.js'

type Read = Parameters<typeof readRecords>[2]

const reading = () => {
  const path = join(temporaryFolder(), 'records.json')
  return async (text: string, read?: Read): Promise<readonly Row[]> => {
    writeFileSync(path, text)
    const all: Row[] = []
    for await (const some of readRecords(path, 'records.json', read)) all.push(...some)
    return all
  }
}

const linesOf = (rows: readonly unknown[]): string =>
  rows.length === 0 ? '[]\n' : `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`

const text = fc.string({ unit: 'grapheme', maxLength: 12 })
const rows = fc.array(
  fc.record({
    Symbol: text,
    ISIN: text,
    more: fc.oneof(
      text,
      fc.nat(3_000).map((length) => '₹]\n['.repeat(length)),
    ),
  }),
  { maxLength: 120 },
)

const ownerOf = (row: Row): readonly unknown[] => [row.Symbol, row.ISIN]

describe('the records of a stored array', () => {
  it.each([
    ['one record per line, as a run writes it', linesOf],
    ['on one line', JSON.stringify],
    ['indented', (all: readonly unknown[]) => JSON.stringify(all, null, 2)],
    ['with CRLF line ends', (all: readonly unknown[]) => linesOf(all).replaceAll('\n', '\r\n')],
    ['without a final line end', (all: readonly unknown[]) => linesOf(all).trimEnd()],
  ])('are read completely: %s', async (_, textOf) => {
    const read = reading()
    await fc.assert(
      fc.asyncProperty(rows, async (all) => {
        expect(await read(textOf(all))).toEqual(all)
        expect((await read(textOf(all), parseOwners)).map(ownerOf)).toEqual(all.map(ownerOf))
      }),
      { numRuns: 30 },
    )
  })

  it('are read with well-formed texts if an earlier version stored others', async () => {
    const read = reading()
    const expected = [{ Symbol: 'A', Note: 'x\ufffd\ufffd' }]
    for (const textOf of [linesOf, JSON.stringify])
      expect(await read(textOf([{ Symbol: 'A', Note: 'x\ud83d\0' }]).toString())).toEqual(expected)
  })

  it.each([
    ['all records on the second line', (all: readonly string[]) => `[\n${all.join(',')}]\n`],
    ['the same without a line end', (all: readonly string[]) => `[\n${all.join(',')}]`],
    ['one record per line', (all: readonly string[]) => `[\n${all.join(',\n')}\n]\n`],
  ])('are complete if lines are longer than a chunk: %s', async (_, textOf) => {
    const read = reading()
    for (const length of [1, 300_000, 1_000_000]) {
      const all = Array.from({ length: 3 }, (__, nth) => ({
        Symbol: `S${nth}`,
        ISIN: 'INE009A01021',
        events: 'x'.repeat(length),
      }))
      const text = textOf(all.map((row) => JSON.stringify(row)))
      expect(await read(text)).toEqual(all)
      expect((await read(text, parseOwners)).map(ownerOf)).toEqual(all.map(ownerOf))
    }
  })

  it('are an error if the array is cut anywhere, for both readers', async () => {
    const read = reading()
    const whole = linesOf([
      { Symbol: 'INFY', ISIN: 'INE009A01021', events: 'a]' },
      { Symbol: 'M&M', ISIN: 'INE101A01026', events: '₹' },
    ])
    for (let length = 0; length < whole.length - 2; length += 1)
      for (const how of [undefined, parseOwners])
        await expect(read(whole.slice(0, length), how), `${length} characters`).rejects.toBeInstanceOf(
          DamagedFileError,
        )
  })

  it('are only objects: other elements are ignored', async () => {
    expect(await reading()('[\n1,\n{"Symbol":"INFY"},\nnull\n]\n')).toEqual([{ Symbol: 'INFY' }])
  })
})
