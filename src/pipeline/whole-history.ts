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

/** Why the full history is fetched again. */
export interface Reason {
  readonly remark: string
  /** Whether a known corporate action divides all earlier prices. */
  readonly isAdjusted?: boolean
}

interface Replacing {
  readonly series: Series
  readonly tools: Tools
  readonly watch: RescaleWatch
}

/**
 * Fetches the full history. It replaces the stored one if it belongs to the same instrument, is not much shorter, its new candles are
 * plausible, and its prices are not a multiple of the stored ones that only an error explains.
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
    const shared = `${likeness.same} of ${likeness.moves} daily moves match the stored candles`
    refuse(tools, 'identity', `the full history belongs to another instrument (${shared})`)
  }
  checkLength(rows, stored, { tools, remark: reason.remark })
  if (rows.length === 0) return of(found(rows))
  return checkNew(newIn(rows, stored, likeness), series, tools).pipe(
    // The factor means nothing for a history that was accepted although it belongs to another instrument.
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
  const stays = `the stored file is unchanged; move it away to accept the new history (${remark})`
  if (rows.length < count * thresholds.leastShare)
    refuse(tools, 'shrink', `the full history has ${rows.length} candles instead of ${count}, ${stays}`)
  else if (end < newest) refuse(tools, 'shrink', `the full history ends on ${dayAt(end * 1_000)}, before the stored one, ${stays}`)
}

/** The candles that the stored history lacks, and recent ones that differ from it by more than 25 %. */
const newIn = (rows: Candles, { closes, newest }: StoredCloses, { factor }: Likeness): readonly NewCandle[] => {
  const isNew = ([, [time, , , , close]]: NewCandle): boolean => {
    const stored = closes.get(dayNumberOf(time))
    if (stored === undefined) return time > newest
    return close !== stored && !(Math.abs(close / (stored * factor) - 1) <= thresholds.prices.changed)
  }
  return newest === 0 ? [] : inPairs([...rows]).filter(isNew)
}

/** Accepts a multiple of the stored prices if a corporate action explains it, or if few series have one and it is not impossible. */
const checkFactor = (
  { factor }: Likeness,
  { isAdjusted = false }: Reason,
  { tools, watch }: Pick<Replacing, 'tools' | 'watch'>,
): Observable<unknown> => {
  if (!isMultiple(factor)) watch.agrees()
  if (!isMultiple(factor) || (isAdjusted && factor <= thresholds.rescale.raised && !isErrorFactor(factor))) return of(undefined)
  const times = `${Number(factor.toPrecision(3))} times the stored prices`
  watch.disagrees()
  if (isErrorFactor(factor)) refuse(tools, 'rescale', `no corporate action explains the new price level (${times})`)
  if (tools.accepts('rescale')) return of(undefined)
  return watch.areMany().pipe(
    map((areMany) => {
      if (areMany) refuse(tools, 'rescale', `the prices of many series changed in this run (${times})`)
    }),
  )
}
