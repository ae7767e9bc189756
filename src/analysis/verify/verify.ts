import { existsSync } from 'node:fs'
import { numberToDay } from '../../market/candle-file.js'
import { type Stock, toStockItems } from '../../model/stock.js'
import { MASTER, type StreamDefinition } from '../../pipeline/define-stream.js'
import { toFilePath } from '../../pipeline/output.js'
import { statePaths } from '../../storage/run-state.js'
import { checkFolder, readReport, readStocks, resolveSymbols } from '../output-folder.js'
import { verifyCandles } from './candle-checks.js'
import {
  type CheckName,
  checkNames,
  countFindings,
  type Finding,
  type FindingLimits,
  findExceededLimits,
  sortFindings,
  type Unchecked,
  type Verification,
} from './finding.js'
import { checkFileSizes, type RecordedFiles, readRecordedFiles, type StreamFiles } from './output-files.js'
import { createStockIndex, verifyRecords } from './record-checks.js'
import { readKnownActions, readListingDays } from './stock-facts.js'
import { findInterruptedWrites, findLeftovers, findStreamFiles, mergePerFile } from './stream-files.js'

export interface VerifyOptions {
  readonly streams: readonly StreamDefinition[]
  readonly exchange: string
  /** Only these checks; all if absent. */
  readonly only?: readonly CheckName[] | undefined
  /** Only findings about these stocks. */
  readonly symbols?: readonly string[] | undefined
  readonly limits: FindingLimits
}

/**
 * Reads an output folder once, file by file, and reports what is wrong. Changes nothing.
 *
 * @throws StorageError if there is no such folder, or no master list in it
 * @throws UsageError for an unknown symbol
 */
export const verify = async (
  root: string,
  { streams, exchange, only = checkNames, symbols, limits }: VerifyOptions,
): Promise<Verification> => {
  await checkFolder(root)
  const report = await readReport(root)
  const stocks = await readStocks(root)
  const wanted = symbols && resolveSymbols(symbols, stocks)
  const all = await findStreamFiles(root, streams, { exchange, stocks })
  const noted = await readRecordedFiles(root, report)
  const listed = createStockIndex(stocks)
  const lists = await verifyRecords(root, all, { listed, exchange })
  const listings = [...lists.rows].find(([file]) => file.endsWith('_equity_list.csv'))?.[1] ?? []
  const actions = readKnownActions(['history', 'upcoming'].flatMap((mode) => lists.rows.get(`${mode}_corporate_actions.json`) ?? []))
  const candles = await verifyCandles(root, all, {
    rows: lists.rows,
    actions,
    listedOn: readListingDays(listings, listed),
    listed: stocks.map(({ Symbol: symbol }) => symbol),
    ...(report === undefined ? {} : { asOf: Date.parse(report.asOf) }),
  })
  const found = [
    ...all.flatMap((stream) => checkFileSizes(stream, noted)),
    ...(await findInterruptedWrites(root, all)),
    ...lists.findings,
    ...candles.findings,
    ...findLeftovers(all),
  ]
  const isWanted = wanted === undefined ? () => true : createStockFilter(wanted, { stocks, streams, exchange })
  const findings = sortFindings(mergePerFile(found).filter((finding) => only.includes(finding.check) && isWanted(finding)))
  const last = candles.sessions.at(-1)
  return {
    folder: root,
    ...(report === undefined ? {} : { run: report.run, asOf: report.asOf }),
    stocks: stocks.length,
    files: all.reduce((sum, { files }) => sum + files.length, 0),
    candles: candles.count,
    sessions: { count: candles.sessions.length, ...(last === undefined ? {} : { last: numberToDay(last) }) },
    coverage: candles.coverage,
    notes: [...describeUnchecked(root, noted, all), ...candles.unchecked]
      .filter(({ checks }) => checks.some((check) => only.includes(check)))
      .map(({ text }) => text),
    counts: countFindings(findings, only),
    findings,
    passed: findExceededLimits(findings, limits),
  }
}

/** Selects findings about these stocks, by symbol or by file; the file may be missing. */
const createStockFilter = (
  wanted: ReadonlySet<string>,
  { stocks, streams, exchange }: Pick<VerifyOptions, 'streams' | 'exchange'> & { readonly stocks: readonly Stock[] },
): ((finding: Finding) => boolean) => {
  const items = toStockItems(stocks).filter(({ key }) => wanted.has(key))
  const outputs = streams.filter(({ work }) => work.of === MASTER).flatMap((stream) => stream.outputs)
  const files = new Set(outputs.flatMap((output) => items.map((item) => toFilePath(output, exchange, item))))
  return ({ symbol, other, file }) =>
    [symbol, other].some((name) => name !== undefined && wanted.has(name)) || (file !== undefined && files.has(file))
}

const describeUnchecked = (root: string, { report, sizes: left }: RecordedFiles, all: readonly StreamFiles[]): readonly Unchecked[] => {
  const empty = all.filter(({ files }) => files.length === 0).map(({ stream }) => stream.name)
  return [
    ...(report === undefined && Object.keys(left).length === 0
      ? [{ checks: ['files'], text: 'file sizes: no report of a run' } as const]
      : []),
    ...(empty.length > 0 ? [{ checks: ['stray-records', 'files'], text: `streams without files: ${empty.join(', ')}` } as const] : []),
    ...(existsSync(statePaths(root).run.record)
      ? [{ checks: checkNames, text: 'one day: a run is active, was interrupted or is incomplete, so files may be of different days' }]
      : []),
  ]
}
