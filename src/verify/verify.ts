import { listTables, MASTER, type StreamDefinition, toFilePath } from '../engine/define-stream.js'
import { numberToDay } from '../market/candle-file.js'
import { type Stock, toStockItems } from '../model/stock.js'
import type { Day } from '../model/trading-day.js'
import {
  checkFolder,
  describeUnlisted,
  type FolderSymbols,
  readReport,
  readStocks,
  type SymbolOptions,
  selectFolderSymbols,
} from '../tables/output-folder.js'
import { verifyCandles } from './candle-checks.js'
import {
  type Acceptance,
  type CheckName,
  checkNames,
  countFindings,
  type Finding,
  type FindingLimits,
  findExceededLimits,
  sortFindings,
  type Verification,
} from './finding.js'
import { verifyHistory } from './history-checks.js'
import { compareWithEarlier } from './life-of-findings.js'
import {
  checkDigests,
  checkFileSizes,
  describeUncheckedFiles,
  findInterruptedWrites,
  findLeftovers,
  findStreamFiles,
  mergePerFile,
  readRecordedFiles,
} from './output-files.js'
import { readKnownActions } from './price-moves.js'
import { createStockIndex, verifyRecords } from './record-checks.js'
import { readListingDays } from './sessions.js'

/** `symbols`: only findings about these stocks. */
export interface VerifyOptions extends SymbolOptions {
  readonly streams: readonly StreamDefinition[]
  readonly exchange: string
  /** Only these checks; all if absent. */
  readonly only?: readonly CheckName[] | undefined
  /** Only findings about this day or later, and those without a day. */
  readonly since?: Day | undefined
  /** Also reads every output and compares it with the digest of what a run wrote. */
  readonly deep?: boolean | undefined
  readonly limits: FindingLimits
  /** Reads every byte of the record of all days, and compares it with its digests. */
  readonly history?: boolean | undefined
  /** Accepts the selected findings: later verifications report only others. Forgets those of the selection that are no longer found. */
  readonly accept?: Acceptance | undefined
  /** New is what no earlier report had, whoever else has found it. With `isSettled`, what it reports is remembered as reported. */
  readonly isReport?: boolean | undefined
  /** Asked after the checks: whether the files are still those of the run that was checked. Then its findings are remembered. */
  readonly isSettled?: (() => Promise<boolean>) | undefined
}

/**
 * Reads an output folder once, file by file, and reports what is wrong, except for findings that were accepted. Changes nothing but the
 * list of accepted findings, and that only with `accept`, and the list of open ones, only with `isSettled`.
 *
 * @throws UsageError if there is no such folder, or no master list in it
 * @throws StorageError if its list of accepted findings is damaged
 * @throws UsageError for an unknown symbol
 */
export const verify = async (root: string, options: VerifyOptions): Promise<Verification> => {
  await checkFolder(root)
  const stocks = await readStocks(root)
  const selection = await selectFolderSymbols(root, options, { stocks })
  const isSelected = createFilter(options, stocks, selection.wanted)
  const { report, files, found, candles, history, unchecked } = await checkOutputs(root, { ...options, stocks })
  const last = candles.sessions.at(-1)
  const lastDay = last === undefined ? undefined : numberToDay(last)
  const selected = sortFindings(mergePerFile(found).filter(isSelected), { tradedValues: candles.tradedValues, last: lastDay })
  const { only = checkNames, limits } = options
  const { fresh, accepted, stale, gone, changed, notes } = await compareWithEarlier(root, selected, {
    ...options,
    isSelected,
    report,
    stocks,
  })
  return {
    folder: root,
    ...(report === undefined ? {} : { run: report.run, asOf: report.asOf }),
    stocks: stocks.length,
    files,
    candles: candles.count,
    sessions: { count: candles.sessions.length, ...(lastDay === undefined ? {} : { last: lastDay }) },
    history: history.range,
    coverage: candles.coverage,
    notes: [
      ...describeUnlisted(selection),
      ...unchecked.filter(({ checks }) => checks.some((check) => only.includes(check))).map(({ text }) => text),
      ...notes,
    ],
    counts: countFindings(fresh, only),
    findings: fresh,
    gone,
    accepted: accepted.map((entry) => ({ ...entry, state: 'accepted', since: entry.since ?? entry.accepted })),
    stale,
    ...changed,
    passed: findExceededLimits(
      fresh.filter(({ state }) => state === 'new'),
      limits,
    ),
  }
}

/** Makes all checks: some need the results of others, so a selection of checks would save little. */
const checkOutputs = async (
  root: string,
  options: Pick<VerifyOptions, 'streams' | 'exchange' | 'deep' | 'history'> & { readonly stocks: readonly Stock[] },
) => {
  const { streams, exchange, stocks, deep = false, history: isWhole = false } = options
  const report = await readReport(root)
  const all = await findStreamFiles(root, streams, { exchange, items: toStockItems(stocks) })
  const recorded = await readRecordedFiles(root)
  const damaged = deep ? await checkDigests(root, all, recorded) : []
  const listed = createStockIndex(stocks)
  const lists = await verifyRecords(root, all, { listed, exchange })
  const listings = [...lists.rows].find(([file]) => file.endsWith('_equity_list.csv'))?.[1] ?? []
  const actions = readKnownActions(['history', 'upcoming'].flatMap((mode) => lists.rows.get(`${mode}_corporate_actions.json`) ?? []))
  const candles = await verifyCandles(root, all, {
    rows: lists.rows,
    actions,
    listedOn: readListingDays(listings, listed, listTables(streams)),
    listed: stocks.map(({ Symbol: symbol }) => symbol),
    ...(report === undefined ? {} : { asOf: Date.parse(report.asOf), selected: report.stocks }),
  })
  const history = await verifyHistory(root, { sessions: candles.sessions, streams, exchange, isWhole })
  const found = [
    ...all.flatMap((stream) => checkFileSizes(stream, recorded)),
    ...(await findInterruptedWrites(root, all)),
    ...lists.findings,
    ...candles.findings,
    ...findLeftovers(all),
    ...history.findings,
    // Last: a file without a digest is no error, but it may have one.
    ...damaged,
  ]
  const files = all.reduce((sum, { files: own }) => sum + own.length, 0)
  const unchecked = [...describeUncheckedFiles(root, recorded, all), ...candles.unchecked, ...history.unchecked]
  return { report, files, found, candles, history, unchecked }
}

/** Selects findings by check, day and stock. */
const createFilter = (
  options: VerifyOptions,
  stocks: readonly Stock[],
  wanted: FolderSymbols['wanted'],
): ((finding: Finding) => boolean) => {
  const { only = checkNames, since } = options
  const isOfStocks = wanted === undefined ? () => true : createStockFilter(wanted, { ...options, stocks })
  return (finding) =>
    only.includes(finding.check) && (since === undefined || finding.day === undefined || finding.day >= since) && isOfStocks(finding)
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
