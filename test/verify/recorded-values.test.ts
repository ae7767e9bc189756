import { expect, it } from 'vitest'
import { createDaySet, type DaySet } from '../../src/market/series-days.js'
import { getRecent, parseCandles } from '../../src/verify/candle-series.js'
import { findRecordedValues } from '../../src/verify/recorded-values.js'
import type { SeriesDays } from '../../src/verify/sessions.js'

const YEAR_S = 366 * 86_400

/** Stocks that have doubled within a year, of which the list says so, and one that has not moved. */
const findFromYears = (fitting: number) => {
  const symbols = Array.from({ length: fitting + 1 }, (_, index) => `S${index}`)
  const stocks = symbols.map((symbol, index): SeriesDays => {
    const closes = [index === 0 ? 200 : 100, 200]
    const lines = closes.map(
      (close, year) => `${(1 + year) * YEAR_S},${close},${close},${close},${close},1\n`,
    )
    const { candles } = parseCandles(Buffer.from(`Timestamp,Open,High,Low,Close,Volume\n${lines.join('')}`))
    const days = createDaySet(candles) as DaySet
    return {
      symbol,
      file: `${symbol}.csv`,
      days,
      tradedValue: 1,
      reportedDays: new Set(),
      recent: getRecent(candles),
    }
  })
  const rows = new Map([
    ['master_data_response.json', symbols.map((Sym) => ({ Sym, PricePerchng1year: 100 }))],
  ])
  const { findings, lacks } = findRecordedValues({
    rows,
    actions: new Map(),
    stocks,
    indices: [],
    listDay: 2 * 366,
  })
  return [findings.map(({ symbol }) => symbol), lacks]
}

it('the change over a year proves something if it fits 8 stocks, because many have no candle of a year ago', () => {
  expect(findFromYears(8)).toEqual([['S0'], ''])
  expect(findFromYears(7)).toEqual([
    [],
    'recorded values: too few stocks fit the change over a year; compare some with the exchange',
  ])
})
