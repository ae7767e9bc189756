import { concatMap, defaultIfEmpty, from, ignoreElements, map, type Observable, of } from 'rxjs'
import { findCandleFault, findImpossibleMove } from '../market/candle-checks.js'
import { thresholds } from '../market/never-worse.js'
import type { Candle } from '../model/candle.js'
import { addDays } from '../model/trading-day.js'
import type { Tools } from './define-stream.js'
import { refuse } from './refuse.js'
import { type Series, toCandleDay } from './series.js'

const { newest, actionDays } = thresholds.prices

/** A candle to store, and the one before it. */
export type NewCandle = readonly [before: Candle | undefined, candle: Candle]

/** The newest candles, each with the one before it; `before` precedes the first one. */
export const pairWithPrevious = (candles: readonly Candle[], before?: Candle): readonly NewCandle[] =>
  candles.map((candle, place): NewCandle => [candles[place - 1] ?? before, candle]).slice(-newest)

/**
 * Checks new candles: each must be possible by itself, and a jump from the close before it must have a corporate action that explains it.
 * Emits once; errors with a `RefusedError` (`prices`) otherwise, unless the run accepts such prices.
 */
export const checkNewCandles = (candles: readonly NewCandle[], series: Series, tools: Tools): Observable<undefined> =>
  from(candles).pipe(
    concatMap(([before, candle]) => {
      const fault = findCandleFault(candle)
      const isUsual = series.isIndex === true && before !== undefined && findCandleFault(before) !== undefined
      if (fault !== undefined && !isUsual) refuse(tools, 'prices', `a new candle is impossible (${toCandleDay(candle)}: ${fault})`)
      const leap = before && findImpossibleMove(before, candle)
      if (before === undefined || leap === undefined || fault !== undefined) return of(undefined)
      const action$ = series.findPriceAction?.(addDays(toCandleDay(before), -actionDays)) ?? of(undefined)
      return action$.pipe(
        map((action) => {
          if (action === undefined) refuse(tools, 'prices', `a new candle has an unexplained price jump (${toCandleDay(candle)}: ${leap})`)
        }),
      )
    }),
    ignoreElements(),
    defaultIfEmpty(undefined),
  )
