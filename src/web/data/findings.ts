import { join } from 'node:path'
import { checkSeries } from '../../analysis/verify/candle-summaries.js'
import type { Finding } from '../../analysis/verify/finding.js'
import { compareWithBaseline, readBaseline } from '../../analysis/verify/life-of-findings.js'
import { readKnownActions } from '../../analysis/verify/stock-facts.js'
import type { CandleArrays } from '../../market/candle-file.js'
import { StorageError } from '../../model/errors.js'
import { readStateDocument } from '../../storage/file-system.js'
import type { StockFindings } from '../api/stock.js'
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
export const findInCandles = async (folder: MarketFolder, { fault, isStock, ...series }: CheckedFile): Promise<StockFindings> => {
  const known = await readPriceActions(folder)
  const actions = known.bySymbol.get(series.symbol) ?? []
  const found: readonly Finding[] = [
    ...(fault === undefined
      ? []
      : [{ check: 'files', severity: 'error', symbol: series.symbol, file: series.file, detail: fault } as const]),
    ...checkSeries(series, { isStock, actions, listedOn: undefined }).findings,
  ]
  const accepted = await readAccepted(folder.root)
  const { fresh } = compareWithBaseline(found, accepted.entries)
  const rows = found
    .map((finding) => ({ ...finding, isAccepted: !fresh.includes(finding) }))
    .map(({ severity, check, day, detail, isAccepted }) => ({ severity, check, ...(day === undefined ? {} : { day }), detail, isAccepted }))
    .toSorted((one, other) => Number(one.isAccepted) - Number(other.isAccepted) || ((one.day ?? '') < (other.day ?? '') ? 1 : -1))
  return { rows, problems: [...known.problems, ...accepted.problems] }
}

/** The price actions of all stocks, as `verify` reads them. Without a list, moves have fewer explanations. */
const readPriceActions = ({ root, remember }: MarketFolder) =>
  remember('price actions', ACTION_FILES, async () => {
    const lists = await Promise.all(ACTION_FILES.map((file) => tellUnreadable(readStateDocument(join(root, file)))))
    return { bySymbol: readKnownActions(lists.map(({ value }) => value ?? [])), problems: lists.flatMap(({ problems }) => problems) }
  })

/** Without the list of accepted findings, every finding counts as new. */
const readAccepted = async (root: string) => {
  const { value = [], problems } = await tellUnreadable(readBaseline(root))
  return { entries: value, problems }
}

/** A file that cannot be read is a problem for the page to show; any other error is ours. */
const tellUnreadable = <T>(read: Promise<T>): Promise<{ readonly value?: T; readonly problems: readonly string[] }> =>
  read.then(
    (value) => ({ value, problems: [] }),
    (error: unknown) => {
      if (error instanceof StorageError) return { problems: [error.message] }
      throw error
    },
  )
