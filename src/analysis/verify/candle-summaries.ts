import { join } from 'node:path'
import { createDaySet } from '../../market/series-days.js'
import type { Item } from '../../model/outcome.js'
import type { Row } from '../../model/row.js'
import { MASTER } from '../../pipeline/define-stream.js'
import { disk } from '../../storage/disk.js'
import { yieldTurn } from '../../storage/file-system.js'
import { type CandleSeries, getRecent, orderDays, parseCandles } from './candle-series.js'
import type { Finding } from './finding.js'
import { findImpossibleCandles, findOddVolumes, findRepeatedCandles, measureTradedValue } from './odd-candles.js'
import type { StreamFiles } from './output-files.js'
import { findPriceMoves, type StockFacts } from './price-moves.js'
import type { IndexSeries, SeriesDays } from './sessions.js'
import { createFingerprints, type Fingerprinted } from './shared-candles.js'
import type { KnownAction } from './stock-facts.js'

export interface CandleContext {
  /** The rows of lists of the whole market, by their file. */
  readonly rows: ReadonlyMap<string, readonly Row[]>
  readonly actions: ReadonlyMap<string, readonly KnownAction[]>
  /** Day numbers, by symbol. */
  readonly listedOn: ReadonlyMap<string, number>
  /** The symbols of the master list. */
  readonly listed: readonly string[]
  /** The band of each stock, in percent; infinite without a limit. */
  readonly bands: ReadonlyMap<string, number>
  /** How many of them the last run selected. */
  readonly selected?: number
  /** The "now" of the folder's last run, epoch milliseconds; price bands are of that day. */
  readonly asOf?: number
}

/** The facts that stay in memory after the files were read: days, last closes and findings of each series. */
export interface Summaries {
  readonly findings: Finding[]
  readonly stocks: SeriesDays[]
  readonly indices: IndexSeries[]
  readonly prints: Fingerprinted[]
  count: number
}

const FILES_PER_TURN = 20

/** Reads all candle files, one at a time. */
export const summarizeCandles = async (root: string, all: readonly StreamFiles[], context: CandleContext): Promise<Summaries> => {
  const summaries: Summaries = { findings: [], stocks: [], indices: [], prints: [], count: 0 }
  let filesRead = 0
  for (const { stream, files } of all)
    for (const { output, file, item } of files) {
      if (output.shape !== 'candles-per-item') continue
      const { candles, fault } = parseCandles(disk.readFileSync(join(root, file)))
      const symbol = item?.key ?? file
      if (fault !== undefined) summaries.findings.push({ check: 'files', severity: 'error', symbol, file, detail: fault })
      summaries.count += candles.length
      if (item !== undefined) addSeries({ symbol, file, candles }, { summaries, isStock: stream.work.of === MASTER, context, item })
      filesRead += 1
      if (filesRead % FILES_PER_TURN === 0) await yieldTurn()
    }
  return summaries
}

/**
 * The checks of one series alone. `candles` are absent if the file mixes two series. Indices are checked for impossible candles only: they may
 * move freely.
 */
export const checkSeries = (
  series: CandleSeries,
  { isStock, ...facts }: Omit<StockFacts, 'impossibleDays'> & { readonly isStock: boolean },
) => {
  const { findings, candles } = orderDays(series)
  const impossible = findImpossibleCandles(series)
  const ordered = candles && { ...series, candles }
  const moves = ordered && isStock ? findPriceMoves(ordered, { ...facts, impossibleDays: impossible.days }) : []
  const volumes = ordered && isStock ? [...findOddVolumes(ordered), ...findRepeatedCandles(ordered)] : []
  return { findings: [...findings, ...impossible.findings, ...moves, ...volumes], moves, candles }
}

const addSeries = (
  series: CandleSeries,
  of: { readonly summaries: Summaries; readonly isStock: boolean; readonly context: CandleContext; readonly item: Item },
): void => {
  const { summaries, isStock, context, item } = of
  const { symbol, file } = series
  const hasBand = Number.isFinite(context.bands.get(symbol))
  const facts = { isStock, actions: context.actions.get(symbol) ?? [], listedOn: context.listedOn.get(symbol), hasBand }
  const { findings, moves, candles } = checkSeries(series, facts)
  summaries.findings.push(...findings)
  const days = candles && createDaySet(candles)
  if (candles === undefined || days === undefined) return
  if (!isStock) {
    summaries.indices.push({ symbol, file, days, recent: getRecent(candles), row: item.value as Row })
    return
  }
  summaries.stocks.push({
    symbol,
    file,
    days,
    tradedValue: measureTradedValue(candles),
    reportedDays: new Set(moves.flatMap(({ day }) => day ?? [])),
    recent: getRecent(candles),
  })
  summaries.prints.push({ symbol, file, fingerprints: createFingerprints(candles) })
}
