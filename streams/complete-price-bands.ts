import { z } from 'zod'
import { defineStream, once } from '../src/engine/define-stream.js'
import { filledCsv } from '../src/http/answer.js'
import { rejectShrunk } from '../src/market/list-rules.js'
import { dailyCsv, fetchNewestFile } from '../src/market/list-sources.js'
import { describeBandChange } from '../src/market/price-bands.js'
import { type CsvRowOf, column, row, textColumn } from '../src/model/row-schema.js'

/**
 * The price band of a security: `2`, `5`, `10`, `20`, `40` (percent) or `No Band`. Cells are text; column
 * names are those of the file.
 */
export const PriceBand = row({
  Symbol: textColumn('trading symbol', 'symbol'),
  Series: textColumn('series of the security, such as EQ', 'series'),
  'Security Name': textColumn('name of the security', 'name'),
  Band: textColumn('percent, or No Band', 'band', {
    further: [
      {
        name: 'band_percent',
        type: 'DOUBLE',
        comment: 'percent; NULL if there is no band',
        from: { row: ['Band'] },
      },
    ],
  }),
  Remarks: column(z.string().optional(), { about: 'as published', sql: 'remarks' }),
})
export interface PriceBand extends CsvRowOf<typeof PriceBand> {}

const securityList = dailyCsv(
  'sec_list',
  filledCsv(['Symbol', 'Series', 'Band']),
  PriceBand,
  (stocks, market, day) => [
    'Symbol ,Series, Security Name,Band , Remarks',
    ...stocks.map(
      (stock) =>
        `${stock.Symbol},${stock.series}, ${stock.Name.toUpperCase()} ,${market.bandOn(stock, day) ?? 'No Band'},-`,
    ),
  ],
)

/** The price band of every security, from the newest daily file; every cell is the text of the file. */
export const completePriceBands = defineStream({
  name: 'complete-price-bands',
  summary: 'the price band of every security',
  phase: 'enrichment',
  position: 13,
  workers: 1,
  timeoutMs: 30_000,
  followsAsOf: true,
  publishedAt: '20:00',
  endpoints: [securityList],
  work: once((tools, file) =>
    fetchNewestFile<PriceBand>(securityList, tools).pipe(rejectShrunk(file, tools)),
  ),
  outputs: [
    {
      shape: 'array-per-item',
      file: 'complete_price_bands.json',
      tables: [
        {
          name: 'bands',
          about: 'the price band of every security on the newest day',
          columns: [PriceBand],
          changes: {
            section: 'bands',
            key: ['Symbol', 'Series'],
            columns: ['Band'],
            about: ['Symbol', 'Series'],
            changed: (row, { earlier }) => [describeBandChange(row, earlier.Band, row.Band)],
          },
          position: 13,
        },
      ],
    },
  ],
})
