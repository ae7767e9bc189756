import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as othersTurn } from 'node:timers/promises'
import type { Row } from '../model/row.js'
import { dayAt } from '../model/trading-day.js'
import { MASTER } from '../pipeline/work.js'
import { type Calendar, calendarOf } from './calendar.js'
import { numberOfDay, readCandles, type Series } from './candle-columns.js'
import { type DaysHeld, daysHeld } from './days-held.js'
import { daysInOrder } from './days-in-order.js'
import type { Finding } from './finding.js'
import { impossibleCandles } from './impossible-candles.js'
import type { KnownAction } from './known-actions.js'
import { missingSessions, type SeriesDays, STALE_SESSIONS, staleSymbol } from './missing-sessions.js'
import type { StreamFiles } from './outputs-in.js'
import { type LastCloses, lastClosesOf, outsideBands } from './price-bands.js'
import { priceMoves } from './price-moves.js'
import { type Printed, printsOf, type Shared, sharedCandles } from './shared-candles.js'

export interface CandleChecks {
  readonly findings: readonly Finding[]
  readonly notes: readonly string[]
  /** How many candles were read. */
  readonly count: number
  /** Day numbers. */
  readonly sessions: readonly number[]
}

interface Against {
  /** The rows of lists of the whole market, by their file. */
  readonly rows: ReadonlyMap<string, readonly Row[]>
  readonly actions: ReadonlyMap<string, readonly KnownAction[]>
  /** Day numbers, by symbol. */
  readonly listedOn: ReadonlyMap<string, number>
  /** The symbols of the master list. */
  readonly listed: readonly string[]
  /** The "now" of the folder's last run, epoch milliseconds; bands are of that day. */
  readonly asOf?: number
}

/** What is kept of each file once it is read: the days that it holds, and its end. */
interface Kept {
  readonly findings: Finding[]
  readonly stocks: SeriesDays[]
  readonly indices: DaysHeld[]
  readonly closes: LastCloses[]
  readonly prints: Printed[]
  count: number
}

const A_TURN = 20

/**
 * Reads all candle files once, one at a time, and keeps of each only which days it holds. What needs the market's calendar comes after the
 * last. Of indices only what cannot be in any series counts: they may move as they like, and each has a calendar of its own.
 */
export const candleChecks = async (root: string, all: readonly StreamFiles[], against: Against): Promise<CandleChecks> => {
  const kept: Kept = { findings: [], stocks: [], indices: [], closes: [], prints: [], count: 0 }
  let place = 0
  for (const { stream, files } of all)
    for (const { output, file, item } of files) {
      if (output.shape !== 'candles-per-item') continue
      const { candles, fault } = readCandles(readFileSync(join(root, file)))
      const symbol = item?.key ?? file
      if (fault !== undefined) kept.findings.push({ check: 'files', severity: 'error', symbol, file, detail: fault })
      kept.count += candles.length
      if (item !== undefined) keep({ symbol, file, candles }, { kept, isStock: stream.work.of === MASTER, against })
      place += 1
      if (place % A_TURN === 0) await othersTurn()
    }
  const shared = await sharedCandles(root, kept.prints)
  const calendar = calendarOf(
    kept.stocks.map(({ days }) => days),
    kept.indices,
  )
  return {
    findings: [
      ...shared.map(({ finding }) => finding),
      ...kept.findings.filter((finding) => !isToldBy(shared, finding)),
      ...calendar.findings,
      ...kept.stocks.flatMap((series) => [...missingSessions(series, calendar), ...staleSymbol(series, calendar)]),
      ...withoutCandles(kept, calendar, against),
      ...bandFindings(kept, against),
    ],
    notes: notesOn(kept, calendar, against),
    count: kept.count,
    sessions: calendar.sessions,
  }
}

const keep = (
  series: Series,
  { kept, isStock, against }: { readonly kept: Kept; readonly isStock: boolean; readonly against: Against },
): void => {
  const { findings, candles } = daysInOrder(series)
  kept.findings.push(...findings, ...impossibleCandles(series))
  const days = candles && daysHeld(candles)
  if (candles === undefined || days === undefined) return
  if (!isStock) {
    kept.indices.push(days)
    return
  }
  const ordered = { ...series, candles }
  const moves = priceMoves(ordered, { actions: against.actions.get(series.symbol) ?? [], listedOn: against.listedOn.get(series.symbol) })
  const toldUntil = new Set(moves.flatMap(({ check, day }) => (check === 'spliced-series' && day !== undefined ? [day] : [])))
  kept.findings.push(...moves)
  kept.stocks.push({ symbol: series.symbol, file: series.file, days, toldUntil })
  kept.prints.push({ symbol: series.symbol, file: series.file, prints: printsOf(candles) })
  const closes = lastClosesOf(ordered)
  if (closes) kept.closes.push(closes)
}

/** A move of the price where two series meet. */
const isToldBy = (shared: readonly Shared[], { check, symbol, day }: Finding): boolean =>
  ['large-moves', 'spliced-series'].includes(check) &&
  shared.some(({ finding, cuts }) => finding.symbol === symbol && day !== undefined && cuts.has(day))

/** Listed stocks of which no candle is there, where the market's are. A file that cannot be read is told as such. */
const withoutCandles = ({ stocks, findings }: Kept, { sessions }: Calendar, { listed }: Against): readonly Finding[] => {
  if (stocks.length === 0 || sessions.length <= STALE_SESSIONS) return []
  const known = new Set([...stocks, ...findings].map(({ symbol }) => symbol))
  return listed
    .filter((symbol) => !known.has(symbol))
    .map((symbol) => ({ check: 'stale-symbols', severity: 'warning', symbol, detail: 'no candle of it is there' }))
}

/** Bands are of the day of the run; closes of the session before it, over a long weekend too, still belong to them. */
const BANDS_HOLD_DAYS = 4

const bandFindings = ({ closes }: Kept, { rows, actions, asOf }: Against): readonly Finding[] => {
  if (asOf === undefined) return []
  const [complete = [], changed = []] = ['complete_price_bands.json', 'incremental_price_bands.json'].map((file) => rows.get(file) ?? [])
  return outsideBands(closes, { complete, changed, actions, since: numberOfDay(dayAt(asOf)) - BANDS_HOLD_DAYS })
}

const notesOn = ({ stocks }: Kept, { last }: Calendar, { asOf }: Against): readonly string[] => {
  if (stocks.length === 0) return ['There are no candles of stocks, so neither prices nor sessions were judged.']
  if (last === undefined)
    return [`The candles of ${stocks.length} stocks, without indices, cannot tell which days were sessions: none is called missing.`]
  if (asOf === undefined) return ['No report says of which day the price bands are, so closes were not compared with them.']
  return []
}
