import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as yieldTurn } from 'node:timers/promises'
import { dayToNumber } from '../../market/candle-file.js'
import type { Row } from '../../model/row.js'
import { toDay } from '../../model/trading-day.js'
import { MASTER } from '../../pipeline/work.js'
import { deriveCalendar, findMissingSessions, findStaleSymbol, type MarketCalendar, type SeriesDays, STALE_SESSIONS } from './calendar.js'
import { type CandleSeries, createDaySet, type DaySet, findImpossibleCandles, orderDays, parseCandles } from './candle-series.js'
import type { Finding } from './finding.js'
import type { StreamFiles } from './output-files.js'
import { findOutsideBands, getLastCloses, type LastCloses } from './price-bands.js'
import { findPriceMoves } from './price-moves.js'
import { createFingerprints, type Fingerprinted, findSharedCandles, type SharedCandles } from './shared-candles.js'
import type { KnownAction } from './stock-facts.js'

export interface CandleChecks {
  readonly findings: readonly Finding[]
  readonly notes: readonly string[]
  /** How many candles were read. */
  readonly count: number
  /** Day numbers. */
  readonly sessions: readonly number[]
}

interface CandleContext {
  /** The rows of lists of the whole market, by their file. */
  readonly rows: ReadonlyMap<string, readonly Row[]>
  readonly actions: ReadonlyMap<string, readonly KnownAction[]>
  /** Day numbers, by symbol. */
  readonly listedOn: ReadonlyMap<string, number>
  /** The symbols of the master list. */
  readonly listed: readonly string[]
  /** The "now" of the folder's last run, epoch milliseconds; price bands are of that day. */
  readonly asOf?: number
}

/** What stays in memory after a file was read: its days, its last closes and its findings. */
interface Summaries {
  readonly findings: Finding[]
  readonly stocks: SeriesDays[]
  readonly indices: DaySet[]
  readonly closes: LastCloses[]
  readonly prints: Fingerprinted[]
  count: number
}

const FILES_PER_TURN = 20

/**
 * Reads all candle files once, one at a time, and retains only a summary of each. Checks that need the market's calendar follow after the
 * last file. Indices are checked for impossible candles only: they may move freely and have calendars of their own.
 */
export const verifyCandles = async (root: string, all: readonly StreamFiles[], context: CandleContext): Promise<CandleChecks> => {
  const summaries: Summaries = { findings: [], stocks: [], indices: [], closes: [], prints: [], count: 0 }
  let filesRead = 0
  for (const { stream, files } of all)
    for (const { output, file, item } of files) {
      if (output.shape !== 'candles-per-item') continue
      const { candles, fault } = parseCandles(readFileSync(join(root, file)))
      const symbol = item?.key ?? file
      if (fault !== undefined) summaries.findings.push({ check: 'files', severity: 'error', symbol, file, detail: fault })
      summaries.count += candles.length
      if (item !== undefined) addSeries({ symbol, file, candles }, { summaries, isStock: stream.work.of === MASTER, context })
      filesRead += 1
      if (filesRead % FILES_PER_TURN === 0) await yieldTurn()
    }
  const shared = await findSharedCandles(root, summaries.prints)
  const calendar = deriveCalendar(
    summaries.stocks.map(({ days }) => days),
    summaries.indices,
  )
  return {
    findings: [
      ...shared.map(({ finding }) => finding),
      ...summaries.findings.filter((finding) => !isExplainedBy(shared, finding)),
      ...calendar.findings,
      ...summaries.stocks.flatMap((series) => [...findMissingSessions(series, calendar), ...findStaleSymbol(series, calendar)]),
      ...findStocksWithoutCandles(summaries, calendar, context),
      ...findBandViolations(summaries, context),
    ],
    notes: describeSkipped(summaries, calendar, context),
    count: summaries.count,
    sessions: calendar.sessions,
  }
}

const addSeries = (
  series: CandleSeries,
  { summaries, isStock, context }: { readonly summaries: Summaries; readonly isStock: boolean; readonly context: CandleContext },
): void => {
  const { findings, candles } = orderDays(series)
  summaries.findings.push(...findings, ...findImpossibleCandles(series))
  const days = candles && createDaySet(candles)
  if (candles === undefined || days === undefined) return
  if (!isStock) {
    summaries.indices.push(days)
    return
  }
  const ordered = { ...series, candles }
  const moves = findPriceMoves(ordered, {
    actions: context.actions.get(series.symbol) ?? [],
    listedOn: context.listedOn.get(series.symbol),
  })
  const toldUntil = new Set(moves.flatMap(({ check, day }) => (check === 'spliced-series' && day !== undefined ? [day] : [])))
  summaries.findings.push(...moves)
  summaries.stocks.push({ symbol: series.symbol, file: series.file, days, reportedDays: toldUntil })
  summaries.prints.push({ symbol: series.symbol, file: series.file, fingerprints: createFingerprints(candles) })
  const closes = getLastCloses(ordered)
  if (closes) summaries.closes.push(closes)
}

/** Whether a price move is only the edge of a finding about shared candles. */
const isExplainedBy = (shared: readonly SharedCandles[], { check, symbol, day }: Finding): boolean =>
  ['large-moves', 'spliced-series'].includes(check) &&
  shared.some(({ finding, switchDays }) => finding.symbol === symbol && day !== undefined && switchDays.has(day))

/** Listed stocks without any candle, though the market has some. Unreadable files have a finding of their own. */
const findStocksWithoutCandles = (
  { stocks, findings }: Summaries,
  { sessions }: MarketCalendar,
  { listed }: CandleContext,
): readonly Finding[] => {
  if (stocks.length === 0 || sessions.length <= STALE_SESSIONS) return []
  const known = new Set([...stocks, ...findings].map(({ symbol }) => symbol))
  return listed
    .filter((symbol) => !known.has(symbol))
    .map((symbol) => ({ check: 'stale-symbols', severity: 'warning', symbol, detail: 'it has no candles' }))
}

/** Bands are of the day of the run. They also apply to the session before it, which may be a long weekend earlier. */
const BANDS_VALID_DAYS = 4

const findBandViolations = ({ closes }: Summaries, { rows, actions, asOf }: CandleContext): readonly Finding[] => {
  if (asOf === undefined) return []
  const [complete = [], changed = []] = ['complete_price_bands.json', 'incremental_price_bands.json'].map((file) => rows.get(file) ?? [])
  return findOutsideBands(closes, { complete, changed, actions, since: dayToNumber(toDay(asOf)) - BANDS_VALID_DAYS })
}

const describeSkipped = ({ stocks }: Summaries, { last }: MarketCalendar, { asOf }: CandleContext): readonly string[] => {
  if (stocks.length === 0) return ['There are no candles of stocks, so prices and sessions were not checked.']
  if (last === undefined)
    return [
      `The candles of ${stocks.length} stocks, without indices, are too few to find the sessions, so missing sessions were not checked.`,
    ]
  if (asOf === undefined) return ['There is no report with the day of the price bands, so closes were not compared with them.']
  return []
}
