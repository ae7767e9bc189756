import { map } from 'rxjs'
import { filledCsv } from '../src/http/answer.js'
import { dailyCsv } from '../src/market/archive.js'
import { createResult } from '../src/model/outcome.js'
import { defineStream } from '../src/pipeline/define-stream.js'
import { fetchNewestFile } from '../src/pipeline/newest-file.js'
import { rejectShrunk } from '../src/pipeline/reject-shrunk.js'
import { once } from '../src/pipeline/work.js'

/** The price band of a security: `2`, `5`, `10`, `20`, `40` (percent) or `No Band`. Cells are text; column names are those of the file. */
export interface PriceBand extends Readonly<Record<string, string | undefined>> {
  readonly Symbol?: string
  readonly Series?: string
  readonly 'Security Name'?: string
  readonly Band?: string
  readonly Remarks?: string
}

const COLUMNS = { Symbol: 'text', Series: 'text', 'Security Name': 'text', Band: 'text', 'Remarks?': 'text' }

const securityList = dailyCsv('sec_list', filledCsv(['Symbol', 'Series', 'Band']), COLUMNS, (stocks, market) => [
  'Symbol ,Series, Security Name,Band , Remarks',
  ...stocks.map((stock) => {
    const random = market.random('band', stock.ISIN)
    // Not narrower than the largest daily move that the simulator generates.
    const band = random.pick(['10', '20', '40', 'No Band'])
    return `${stock.Symbol},${random.pick(['EQ', 'BE', 'SM'])}, ${stock.Name.toUpperCase()} ,${band},-`
  }),
])

/** The price band of every security, from the newest daily file; every cell is the text of the file. */
export const completePriceBands = defineStream({
  name: 'complete-price-bands',
  summary: 'the price band of every security',
  phase: 'enrichment',
  workers: 1,
  timeoutMs: 30_000,
  endpoints: [securityList],
  work: once((tools, file) =>
    fetchNewestFile(securityList, tools).pipe(
      map((rows) => createResult(rows as readonly PriceBand[])),
      rejectShrunk(file, tools),
    ),
  ),
  outputs: [{ shape: 'array-per-item', file: 'complete_price_bands.json' }],
})
