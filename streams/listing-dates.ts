import { map } from 'rxjs'
import { z } from 'zod'
import { filledCsv } from '../src/http/answer.js'
import { get } from '../src/http/endpoint.js'
import { rows } from '../src/http/shape.js'
import { escapeFormulasInLine } from '../src/market/formula.js'
import { BadAnswerError } from '../src/model/errors.js'
import { createResult } from '../src/model/outcome.js'
import { defineStream } from '../src/pipeline/define-stream.js'
import { readStoredLines, rejectShrunk } from '../src/pipeline/reject-shrunk.js'
import { once } from '../src/pipeline/work.js'

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']

// biome-ignore format: in the order of the file
const COLUMNS = ['SYMBOL', 'NAME OF COMPANY', 'SERIES', 'DATE OF LISTING', 'PAID UP VALUE', 'MARKET LOT', 'ISIN NUMBER', 'FACE VALUE']

const equityList = get({
  name: 'listing_dates',
  host: 'archive',
  path: '/content/equities/EQUITY_L.csv',
  headers: 'browser',
  input: z.strictObject({}),
  read: (text, _, seen): readonly string[] => {
    const rows = filledCsv(['SYMBOL', 'NAME OF COMPANY', 'DATE OF LISTING'])(text, undefined, seen)
    const lines = text.split(/\r\n|\n|\r/).filter((line) => line !== '')
    if (lines.length !== rows.length + 1) throw new BadAnswerError('schema', 'the CSV has a record that spans several lines')
    return lines.map(escapeFormulasInLine)
  },
  shape: rows(Object.fromEntries(COLUMNS.map((column) => [column, 'text']))),
  type: 'text/csv',
  sample: (_, { stocks }) =>
    [
      'SYMBOL,NAME OF COMPANY, SERIES, DATE OF LISTING, PAID UP VALUE, MARKET LOT, ISIN NUMBER, FACE VALUE',
      ...stocks.map((stock) => {
        const [year, month, day] = stock.listedOn.split('-')
        return `${stock.Symbol},${stock.Name},EQ,${day}-${MONTHS[Number(month) - 1]}-${year},10,1,${stock.ISIN},10`
      }),
      '',
    ].join('\n'),
})

/**
 * The list of the exchange with the listing day of each stock, line by line as published; cells that a spreadsheet would run as a
 * formula are marked as text.
 */
export const listingDates = defineStream({
  name: 'listing-dates',
  summary: 'the day on which each stock was listed',
  phase: 'core',
  workers: 1,
  timeoutMs: 30_000,
  endpoints: [equityList],
  work: once((tools, file) =>
    tools.ask(equityList, {}).pipe(
      map((lines) => createResult(lines)),
      rejectShrunk(file, tools, { readStored: readStoredLines }),
    ),
  ),
  outputs: [{ shape: 'text', file: '{exch}_equity_list.csv' }],
})
