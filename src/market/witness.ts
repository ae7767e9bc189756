import { posix } from 'node:path'
import { map, type Observable, of, switchMap } from 'rxjs'
import type { Candle, Candles } from '../model/candle.js'
import { groupDigits } from '../model/format.js'
import type { ItemResult } from '../model/outcome.js'
import { isRow, type Row, readText } from '../model/row.js'
import { type Day, readDay } from '../model/trading-day.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import { toCandleDay } from './candle-file.js'
import { refuse, type SuspectDetector } from './refusal-policy.js'
import type { Tools } from './tools.js'

/** The exchange's own file of a session, as the stream `exchange-daily` stores it. */
export const EXCHANGE_DAILY_FILE = 'exchange_daily/{DAY}.json'

/** The exchange whose file it is: the closes and volumes of another one differ from it. */
export const WITNESSED_EXCHANGE = 'NSE'

/** The series of shares. A stock can change between them from one day to the next. */
export const SHARE_SERIES = ['EQ', 'BE', 'BZ', 'SM', 'ST', 'SZ'] as const

/**
 * Further series that some listed stocks have alone: partly paid shares, trusts and others. A stock that also
 * has a row of the series above is that one; warrants and bonds (W1, N1) are never the stock.
 */
export const FURTHER_SERIES = /^([EX][0-9A-Z]|IT|IV|RR)$/

/** What the exchange says about a stock's day: rupees, unadjusted, and shares traded. */
export interface ExchangeTrade {
  readonly close: number
  readonly last: number
  readonly high: number
  readonly low: number
  readonly volume: number
}

/** The trades of shares in a stored daily file, by symbol. Anything that is no such file has no trades. */
export const readExchangeTrades = (document: unknown): ReadonlyMap<string, ExchangeTrade> => {
  const rows = (Array.isArray(document) ? document : []).filter(isRow)
  const isShare = ({ SERIES }: Row): boolean => SHARE_SERIES.some((series) => series === readText(SERIES))
  const further = rows.filter(({ SERIES }) => FURTHER_SERIES.test(readText(SERIES)))
  return new Map(
    [...further, ...rows.filter(isShare)].flatMap((row) => {
      const read = (cell: unknown): number => Number(readText(cell) || Number.NaN)
      const trade = {
        close: read(row.CLOSE_PRICE),
        last: read(row.LAST_PRICE),
        high: read(row.HIGH_PRICE),
        low: read(row.LOW_PRICE),
        volume: read(row.TTL_TRD_QNTY),
      }
      return trade.close > 0 ? [[readText(row.SYMBOL), trade] as const] : []
    }),
  )
}

/** The exchange's trades of each day by symbol, oldest day first. */
export type TradesByDay = ReadonlyMap<Day, ReadonlyMap<string, ExchangeTrade>>

/** The trades of a daily file of the exchange, whose name is its day. */
export const readTradesOf = (file: string, rows: unknown): TradesByDay => {
  const day = readDay(posix.basename(file))
  return new Map(day === undefined ? [] : [[day, readExchangeTrades(rows)]])
}

/**
 * The close of a candle may be the last trade or the average of the last half hour: they differ by this
 * share, or these rupees.
 */
const CLOSE_SHARE = 0.005
const CLOSE_RUPEES = 0.1

/** Whether a price is the one that the exchange has, as far as two ways to close a day may differ. */
export const isSamePrice = (price: number, exchange: number): boolean =>
  Math.abs(price - exchange) <= Math.max(CLOSE_SHARE * exchange, Math.min(CLOSE_RUPEES, 0.02 * exchange))

/**
 * Compares the newest candle of an update with the exchange's file of its day, if this run or an earlier one
 * has that file. Many stocks with another close are an error of the provider, and are refused (`witness`); a
 * single one is stored, and `verify` names it.
 */
export const checkWitness =
  (symbol: string, tools: Tools, watch: SuspectDetector) =>
  (result: ItemResult<Candle>): Observable<ItemResult<Candle>> => {
    const newest = result.status === 'success' ? (result.rows as Candles).at(-1) : undefined
    if (newest === undefined) return of(result)
    const [day, close] = [toCandleDay(newest), newest[4]]
    return readTrades(day, tools).pipe(
      switchMap((trades) => {
        const trade = trades.get(symbol)
        if (trade === undefined) return of(result)
        if (isSamePrice(close, trade.close) || isSamePrice(close, trade.last)) {
          watch.witness.countUsual()
          return of(result)
        }
        watch.witness.countSuspect()
        return watch.witness.whenDecided(tools.pause).pipe(
          map((areMany) => {
            const what = `many closes of ${day} differ from the exchange's file`
            if (areMany)
              refuse(
                tools,
                'witness',
                `${what} (this one is ${groupDigits(close)}, the exchange has ${groupDigits(trade.close)})`,
              )
            return result
          }),
        )
      }),
    )
  }

const readTrades = (day: Day, { shared, stored }: Tools): Observable<ReadonlyMap<string, ExchangeTrade>> =>
  shared(`exchange of ${day}`, () =>
    stored.document(EXCHANGE_DAILY_FILE.replace('{DAY}', day)).pipe(
      catchItemFailure(() => of(undefined)),
      map(readExchangeTrades),
    ),
  )
