import { numberToDay } from '../../market/candle-file.js'
import { isRow, readText } from '../../model/row.js'
import type { About } from '../api/about.js'
import type { Breadth, IndexRow, Mover } from '../api/market.js'
import type { SessionFacts } from './price-summary.js'
import { countSessions, getSession, type SummarizedItem } from './sessions.js'

/** A stock on the newest session. */
export interface TradedStock {
  readonly symbol: string
  readonly name: string
  readonly session: SessionFacts
}

export const listTraded = (all: readonly SummarizedItem[], day: number | undefined): readonly TradedStock[] =>
  all.flatMap((one) => {
    const session = getSession(one, day)
    return session === undefined ? [] : [{ symbol: one.item.key, name: nameOf(one.item.value), session }]
  })

const nameOf = (value: unknown): string => (isRow(value) ? readText(value.Name ?? value.DispSym) : '')

const CRORE = 1e7

/** Counts the stocks of a session; the figures are those of the SQL view `breadth`. */
export const countBreadth = (
  traded: readonly TradedStock[],
  { about, listed, all }: { readonly about: About; readonly listed: number; readonly all: readonly SummarizedItem[] },
): Breadth => {
  const sessions = traded.map(({ session }) => session)
  const count = (test: (session: SessionFacts) => boolean | undefined): number =>
    sessions.filter((session) => test(session) === true).length
  const changes = sessions.flatMap(({ change }) => change ?? []).sort((one, other) => one - other)
  const half = changes.length / 2
  const median = ((changes[Math.ceil(half) - 1] ?? 0) + (changes[Math.floor(half)] ?? 0)) / 2
  return {
    about,
    listed,
    traded: traded.length,
    advances: count(({ change = 0 }) => change > 0),
    declines: count(({ change = 0 }) => change < 0),
    unchanged: count(({ change }) => change === 0),
    newHighs: count(({ isNewHigh }) => isNewHigh),
    newLows: count(({ isNewLow }) => isNewLow),
    ...shareOf('above50Pct', sessions, ({ isAbove50 }) => isAbove50),
    ...shareOf('above200Pct', sessions, ({ isAbove200 }) => isAbove200),
    ...(changes.length === 0 ? {} : { medianChangePct: 100 * median }),
    turnoverCr: sessions.reduce((sum, { close, volume }) => sum + close * volume, 0) / CRORE,
    sessions: countSessions(all),
  }
}

const shareOf = (name: string, sessions: readonly SessionFacts[], read: (session: SessionFacts) => boolean | undefined) => {
  const known = sessions.map(read).filter((value) => value !== undefined)
  return known.length === 0 ? {} : { [name]: (100 * known.filter(Boolean).length) / known.length }
}

const MOVERS = 12
/** A stock that trades for less moves by single orders. */
const MIN_TURNOVER_CR = 1

/** The stocks that moved most, of those with a turnover of a crore; of all if there are none. */
export const findMovers = (traded: readonly TradedStock[]) => {
  const movers = traded.flatMap(toMover)
  const liquid = movers.filter(({ turnoverCr }) => turnoverCr >= MIN_TURNOVER_CR)
  const chosen = liquid.length === 0 ? movers : liquid
  const top = (weigh: (mover: Mover) => number): readonly Mover[] =>
    [...chosen].sort((one, other) => weigh(other) - weigh(one)).slice(0, MOVERS)
  return {
    gainers: top(({ changePct }) => changePct).filter(({ changePct }) => changePct > 0),
    losers: top(({ changePct }) => -changePct).filter(({ changePct }) => changePct < 0),
    busiest: top(({ volumeTimes = 0 }) => volumeTimes).filter(({ volumeTimes = 0 }) => volumeTimes > 1),
    total: chosen.length,
  }
}

const toMover = ({ symbol, name, session: { close, change, volume, volumeTimes } }: TradedStock): readonly Mover[] =>
  change === undefined
    ? []
    : [
        {
          ...{ symbol, name, close, changePct: 100 * change, volume, turnoverCr: (close * volume) / CRORE },
          ...(volumeTimes === undefined ? {} : { volumeTimes }),
        },
      ]

/** An index with its newest candle. */
export const toIndexRow = ({ item, summary }: SummarizedItem): readonly IndexRow[] => {
  const [newest] = summary.sessions
  if (newest === undefined) return []
  const { day, close, change } = newest
  return [
    {
      ...{ key: item.fileName, symbol: item.key, name: nameOf(item.value), day: numberToDay(day), close },
      ...(change === undefined ? {} : { changePct: 100 * change }),
      closes: Array.from(summary.closes, (value) => Number(value.toPrecision(6))),
    },
  ]
}
