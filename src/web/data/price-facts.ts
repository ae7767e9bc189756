import { type CandleArrays, numberToDay } from '../../market/candle-file.js'
import type { About } from '../api/about.js'
import type { PriceFacts } from '../api/stock.js'

/** Sessions of each period, as in the view `screener`. */
const RETURNS = { '1W': 5, '1M': 21, '3M': 63, '6M': 126, '1Y': 252 } as const
const YEAR = 252
const USUAL_SESSIONS = 20

/** The newest candle and the prices around it; undefined without candles. */
export const describePrice = (candles: CandleArrays, about: About): PriceFacts | undefined => {
  const { length, day, high, low, close, volume } = candles
  const last = length - 1
  const [newest, before] = [close[last], close[last - 1]]
  if (length === 0 || newest === undefined) return undefined
  const from = Math.max(0, length - YEAR)
  const usual = average(volume.subarray(Math.max(0, last - USUAL_SESSIONS), last))
  const returns = Object.entries(RETURNS).flatMap(([name, sessions]) => {
    const base = close[last - sessions]
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

const average = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length
