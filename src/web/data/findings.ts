import { join } from 'node:path'
import { compareWithBaseline, readBaseline } from '../../analysis/verify/baseline.js'
import { checkSeries } from '../../analysis/verify/candle-summaries.js'
import type { Finding } from '../../analysis/verify/finding.js'
import { readKnownActions } from '../../analysis/verify/stock-facts.js'
import type { CandleArrays } from '../../market/candle-file.js'
import { StorageError } from '../../model/errors.js'
import { readStateDocument } from '../../storage/file-system.js'
import type { StockFinding } from '../api/stock.js'
import { ACTION_FILES } from './adjustments.js'
import type { MarketFolder } from './market-folder.js'

/** A candle file of a stock or an index, as stored. */
export interface CheckedFile {
  readonly symbol: string
  readonly file: string
  readonly candles: CandleArrays
  readonly fault: string | undefined
  /** Indices may move freely: only impossible candles are checked. */
  readonly isStock: boolean
}

/** What `verify` finds in the candles of one stock. Checks that compare with other stocks need the whole market, and are left out. */
export const findInCandles = async (folder: MarketFolder, { fault, isStock, ...series }: CheckedFile): Promise<readonly StockFinding[]> => {
  const actions = (await readPriceActions(folder)).get(series.symbol) ?? []
  const found: readonly Finding[] = [
    ...(fault === undefined
      ? []
      : [{ check: 'files', severity: 'error', symbol: series.symbol, file: series.file, detail: fault } as const]),
    ...checkSeries(series, { isStock, actions, listedOn: undefined }).findings,
  ]
  const { fresh } = compareWithBaseline(found, await readAccepted(folder.root))
  return found
    .map((finding) => ({ ...finding, isAccepted: !fresh.includes(finding) }))
    .map(({ severity, check, day, detail, isAccepted }) => ({ severity, check, ...(day === undefined ? {} : { day }), detail, isAccepted }))
    .toSorted((one, other) => Number(one.isAccepted) - Number(other.isAccepted) || ((one.day ?? '') < (other.day ?? '') ? 1 : -1))
}

/** The price actions of all stocks, as `verify` reads them. */
const readPriceActions = ({ root, remember }: MarketFolder) =>
  remember('price actions', ACTION_FILES, async () => {
    const lists = await Promise.all(ACTION_FILES.map((file) => readStateDocument(join(root, file)).catch(() => undefined)))
    return readKnownActions(lists.map((list) => list ?? []))
  })

/** None if the list is damaged: then every finding counts as new, and `verify` says why. */
const readAccepted = (root: string) =>
  readBaseline(root).catch((error: unknown) => {
    if (error instanceof StorageError) return []
    throw error
  })
