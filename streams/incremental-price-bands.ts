import { z } from 'zod'
import { defineStream, once } from '../src/engine/define-stream.js'
import { csv } from '../src/http/answer.js'
import { dailyCsv, fetchNewestFile } from '../src/market/list-sources.js'
import { describeBandChange } from '../src/market/price-bands.js'
import { type CsvRowOf, column, row, textColumn } from '../src/model/row-schema.js'
import { addDays } from '../src/model/trading-day.js'

/**
 * A price band that changed, in percent or `No Band`. Every cell is text, with the column names of the file.
 */
export const PriceBandChange = row({
  Symbol: textColumn('trading symbol', 'symbol'),
  Series: textColumn('series of the security, such as EQ', 'series'),
  'Security Name': textColumn('name of the security', 'name'),
  From: textColumn('band before, percent or No Band', 'from_band', {
    further: [
      {
        name: 'from_percent',
        type: 'DOUBLE',
        comment: 'band before, percent; NULL if there was none',
        from: { row: ['From'] },
      },
    ],
  }),
  To: textColumn('band from then on, percent or No Band', 'to_band', {
    further: [
      {
        name: 'to_percent',
        type: 'DOUBLE',
        comment: 'band from then on, percent; NULL without a band',
        from: { row: ['To'] },
      },
    ],
  }),
  'Sr. No': column(z.string().optional(), {
    about: 'position in the published list',
    sql: ['place', 'BIGINT'],
  }),
})
export interface PriceBandChange extends CsvRowOf<typeof PriceBandChange> {}

const bandChanges = dailyCsv(
  'eq_band_changes',
  csv(['Symbol', 'From', 'To']),
  PriceBandChange,
  (stocks, market, day) => [
    'Sr. No,Symbol,Series, Security Name,From,To',
    ...stocks
      .map((stock) => [stock, market.bandOn(stock, addDays(day, -1)), market.bandOn(stock, day)] as const)
      .filter(([, from, to]) => from !== to)
      .map(
        ([{ Symbol: symbol, series, Name }, from, to], place) =>
          `${place + 1},${symbol} ,${series}, ${Name.toUpperCase()},${from},${to}`,
      ),
  ],
)

/** Price bands that changed, from the newest daily file; every cell is the text of the file. */
export const incrementalPriceBands = defineStream({
  name: 'incremental-price-bands',
  summary: 'price bands that changed on the newest day',
  phase: 'enrichment',
  position: 12,
  workers: 1,
  timeoutMs: 30_000,
  followsAsOf: true,
  publishedAt: '20:00',
  endpoints: [bandChanges],
  work: once((tools) => fetchNewestFile<PriceBandChange>(bandChanges, tools)),
  outputs: [
    {
      shape: 'array-per-item',
      file: 'incremental_price_bands.json',
      tables: [
        {
          name: 'band_changes',
          about: 'price bands that changed on the newest day',
          columns: [PriceBandChange],
          // Of those that the list of all bands does not show.
          changes: {
            section: 'bands',
            key: ['Symbol', 'Series', 'From', 'To'],
            about: ['Symbol', 'Series'],
            entered: (row) => [describeBandChange(row, row.From, row.To)],
          },
          position: 14,
        },
      ],
    },
  ],
})
