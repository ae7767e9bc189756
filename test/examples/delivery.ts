import { map } from 'rxjs'
import type { BuiltRowOf } from 'scripstream/define'
import {
  assertSameIsin,
  column,
  createResult,
  dataEnvelope,
  defineStream,
  json,
  perStock,
  post,
  type Row,
  Rows,
  row,
  StockRecord,
  toStockRecord,
} from 'scripstream/define'
import { z } from 'zod'

/** How much of a day's traded shares changed hands for good. `share` is delivered ÷ traded, in percent. */
export const Delivery = row({
  ...StockRecord.shape,
  day: column(z.string(), { about: 'trading day', sql: ['day', 'DATE'] }),
  share: column(z.number(), { about: 'percent of the traded shares', sql: 'share' }),
})
export interface Delivery extends BuiltRowOf<typeof Delivery> {}

/** What the provider answers. */
const Trades = row({
  day: column(z.string(), { format: 'day', required: true }),
  traded: column(z.number(), { required: true }),
  delivered: column(z.number(), { required: true }),
})

/** The endpoint: its request, its decoding, and its simulated answer. */
const delivery = post({
  name: 'delivery',
  host: 'static',
  path: '/staticscanx/delivery',
  input: z.strictObject({ data: z.strictObject({ isin: z.string().length(12) }) }),
  read: (text, { data: { isin } }, inspect) =>
    assertSameIsin(isin, json(Rows)(text, undefined, inspect).data ?? []),
  shape: dataEnvelope(z.array(Trades)),
  sample: ({ data: { isin } }, market) => {
    const random = market.random('delivery', isin)
    return {
      data: market
        .tradingDays('2026-02-01', '2026-12-31')
        .map((day) => ({ day, traded: 1_000, delivered: random.int(100, 900) })),
    }
  },
})

/** The delivery share of each stock by day; days without trading are skipped. */
export const deliveryShares = defineStream({
  name: 'delivery-shares',
  summary: 'delivered part of the traded shares of each stock',
  phase: 'enrichment',
  workers: 5,
  timeoutMs: 10_000,
  endpoints: [delivery],
  work: perStock((stock, { ask }) =>
    ask(delivery, { data: { isin: stock.ISIN } }).pipe(
      map((rows) => rows.filter(({ traded }) => Number(traded) > 0)),
      map((rows) =>
        createResult(
          rows.map(({ day, traded, delivered }) =>
            toStockRecord<Delivery & Row>(stock, { day, share: (100 * Number(delivered)) / Number(traded) }),
          ),
        ),
      ),
    ),
  ),
  outputs: [
    {
      shape: 'rows-in-one-file',
      file: 'delivery_shares.json',
      tables: [
        { name: 'delivery', about: 'delivered part of the traded shares by day', columns: [Delivery] },
      ],
    },
  ],
})
