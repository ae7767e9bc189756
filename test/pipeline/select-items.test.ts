import { describe, expect, it } from 'vitest'
import { UsageError } from '../../src/model/errors.js'
import type { RunEvent } from '../../src/model/event.js'
import { toStockItems } from '../../src/model/stock.js'
import { selectSymbols } from '../../src/pipeline/select-items.js'

const stocks = toStockItems(['M&M', 'INFY', 'TCS'].map((key) => ({ Symbol: key, ISIN: `IN${key}`, Name: key, Sid: '1', FnoFlag: 0 })))

const narrowed = (symbols: readonly string[] | undefined) => {
  const events: RunEvent[] = []
  const chosen = selectSymbols(stocks, symbols, (event) => events.push(event))
  return { keys: chosen.map(({ key }) => key), ranks: chosen.map(({ rank }) => rank), events }
}

describe('selectSymbols', () => {
  it('selects all stocks without symbols', () => {
    expect(selectSymbols(stocks, undefined, () => undefined)).toBe(stocks)
  })

  it('selects the given symbols, in the order and with the ranks of the master list', () => {
    expect(narrowed(['TCS', 'M&M'])).toStrictEqual({ keys: ['M&M', 'TCS'], ranks: [0, 2], events: [] })
  })

  it('ignores case and duplicates', () => {
    expect(narrowed(['infy', 'INFY'])).toStrictEqual({ keys: ['INFY'], ranks: [1], events: [] })
  })

  it('warns about unknown symbols', () => {
    expect(narrowed(['INFY', 'Nope', 'never']).events).toStrictEqual([
      { type: 'noticed', stream: 'master-data', text: 'skipped unknown symbols: NOPE, NEVER' },
    ])
  })

  it('suggests the most similar symbol', () => {
    expect(narrowed(['TCS', 'INFI', 'MM', 'XYZ']).events).toMatchObject([
      { text: 'skipped unknown symbols: INFI (did you mean INFY?), MM (did you mean M&M?), XYZ' },
    ])
    expect(() => narrowed(['TCZ'])).toThrow('unknown symbols: TCZ (did you mean TCS?);')
  })

  it('rejects a selection without a known symbol', () => {
    const none = 'unknown symbols: nope; known symbols are in master_isin_map.json'

    expect(() => narrowed(['nope'])).toThrow(new UsageError(none))
    expect(() => narrowed([])).toThrow(UsageError)
  })

  it('names at most ten unknown symbols', () => {
    const many = Array.from({ length: 5_000 }, (_, place) => `X${place}`)

    expect(() => narrowed(many)).toThrow(/X9; known symbols/)
  })
})
