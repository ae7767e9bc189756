import { map } from 'rxjs'
import { assertSameIsin, createResult, defineStream, json, perStock, post, type Row, Rows, toStockRecord } from 'scripstream'
import { z } from 'zod'

/** How much of a day's traded shares changed hands for good. `share` is delivered ÷ traded, in percent. */
export interface Delivery {
  readonly Symbol: string
  readonly ISIN: string
  readonly day: string
  readonly share: number
}

/** The endpoint: its request, its decoding, and its simulated answer. */
const delivery = post({
  name: 'delivery',
  host: 'static',
  path: '/staticscanx/delivery',
  input: z.strictObject({ data: z.strictObject({ isin: z.string().length(12) }) }),
  read: (text, { data: { isin } }) => assertSameIsin(isin, json(Rows)(text).data ?? []),
  sample: ({ data: { isin } }, market) => {
    const random = market.random('delivery', isin)
    return { data: market.tradingDays('2026-02-01', '2026-12-31').map((day) => ({ day, traded: 1_000, delivered: random.int(100, 900) })) }
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
  outputs: [{ shape: 'rows-in-one-file', file: 'delivery_shares.json' }],
})
