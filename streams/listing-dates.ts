import { map } from 'rxjs'
import { z } from 'zod'
import { defineStream, once } from '../src/engine/define-stream.js'
import { filledCsv } from '../src/http/answer.js'
import { get } from '../src/http/endpoint.js'
import { readStoredLines, rejectShrunk, withoutCopies } from '../src/market/list-rules.js'
import { escapeFormulasInLine, formatListDay, LIST_DAY } from '../src/market/list-sources.js'
import { BadAnswerError } from '../src/model/errors.js'
import { createResult } from '../src/model/outcome.js'
import { row, textColumn } from '../src/model/row-schema.js'

/** A line of the list; every cell is text. */
const Listing = row({
  SYMBOL: textColumn('trading symbol', 'symbol'),
  'NAME OF COMPANY': textColumn('name of the company', 'name'),
  SERIES: textColumn('series of the security, such as EQ', 'series'),
  'DATE OF LISTING': textColumn('first day of trading', ['listed_on', 'DATE'], { convert: LIST_DAY }),
  'ISIN NUMBER': textColumn('ISIN of the stock', 'isin'),
  'FACE VALUE': textColumn('rupees', ['face_value', 'DOUBLE'], { possible: { from: 0 } }),
  'PAID UP VALUE': textColumn('rupees', ['paid_up_value', 'DOUBLE']),
  'MARKET LOT': textColumn('shares', ['market_lot', 'BIGINT']),
})

const equityList = get({
  name: 'listing_dates',
  host: 'archive',
  path: '/content/equities/EQUITY_L.csv',
  headers: 'browser',
  input: z.strictObject({}),
  read: (text, _, seen): readonly string[] => {
    const rows = filledCsv(['SYMBOL', 'NAME OF COMPANY', 'DATE OF LISTING'])(text, undefined, seen)
    const lines = text.split(/\r\n|\n|\r/).filter((line) => line !== '')
    if (lines.length !== rows.length + 1)
      throw new BadAnswerError('schema', 'the CSV has a record that spans several lines')
    return lines.map(escapeFormulasInLine)
  },
  shape: z.array(Listing),
  type: 'text/csv',
  sample: (_, { stocks }) =>
    [
      'SYMBOL,NAME OF COMPANY, SERIES, DATE OF LISTING, PAID UP VALUE, MARKET LOT, ISIN NUMBER, FACE VALUE',
      ...stocks.map(
        (stock) =>
          `${stock.Symbol},${stock.Name},${stock.series},${formatListDay(stock.listedOn).toUpperCase()},10,1,${stock.ISIN},10`,
      ),
      '',
    ].join('\n'),
})

/**
 * The list of the exchange with the listing day of each stock, line by line as published; cells that a
 * spreadsheet would run as a formula are marked as text.
 */
export const listingDates = defineStream({
  name: 'listing-dates',
  summary: 'the day on which each stock was listed',
  phase: 'core',
  position: 3,
  workers: 1,
  timeoutMs: 30_000,
  endpoints: [equityList],
  work: once((tools, file) =>
    tools.ask(equityList, {}).pipe(
      map((lines) => createResult(withoutCopies(lines, tools))),
      rejectShrunk(file, tools, { readStored: readStoredLines }),
    ),
  ),
  outputs: [
    {
      shape: 'text',
      file: '{exch}_equity_list.csv',
      tables: [
        {
          name: 'listing_dates',
          about: "the exchange's own list of equities, with the day on which each was listed",
          columns: [Listing],
          position: 16,
        },
      ],
    },
  ],
})
