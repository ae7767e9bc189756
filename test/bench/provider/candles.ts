import type { CandleColumns } from '../../../src/model/market.js'
import { createBenchTimeline, FIRST_RUN_AT } from './conditions.js'
import { createJsonResponse } from './template.js'

const VARIANTS = 64
const CANDLES = 2_500
/** Number of stocks that are searched for histories of that length. */
const POOL = 1_500
const FURTHER_DAYS_MS = 30 * 86_400_000

/** Answers to candle requests. The few variants are cached; those of a first run are created in advance. */
export const createCandleAnswers = () => {
  const all = createHistories()
  const responses = new Map<string, Buffer>()
  const answer = (place: number, start: number, end: number): Buffer => {
    const variant = place % all.length
    const history = all[variant] as CandleColumns
    const from = history.Time.findIndex((time) => time >= start)
    const to = history.Time.findLastIndex((time) => time <= end) + 1
    const key = `${variant} ${from} ${to}`
    const response =
      responses.get(key) ??
      createJsonResponse({ success: true, data: sliceCandles(history, from < 0 ? to : from, to) })
    responses.set(key, response)
    return response
  }
  all.forEach((_, place) => {
    answer(place, 1, Date.parse(FIRST_RUN_AT) / 1_000)
  })
  return answer
}

/** Histories with `CANDLES` days up to the benchmark's day, and some days after it. */
const createHistories = (): readonly CandleColumns[] => {
  const market = createBenchTimeline(POOL)(Date.parse(FIRST_RUN_AT) + FURTHER_DAYS_MS)
  const firstRunAt = Date.parse(FIRST_RUN_AT) / 1_000
  const whole: CandleColumns[] = []
  for (const { Sid, split } of market.stocks) {
    const columns = split === undefined ? market.candles(Sid, 1, market.asOf / 1_000) : undefined
    const known = columns?.Time.findLastIndex((time) => time <= firstRunAt) ?? -1
    if (columns !== undefined && known + 1 >= CANDLES)
      whole.push(sliceCandles(columns, known + 1 - CANDLES, columns.Time.length))
    if (whole.length === VARIANTS) return whole
  }
  throw new Error(`only ${whole.length} stocks have ${CANDLES} candles`)
}

/** The candles from index `from` (inclusive) to `to` (exclusive). */
const sliceCandles = ({ Time, o, h, l, c, v }: CandleColumns, from: number, to: number): CandleColumns => {
  const part = (column: readonly number[]) => column.slice(from, to)
  return { Time: part(Time), o: part(o), h: part(h), l: part(l), c: part(c), v: part(v) }
}
