import { median } from '../model/map.js'
import { nameFirst } from '../model/text.js'
import { ofSeries } from './candle-series.js'
import type { Summaries } from './candle-summaries.js'
import { type Finding, isMany } from './finding.js'
import type { SeriesDays } from './sessions.js'

/** The newest moves from session to session that are compared, and how many of them a series needs. */
const SESSIONS = 250
const MIN_MOVES = 200
const MIN_STOCKS = 10
/** Single moves must not decide. */
const MAX_MOVE = 0.05
/** The correlation of 200 moves that have nothing in common exceeds this once in a million series. */
const MIN_CORRELATION = 0.35
/** What is seldom traded follows the market a session later, too: by how much more a series does so that is late. */
const MIN_LEAD = 0.25
const MAX_NAMES = 10

type Series = Pick<SeriesDays, 'symbol' | 'file' | 'recent'>

/**
 * Finds series on true sessions whose values are those of the session before or after: they move as the market, the median of the stocks, did one
 * session away. One that hardly moves with the market shows nothing.
 */
export const findLateValues = ({ stocks, indices }: Pick<Summaries, 'stocks' | 'indices'>, all: readonly number[]): readonly Finding[] => {
  const sessions = all.slice(-SESSIONS - 1)
  const measure = createMeter(sessions)
  const moves = stocks.map(measure)
  const market = sessions.map((_, index) => {
    const then = moves.map((own) => own[index] as number).filter((move) => !Number.isNaN(move))
    return then.length < MIN_STOCKS ? Number.NaN : median(then)
  })
  const find = (what: string, series: readonly Series[]): readonly Finding[] => {
    const found = series.flatMap((one) => ofSeries(one, findLag(measure(one), market)))
    const names = found.map(({ symbol = '' }) => symbol)
    if (!isMany(found.length, series.length)) return found
    const detail = `${found.length} of ${series.length} ${what} have the values of another session than the median stock: ${nameFirst(names, MAX_NAMES)}`
    return [{ check: 'shifted-series', severity: 'warning', detail }]
  }
  return [...find('stocks', stocks), ...find('indices', indices)]
}

/** Measures the moves of a series to each session from the one before; NaN without a candle of both. */
const createMeter = (sessions: readonly number[]) => {
  const places = new Map(sessions.map((day, index) => [day, index]))
  return ({ recent: { days, closes } }: Series): Float64Array => {
    const moves = new Float64Array(sessions.length).fill(Number.NaN)
    for (let index = 1; index < days.length; index += 1) {
      const place = places.get(days[index] as number)
      if (place === undefined || places.get(days[index - 1] as number) !== place - 1) continue
      const move = Math.log((closes[index] as number) / (closes[index - 1] as number))
      moves[place] = Math.max(-MAX_MOVE, Math.min(MAX_MOVE, move))
    }
    return moves
  }
}

const findLag = (moves: ArrayLike<number>, market: ArrayLike<number>): readonly Finding[] => {
  const present = correlate(moves, market, 0)
  const lag = [1, -1].find((by) => {
    const other = correlate(moves, market, by)
    return other >= MIN_CORRELATION && other - present >= MIN_LEAD
  })
  if (lag === undefined) return []
  const detail = `its candles have the values of the session ${lag === 1 ? 'before' : 'after'}: it moves one session ${lag === 1 ? 'later' : 'earlier'} than the market`
  return [{ check: 'shifted-series', severity: 'warning', detail }]
}

/** The correlation of moves with those of the market so many sessions before; NaN if there are too few. */
const correlate = (moves: ArrayLike<number>, market: ArrayLike<number>, lag: number): number => {
  let [count, x, y, xx, yy, xy] = [0, 0, 0, 0, 0, 0]
  for (let index = 1; index < moves.length; index += 1) {
    const [one, other] = [moves[index] as number, market[index - lag] ?? Number.NaN]
    if (Number.isNaN(one + other)) continue
    count += 1
    x += one
    y += other
    xx += one * one
    yy += other * other
    xy += one * other
  }
  return count < MIN_MOVES ? Number.NaN : (count * xy - x * y) / Math.sqrt((count * xx - x * x) * (count * yy - y * y))
}
