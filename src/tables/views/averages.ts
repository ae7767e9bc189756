import { averageOf, FIGURE_DAYS } from './breadth.js'
import { defineView, identity, numberColumn, stringColumn, type ViewColumn } from './view.js'

/** The averages that charts draw, at each candle, as `screener` has them of the newest one. */
const averages = (unit: string): readonly ViewColumn[] =>
  [50, 200].map((sessions) =>
    numberColumn(
      `sma_${sessions}_inr`,
      `average close of ${sessions} sessions, ${unit}; NULL if there are fewer within ${FIGURE_DAYS} days`,
    ),
  )

/** A window at the end of a view would be one of the statement that reads it. */
const selectAverages = (candles: string, item: string): string =>
  `FROM (SELECT *, ${averageOf(50)} AS sma_50_inr, ${averageOf(200)} AS sma_200_inr FROM ${candles} WINDOW w AS (PARTITION BY ${item} ORDER BY day))`

export const candleAverages = defineView({
  name: 'candle_averages',
  about: 'average closes of stocks at each candle of candles_adjusted, one row for each stock and day',
  needs: ['candles_adjusted'],
  columns: [...identity('trading day in India'), ...averages('rupees of today')],
  from: selectAverages('candles_adjusted', 'symbol'),
})

export const indexAverages = defineView({
  name: 'index_averages',
  about: 'average closes of indices at each candle, in points, one row for each index and day',
  needs: ['index_candles'],
  columns: [
    ...identity('trading day in India'),
    stringColumn('sid', 'id of the index, which may share its symbol'),
    ...averages('points').map(({ unit, ...column }) => column),
  ],
  from: selectAverages('(SELECT *, NULL AS isin, date AS day FROM index_candles)', 'symbol, sid'),
})
