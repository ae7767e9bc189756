import { numberToDay } from '../../market/candle-file.js'
import type { CandleSeries } from './candle-series.js'
import type { Finding } from './finding.js'

/** The share by which rounding to four digits may change a price. */
const ROUNDING_SHARE = 1e-4

export interface ImpossibleCandles {
  readonly findings: readonly Finding[]
  /** Day numbers. */
  readonly days: ReadonlySet<number>
}

/** Finds impossible candles; one finding per file, about the newest of them. */
export const findImpossibleCandles = ({ symbol, file, candles }: CandleSeries): ImpossibleCandles => {
  const { day, open, high, low, close, volume, length } = candles
  const days = new Set<number>()
  let [count, newest] = [0, -1]
  for (let index = 0; index < length; index += 1) {
    const [top, bottom] = [high[index] as number, low[index] as number]
    const [start, end] = [open[index] as number, close[index] as number]
    const most = top * (1 + ROUNDING_SHARE)
    const least = bottom * (1 - ROUNDING_SHARE)
    const isPossible =
      bottom > 0 && top >= bottom && start <= most && end <= most && start >= least && end >= least && (volume[index] as number) >= 0
    if (isPossible) continue
    count += 1
    days.add(day[index] as number)
    if (newest < 0 || (day[index] as number) > (day[newest] as number)) newest = index
  }
  if (newest < 0) return { findings: [], days }
  const on = numberToDay(day[newest] as number)
  const [o, h, l, c, v] = [open, high, low, close, volume].map((column) => column[newest] as number) as [
    number,
    number,
    number,
    number,
    number,
  ]
  const more = count === 1 ? '' : `, and ${count - 1} earlier`
  const detail = `${describeFault(o, h, l, c, v)} on ${on} (open ${o}, high ${h}, low ${l}, close ${c})${more}`
  return { findings: [{ check: 'impossible-candles', severity: 'error', symbol, day: on, file, detail }], days }
}

const describeFault = (open: number, high: number, low: number, close: number, volume: number): string => {
  if (Math.min(open, high, low, close) <= 0) return 'a price of 0 or less'
  if (high < low) return 'the high is below the low'
  if (volume < 0) return 'a volume below 0'
  return close > high || close < low ? 'the close is outside of high and low' : 'the open is outside of high and low'
}
