import { join } from 'node:path'
import { MASTER } from '../engine/define-stream.js'
import { createDaySet } from '../market/series-days.js'
import type { Item } from '../model/outcome.js'
import type { Row } from '../model/row.js'
import { disk } from '../storage/disk.js'
import { yieldTurn } from '../storage/file-system.js'
import { getRecent, parseCandles } from './candle-series.js'
import type { Finding } from './finding.js'
import type { StreamFiles } from './output-files.js'
import type { KnownAction } from './price-moves.js'
import { checkSeries, measureTradedValue } from './series-checks.js'
import type { IndexSeries, SeriesDays } from './sessions.js'
import { createFingerprints, type Fingerprinted } from './shared-candles.js'

export interface ListFacts {
  readonly rows: ReadonlyMap<string, readonly Row[]>
  readonly actions: ReadonlyMap<string, readonly KnownAction[]>
  /** Day numbers. */
  readonly listedOn: ReadonlyMap<string, number>
  /** The band of each stock, in percent; infinite without a limit. */
  readonly bands: ReadonlyMap<string, number>
}

/** The facts that stay in memory after the files were read: days, last closes and findings of each series. */
export type Summaries = Awaited<ReturnType<typeof summarizeCandles>>

const CANDLE_FILES_PER_TURN = 20

/** Reads all candle files, one at a time. Of files of what is not listed, only the defects are found. */
export const summarizeCandles = async (root: string, all: readonly StreamFiles[], facts: ListFacts) => {
  const [findings, stocks, indices, prints]: [Finding[], SeriesDays[], IndexSeries[], Fingerprinted[]] = [
    [],
    [],
    [],
    [],
  ]
  const add = (file: string, item: Item, isStock: boolean, parsed: ReturnType<typeof parseCandles>): void => {
    const { key: symbol } = item
    const actions = facts.actions.get(symbol) ?? []
    const known = {
      isStock,
      actions,
      listedOn: facts.listedOn.get(symbol),
      hasBand: Number.isFinite(facts.bands.get(symbol)),
    }
    const { findings: own, moves, candles } = checkSeries({ symbol, file }, parsed, known)
    findings.push(...own)
    const days = candles && createDaySet(candles)
    if (candles === undefined || days === undefined) return
    const series = { symbol, file, days, recent: getRecent(candles) }
    if (!isStock) return void indices.push({ ...series, row: item.value as Row })
    const reportedDays = new Set(moves.flatMap(({ day }) => day ?? []))
    stocks.push({ ...series, tradedValue: measureTradedValue(candles), reportedDays })
    prints.push({ symbol, file, fingerprints: createFingerprints(candles) })
  }
  let [count, filesRead] = [0, 0]
  for (const { stream, files } of all)
    for (const { output, file, item } of files) {
      if (output.shape !== 'candles-per-item') continue
      const parsed = parseCandles(disk.readFileSync(join(root, file)))
      count += parsed.candles.length
      if (item !== undefined) add(file, item, stream.work.of === MASTER, parsed)
      else if (parsed.fault !== undefined)
        findings.push({ check: 'files', severity: 'error', symbol: file, file, detail: parsed.fault })
      filesRead += 1
      if (filesRead % CANDLE_FILES_PER_TURN === 0) await yieldTurn()
    }
  return { findings, stocks, indices, prints, count }
}
