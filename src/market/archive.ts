import { z } from 'zod'
import { type AnswerInspector, get } from '../http/endpoint.js'
import type { SampleMarket, SampleStock } from '../model/market.js'
import type { Row } from '../model/row.js'
import { type Day, formatCompactDmy, toInstant } from '../model/trading-day.js'

/** Defines a CSV endpoint of the archive, published each trading day in the evening. `{date}` is `DDMMYYYY`. */
export const dailyCsv = (
  name: string,
  read: (text: string, input: unknown, inspect?: AnswerInspector) => readonly Row[],
  columns: z.ZodObject,
  sampleLines: (stocks: readonly SampleStock[], market: SampleMarket, day: Day) => readonly string[],
) =>
  get({
    name,
    host: 'archive',
    path: `/content/equities/${name}_{date}.csv`,
    headers: 'browser',
    input: z.strictObject({ date: z.string().regex(/^\d{8}$/, 'must be DDMMYYYY') }),
    read,
    shape: z.array(columns),
    type: 'text/csv',
    sample: ({ date }, market) => {
      const day = `${date.slice(4)}-${date.slice(2, 4)}-${date.slice(0, 2)}`
      const isPublished =
        formatCompactDmy(day) === date && market.tradingDays(day, day).length === 1 && market.asOf >= toInstant(day, '18:00')
      return isPublished ? `${sampleLines(market.stocks, market, day).join('\r\n')}\r\n` : undefined
    },
  })
