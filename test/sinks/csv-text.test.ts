import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { csvText } from '../../sinks/csv-text.js'

const rowsOf = (cell: fc.Arbitrary<unknown>) => fc.array(fc.array(cell, { minLength: 1, maxLength: 6 }), { maxLength: 20 })

it('writes rows of numbers as the library does', () => {
  const edges = fc.constantFrom(0, -0, 1e21, 1e-7, 0.1 + 0.2, Number.MAX_SAFE_INTEGER, 5e-324)
  fc.assert(
    fc.property(rowsOf(fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer(), edges)), (rows) => {
      expect(csvText(rows)).toBe(stringify(rows))
    }),
  )
})

it('leaves everything else to the library', () => {
  fc.assert(
    fc.property(rowsOf(fc.oneof(fc.double(), fc.string(), fc.constantFrom(null, '=1+1', 'a,b', '"'))), (rows) => {
      expect(csvText(rows)).toBe(stringify(rows))
    }),
  )
})
