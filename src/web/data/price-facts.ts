import { type CandleArrays, dayToNumber, numberToDay } from '../../market/candle-file.js'
import { addMonths, DAYS_OF_52_WEEKS } from '../../model/trading-day.js'
import type { About } from '../api/about.js'
import type { PriceFacts } from '../api/stock.js'

/** Sessions of each period, as in the view `screener`, in which a year goes by the calendar. */
const RETURNS = { '1W': 5, '1M': 21, '3M': 63, '6M': 126 } as const
const USUAL_SESSIONS = 20

/** The newest candle and the prices around it; undefined without candles. */
export const describePrice = (candles: CandleArrays, about: About): PriceFacts | undefined => {
  const { length, day, high, low, close, volume } = candles
  const last = length - 1
  const [newest, before] = [close[last], close[last - 1]]
  if (length === 0 || newest === undefined) return undefined
  const days = day.subarray(0, length)
  const from = findLastBefore(days, (day[last] as number) - DAYS_OF_52_WEEKS) + 1
  const yearAgo = findLastBefore(days, dayToNumber(addMonths(numberToDay(day[last] as number), -12)) + 1)
  const usual = average(volume.subarray(Math.max(0, last - USUAL_SESSIONS), last))
  const bases = [...Object.entries(RETURNS).map(([name, sessions]) => [name, last - sessions] as const), ['1Y', yearAgo] as const]
  const returns = bases.flatMap(([name, index]) => {
    const base = close[index]
    return base !== undefined && base > 0 ? [[name, 100 * (newest / base - 1)] as const] : []
  })
  return {
    about: { ...about, day: numberToDay(day[last] as number) },
    day: numberToDay(day[last] as number),
    close: newest,
    ...(last > 0 && before !== undefined && before > 0 ? { changePct: 100 * (newest / before - 1) } : {}),
    volume: volume[last] as number,
    ...(last >= USUAL_SESSIONS && usual > 0 ? { volumeTimes: (volume[last] as number) / usual } : {}),
    high52: Math.max(...high.subarray(from, length)),
    low52: Math.min(...low.subarray(from, length)),
    sessions: length,
    firstDay: numberToDay(day[0] as number),
    returns: Object.fromEntries(returns),
  }
}

/** The index of the last candle before a day; -1 without one. */
const findLastBefore = (days: Int32Array, day: number): number => days.findLastIndex((one) => one < day)

const average = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length
