import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { listBases } from '../../../src/storage/history/bases.js'
import { createHistoryReader } from '../../../src/storage/history/history-reader.js'
import { recordFile } from '../../../src/storage/history/record-file.js'
import { temporaryFolder } from '../../support/folders.js'

const FILE = 'list.json'

/** Records versions of a file on days in a row, and reads all of them again. */
const roundTrip = async (versions: readonly string[]): Promise<{ readonly read: readonly string[]; readonly bases: number }> => {
  const root = temporaryFolder()
  const warnings: string[] = []
  const reader = createHistoryReader(root, join(root, '.scripstream', 'history'))
  try {
    const states = []
    for (const [index, version] of versions.entries()) {
      writeFileSync(join(root, FILE), version)
      const day = `2026-01-${String(index + 1).padStart(2, '0')}`
      const state = await recordFile({ root, day, reader, warn: (warning) => warnings.push(warning) }, FILE)
      if (state === undefined) throw new Error(`${version} is not recorded`)
      states.push(state)
    }
    const read: string[] = []
    for (const state of states) read.push(await text(reader.read({ ...state, knownAt: '' })))
    expect(warnings).toEqual([])
    return { read, bases: (await listBases(root)).length }
  } finally {
    await reader.close()
  }
}

const cell = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ unit: 'grapheme' }),
  fc.constant(null),
  fc.boolean(),
)
const record = fc.oneof(
  fc.record({ Symbol: fc.constantFrom('A', 'B', 'C', 'D', 'E'), Price: cell, Note: cell }, { requiredKeys: ['Symbol'] }),
  fc.record({ Symbol: fc.constantFrom('A', 'B', 'C'), List: fc.array(cell, { maxLength: 3 }), Inner: fc.record({ x: cell }) }),
)
/** As streams write lists: a row a line. */
const formatList = (rows: readonly object[]): string => `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]`

describe('recorded versions of a list', () => {
  it('are read again, byte by byte, whatever changed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(record, { maxLength: 8 }), { minLength: 2, maxLength: 5 }), async (lists) => {
        const versions = lists.map(formatList)
        expect((await roundTrip(versions)).read).toEqual(versions)
      }),
      { numRuns: 60 },
    )
  }, 60_000)

  it('are read again in other layouts: one line, spaces, and a large list whose rows move and change day by day', async () => {
    const rows = (day: number) =>
      Array.from({ length: 3_000 }, (_, rank) => ({
        Symbol: `S${(rank * 7 + day) % 3_000}`,
        Price: rank * day + 0.5,
        Note: `ü "quoted", [${rank % (day + 3)}] {x: 1}`.repeat(4),
      }))
    const versions = [
      '[]',
      ' {"a": [1, 2], "b": "}{"}\n',
      JSON.stringify(rows(1)),
      ...[1, 2, 3, 4, 5, 6].map((day) => formatList(rows(day))),
      JSON.stringify(rows(3), null, 2),
    ]
    const { read, bases } = await roundTrip(versions)
    for (const [index, version] of versions.entries()) expect(read[index] === version).toBe(true)
    expect(bases).toBeGreaterThan(1)
  }, 60_000)
})
