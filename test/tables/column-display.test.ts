import { describe, expect, it } from 'vitest'
import { listTables } from '../../src/engine/define-stream.js'
import { displayColumns } from '../../src/tables/column-display.js'
import { listViews } from '../../src/tables/views/index.js'
import { streams } from '../../streams/registry.js'

const tables = listTables(streams)
const findTable = (wanted: string) => [...tables, ...listViews(tables)].filter(({ name }) => name === wanted)
const show = (table: string, ...names: readonly string[]) =>
  displayColumns(
    names.map((name) => ({ name, isNumber: true, isJson: false })),
    findTable(table),
  ).map(({ title }) => title)

describe('a column of a result', () => {
  it('has the unit of its table, which names say of no table', () => {
    expect(show('screener', 'close_inr', 'market_cap_cr', 'rvol')).toEqual([
      'close ₹',
      'market cap ₹ crore',
      'volume ×',
    ])
    expect(show('index_prices', 'close_inr', 'change_pct')).toEqual(['close', 'change %'])
    expect(show('candles_adjusted', 'close', 'volume')).toEqual(['close ₹', 'volume'])
    expect(show('breadth', 'bought_cr', 'close')).toEqual(['bought ₹ crore', 'close'])
  })

  it('has the unit that its meaning names', () => {
    const wrong = listViews(tables)
      .filter(({ name }) => name !== 'index_prices')
      .flatMap(({ name: view, columns }) =>
        columns
          .filter(({ unit, comment }) =>
            unit === undefined
              ? /^[^;]*( percent|₹ crore|rupees)$/.test(comment)
              : unit === '₹ crore' && !/₹ crore|the same/.test(comment),
          )
          .map(({ name }) => `${view}.${name}`),
      )
    expect(wrong).toEqual([])
  })
})
