import { map, type Observable, of, switchMap } from 'rxjs'
import { thresholds } from '../market/never-worse.js'
import { dayNumberOf, isAnother, isErrorFactor, isMultiple, type Likeness, likenessOf } from '../market/same-series.js'
import type { Candle, Candles } from '../model/candle.js'
import { type Found, found } from '../model/outcome.js'
import { dayAt } from '../model/trading-day.js'
import { closesIn, type StoredCloses } from './candle-file.js'
import type { Tools } from './define-stream.js'
import { checkNew, inPairs, type NewCandle } from './new-candles.js'
import { refuse } from './refuse.js'
import type { RescaleWatch } from './rescale-watch.js'
import { candlesFrom, FIRST_CANDLE, type Series } from './series.js'

/** Why the whole history is asked for again. */
export interface Reason {
  readonly remark: string
  /** Whether a corporate action is known that divides all earlier prices. */
  readonly isAdjusted?: boolean
}

interface Replacing {
  readonly series: Series
  readonly tools: Tools
  readonly watch: RescaleWatch
}

/**
 * Asks for the whole history, which takes the place of the stored one if it is one of the same instrument and not much shorter, if its new
 * candles can be, and if its prices are no multiple of the stored ones that only an error makes.
 */
export const wholeHistory = (reason: Reason, replacing: Replacing): Observable<Found<Candle>> => {
  const { series, tools } = replacing
  return candlesFrom(FIRST_CANDLE, series, tools).pipe(
    switchMap((rows) => tools.stored.text(series.file).pipe(switchMap((text) => replaced({ rows, text: text ?? '', reason }, replacing)))),
  )
}

interface Answered {
  readonly rows: Candles
  readonly text: string
  readonly reason: Reason
}

const replaced = ({ rows, text, reason }: Answered, { series, tools, watch }: Replacing): Observable<Found<Candle>> => {
  const stored = closesIn(text)
  const likeness = likenessOf(stored.closes, rows)
  const isOfAnother = isAnother(likeness)
  if (isOfAnother) {
    const shared = `${likeness.same} of ${likeness.moves} moves from day to day are those of the stored one`
    refuse(tools, 'identity', `the whole history is that of another instrument (${shared})`)
  }
  checkLength(rows, stored, { tools, remark: reason.remark })
  if (rows.length === 0) return of(found(rows))
  return checkNew(newIn(rows, stored, likeness), series, tools).pipe(
    // What is accepted as another stock's is no multiple of this one's.
    switchMap(() => (isOfAnother ? of(undefined) : checkFactor(likeness, reason, { tools, watch }))),
    map(() => ({ ...found(rows), whole: true, remark: reason.remark })),
  )
}

const checkLength = (
  rows: Candles,
  { count, newest }: StoredCloses,
  { tools, remark }: { readonly tools: Tools; readonly remark: string },
): void => {
  const end = rows.at(-1)?.[0] ?? 0
  const stays = `so the stored file stays: move it away to take the new one (${remark})`
  if (rows.length < count * thresholds.leastShare)
    refuse(tools, 'shrink', `the whole history holds ${rows.length} candles instead of ${count}, ${stays}`)
  else if (end < newest) refuse(tools, 'shrink', `the whole history ends on ${dayAt(end * 1_000)}, before the stored one, ${stays}`)
}

/** The candles that the stored history lacks, and those of its last days that are other ones by far. */
const newIn = (rows: Candles, { closes, newest }: StoredCloses, { factor }: Likeness): readonly NewCandle[] => {
  const isNew = ([, [time, , , , close]]: NewCandle): boolean => {
    const stored = closes.get(dayNumberOf(time))
    if (stored === undefined) return time > newest
    return !(Math.abs(close / (stored * factor) - 1) <= thresholds.prices.changed)
  }
  return newest === 0 ? [] : inPairs([...rows]).filter(isNew)
}

/** Multiples that a corporate action explains pass, and those of single stocks; many at once, and those that no action makes, do not. */
const checkFactor = (
  { factor }: Likeness,
  { isAdjusted = false }: Reason,
  { tools, watch }: Pick<Replacing, 'tools' | 'watch'>,
): Observable<unknown> => {
  if (!isMultiple(factor)) watch.agrees()
  if (!isMultiple(factor) || (isAdjusted && factor <= thresholds.rescale.raised)) return of(undefined)
  const times = `${Number(factor.toPrecision(3))} times as high`
  watch.disagrees()
  if (isErrorFactor(factor)) refuse(tools, 'rescale', `no corporate action explains how the stored prices have changed (${times})`)
  if (tools.accepts('rescale')) return of(undefined)
  return watch.areMany().pipe(
    map((areMany) => {
      if (areMany) refuse(tools, 'rescale', `the stored prices of many series have changed in this run alone (${times})`)
    }),
  )
}
