import { describe, expect, it } from 'vitest'
import { describeBandChange, nameBandSql } from '../../src/market/price-bands.js'
import { duckdb, folderWith, rowsOf } from '../tables/support.js'

describe.skipIf(!duckdb)('a price band in words', () => {
  it.each(['5', '20', '2.5', '10.00', 'No Band', '', '-'])(
    'is the same of %j in SQL and in a list of changes',
    async (band) => {
      const [[words] = []] = await rowsOf(
        `select ${nameBandSql(`'${band}'`)}`,
        folderWith({ 'master_isin_map.json': [] }),
      )
      expect(describeBandChange({ Series: 'EQ' }, band, band).detail).toBe(`from ${words} to ${words}`)
    },
  )

  it('has its unit, and the series unless it is EQ', () =>
    expect(describeBandChange({ Series: 'BE' }, '5', 'No Band').detail).toBe(
      'from 5 % to no band (series BE)',
    ))
})
