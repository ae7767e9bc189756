import { describe, expect, it } from 'vitest'
import { type SymbolRequest, selectSymbols } from '../../src/engine/select-items.js'
import { UsageError } from '../../src/model/errors.js'
import type { RunEvent } from '../../src/model/event.js'
import { toStockItems } from '../../src/model/stock.js'

const stocks = toStockItems(
  ['M&M', 'INFY', 'TCS'].map((key) => ({ Symbol: key, ISIN: `IN${key}`, Name: key, Sid: '1', FnoFlag: 0 })),
)

const narrowed = (symbols: readonly string[] | undefined, more: Partial<SymbolRequest> = {}) => {
  const events: RunEvent[] = []
  const request = { symbols, wrongSymbols: undefined, known: { listed: [], earlier: [] }, ...more }
  const chosen = selectSymbols(stocks, request, (event) => events.push(event))
  return { keys: chosen.map(({ key }) => key), ranks: chosen.map(({ rank }) => rank), events }
}

describe('selectSymbols', () => {
  it('selects all stocks without symbols', () => {
    expect(narrowed(undefined).keys).toEqual(['M&M', 'INFY', 'TCS'])
  })

  it('selects the given symbols, in the order and with the ranks of the master list', () => {
    expect(narrowed(['TCS', 'M&M'])).toStrictEqual({ keys: ['M&M', 'TCS'], ranks: [0, 2], events: [] })
  })

  it('ignores case and duplicates', () => {
    expect(narrowed(['infy', 'INFY', 'NSE:INFY', 'ININFY'])).toStrictEqual({
      keys: ['INFY'],
      ranks: [1],
      events: [],
    })
  })

  it('reports symbols that are not listed, with the most similar symbol', () => {
    expect(narrowed(['INFY', 'TCZ', 'tcz', 'never']).events).toStrictEqual([
      {
        type: 'wrong-symbols',
        symbols: [
          { given: 'TCZ', near: ['TCS'] },
          { given: 'never', near: [] },
        ],
      },
    ])
  })

  it('fetches a renamed stock and reports its symbol', () => {
    const known = { listed: [{ Symbol: 'INFOSYSTCH', ISIN: 'ININFY', Name: '' }], earlier: [] }
    const wrong = [{ given: 'INFOSYSTCH', now: 'INFY' }]

    expect(narrowed(['infosystch'], { known })).toMatchObject({
      keys: ['INFY'],
      events: [{ symbols: [{ now: 'INFY' }] }],
    })
    expect(narrowed(['INFOSYSTCH', 'TCS'], { known }).events).toStrictEqual([
      { type: 'wrong-symbols', symbols: wrong },
    ])
    expect(narrowed(['INFOSYSTCH'], { known, wrongSymbols: 'reject' }).events).toStrictEqual([
      { type: 'warning', stream: 'master-data', text: 'INFOSYSTCH is now INFY' },
    ])
  })

  it('rejects every unknown symbol where that is wanted', () => {
    expect(() => narrowed(['TCS', 'INFI', 'MM'], { wrongSymbols: 'reject' })).toThrow(
      'unknown symbols: INFI (did you mean INFY?), MM (did you mean M&M?);',
    )
  })

  it('rejects a selection without a known symbol', () => {
    const none = 'unknown symbol: nope; known symbols are in master_isin_map.json'

    expect(() => narrowed(['nope'])).toThrow(
      new UsageError(none, { issues: [{ path: 'symbols', message: 'unknown symbol: nope' }] }),
    )
    expect(narrowed([])).toMatchObject({ keys: [], events: [] })
    expect(narrowed([], { wrongSymbols: 'reject' }).keys).toEqual([])
  })

  it('names at most ten unknown symbols', () => {
    const many = Array.from({ length: 5_000 }, (_, place) => `X${place}`)

    expect(() => narrowed(many)).toThrow(/X9, and 4990 more; known symbols/)
  })
})
