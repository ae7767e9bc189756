/**
 * A stream of an app on a host of its own: the option chain of each F&O stock, one POST each, without
 * duplicates, most open interest first.
 */
import { from, map, mergeMap } from 'rxjs'
// biome-ignore format: what a stream needs, in two lines
import {
  column, createResult, dataEnvelope, defineStream, json, perStock, post, Rows, row, StockRecord, toStockRecord } from 'scripstream/define'
import { uniqueBy } from 'scripstream/operators'
import { z } from 'zod'

/** A contract of an option chain. */
const Contract = row({
  contract: column(z.string(), { about: 'name of the contract', sql: 'contract', required: true, key: true }),
  strike: column(z.number(), { about: 'strike price, rupees', sql: 'strike' }),
  open_interest: column(z.number(), { about: 'open contracts', sql: 'open_interest', required: true }),
})

const optionChain = post({
  name: 'option-chain',
  // Its address is `hosts: { options: 'https://…' }` in the settings, or SCRIPSTREAM_OPTIONS_URL.
  host: 'options',
  path: '/v1/chain',
  input: z.strictObject({ symbol: z.string() }),
  read: (text, _, inspect) => json(Rows)(text, undefined, inspect).data ?? [],
  shape: dataEnvelope(z.array(Contract)),
  sample: ({ symbol }, market) => ({
    data: [90, 100, 110, 100].map((strike) => ({
      contract: `${symbol} ${strike} CE`,
      strike,
      open_interest: market.random('options', symbol, strike).int(0, 9_000),
    })),
  }),
})

/**
 * Run it with `scripstream run --streams ./03-own-stream.js`, or pass it to `createCollector({ streams:
 * [...streams, optionChains] })`.
 */
export const optionChains = defineStream({
  name: 'option-chains',
  summary: 'option chain of each F&O stock',
  phase: 'enrichment',
  workers: 10,
  timeoutMs: 10_000,
  endpoints: [optionChain],
  work: perStock(
    (stock, { ask }) =>
      ask(optionChain, { symbol: stock.Symbol }).pipe(
        mergeMap((contracts) => from(contracts).pipe(uniqueBy(({ contract }) => String(contract)))),
        map((contracts) => createResult(contracts.map((one) => toStockRecord(stock, one)))),
      ),
    { where: ({ FnoFlag }) => FnoFlag === 1 },
  ),
  outputs: [
    {
      shape: 'rows-in-one-file',
      file: 'option_chains.json',
      sortBy: { key: (contract) => Number(contract.open_interest) },
      tables: [
        { name: 'options', about: 'option chains of the F&O stocks', columns: [StockRecord, Contract] },
      ],
    },
  ],
})
