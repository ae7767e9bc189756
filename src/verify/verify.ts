import { listTables, MASTER, toFilePath } from '../engine/define-stream.js'
import { numberToDay } from '../market/candle-file.js'
import { type Stock, toStockItems } from '../model/stock.js'
import {
  checkFolder,
  describeUnlisted,
  type FolderSymbols,
  readFormerList,
  readReport,
  readStocksIfIntact,
  selectFolderSymbols,
} from '../tables/output-folder.js'
import { countCoverage } from './calendar.js'
import {
  checkCandles,
  listMissingMarketInputs,
  mergeCandleFindings,
  readCandleFacts,
} from './candle-checks.js'
import {
  type CheckName,
  checkNames,
  countFindings,
  type Finding,
  findExceededLimits,
  sortFindings,
  type Verification,
  type VerifyOptions,
} from './finding.js'
import { verifyHistory } from './history-checks.js'
import { compareWithEarlier } from './life-of-findings.js'
import {
  checkDigests,
  checkFiles,
  findStreamFiles,
  LIST_DAMAGED,
  listMissingFiles,
  mergePerFile,
  readRecordedFiles,
} from './output-files.js'
import { readKnownActions } from './price-moves.js'
import { verifyRecords } from './record-checks.js'
import { readListingDays } from './sessions.js'
import { createStockIndex, findOtherIssuers } from './stray-records.js'
import { findContradictions } from './witness.js'

/**
 * Reads an output folder once, file by file, and reports what is wrong, except for findings that were
 * accepted. Changes nothing but the list of accepted findings, and that only with `accept`, and the list of
 * open ones, only with `isSettled`. While the master list is damaged, only `files` are checked, of all
 * stocks.
 *
 * @throws UsageError if there is no such folder, or no master list in it
 * @throws StorageError if its list of accepted findings is damaged
 * @throws UsageError for an unknown symbol
 */
export const verify = async (root: string, given: VerifyOptions): Promise<Verification> => {
  await checkFolder(root)
  const list = await readStocksIfIntact(root)
  const stocks = list ?? []
  // Without the list, every record is a stray, and what was found before is gone.
  const options: VerifyOptions =
    list === undefined ? { ...given, only: ['files'], symbols: undefined, since: undefined } : given
  const selection = await selectFolderSymbols(root, options, { stocks })
  const isSelected = createFilter(options, stocks, selection.wanted)
  const facts = await readFolderFacts(root, options, stocks)
  const { report, files, calendar, history } = facts
  const others = await makeChecks(facts)
  const found = list === undefined ? mergePerFile([LIST_DAMAGED, ...others]) : others
  const lastDay = calendar.last === undefined ? undefined : numberToDay(calendar.last)
  const tradedValues = new Map(facts.stocks.map(({ symbol, tradedValue }) => [symbol, tradedValue]))
  const selected = sortFindings(found.filter(isSelected), { tradedValues, last: lastDay })
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
    files: files.reduce((sum, { files: own }) => sum + own.length, 0),
    candles: facts.count,
    sessions: { count: calendar.sessions.length, ...(lastDay === undefined ? {} : { last: lastDay }) },
    history: history.range,
    coverage: countCoverage(facts.stocks, calendar),
    notes: [
      ...(list === undefined ? ['all checks but "files": the master list is damaged'] : []),
      ...describeUnlisted(selection),
      ...describeMissingInputs(facts, only),
      ...notes,
    ],
    counts: countFindings(fresh, only),
    findings: fresh,
    gone,
    accepted: accepted.map((entry) => ({
      ...entry,
      state: 'accepted',
      since: entry.since ?? entry.accepted,
    })),
    stale,
    ...changed,
    passed: findExceededLimits(
      fresh.filter(({ state }) => state === 'new'),
      limits,
    ),
  }
}

const readFolderFacts = async (
  root: string,
  options: Pick<VerifyOptions, 'streams' | 'exchange' | 'deep'>,
  stocks: readonly Stock[],
) => {
  const { streams, exchange, deep: isDeep = false } = options
  const report = await readReport(root)
  const files = await findStreamFiles(root, streams, { exchange, items: toStockItems(stocks) })
  const written = await readRecordedFiles(root)
  const listed = createStockIndex(stocks, await readFormerList(root))
  const lists = await verifyRecords(root, files, { listed, exchange, report })
  const listings = [...lists.rows].find(([file]) => file.endsWith('_equity_list.csv'))?.[1] ?? []
  const actions = readKnownActions(lists.rows, listed.owners)
  const market = await readCandleFacts(root, files, {
    rows: lists.rows,
    actions,
    listedOn: readListingDays(listings, listed, listTables(streams)),
    listed: stocks.map(({ Symbol: symbol }) => symbol),
    ...(report === undefined ? {} : { asOf: Date.parse(report.asOf), selected: report.stocks }),
  })
  const history = await verifyHistory(root, {
    sessions: market.calendar.sessions,
    streams,
    exchange,
    isDeep,
  })
  return { ...market, root, index: listed, report, files, written, isDeep, lists, history }
}

type FolderFacts = Awaited<ReturnType<typeof readFolderFacts>>

/** Makes all checks: some need the results of others, so a selection of checks would save little. */
const makeChecks = async (facts: FolderFacts): Promise<readonly Finding[]> => {
  const { root, files, written, isDeep, lists, history } = facts
  const found = [
    ...(await checkFiles(facts)),
    ...lists.findings,
    ...findOtherIssuers(facts.index),
    ...checkCandles(facts),
    ...findContradictions({ ...facts, trades: lists.trades }),
    ...history.findings,
    // Last: a file without a digest is no error, but it may have one.
    ...(isDeep ? await checkDigests(root, files, written) : []),
  ]
  return mergePerFile(mergeCandleFindings(found, facts))
}

/** What some checks could not find, and why. */
const describeMissingInputs = (facts: FolderFacts, only: readonly CheckName[]): readonly string[] =>
  [...listMissingFiles(facts), ...listMissingMarketInputs(facts), ...facts.history.missing].flatMap(
    ([checks, text]) => (text && checks.some((name) => only.includes(name)) ? [text] : []),
  )

const createFilter = (
  options: VerifyOptions,
  stocks: readonly Stock[],
  wanted: FolderSymbols['wanted'],
): ((finding: Finding) => boolean) => {
  const { only = checkNames, since } = options
  const isOfStocks = wanted === undefined ? () => true : createStockFilter(wanted, { ...options, stocks })
  return (finding) =>
    only.includes(finding.check) &&
    (since === undefined || finding.day === undefined || finding.day >= since) &&
    isOfStocks(finding)
}

/** Selects findings about these stocks, by symbol or by file; the file may be missing. */
const createStockFilter = (
  wanted: ReadonlySet<string>,
  {
    stocks,
    streams,
    exchange,
  }: Pick<VerifyOptions, 'streams' | 'exchange'> & { readonly stocks: readonly Stock[] },
): ((finding: Finding) => boolean) => {
  const items = toStockItems(stocks).filter(({ key }) => wanted.has(key))
  const outputs = streams.filter(({ work }) => work.of === MASTER).flatMap((stream) => stream.outputs)
  const files = new Set(outputs.flatMap((output) => items.map((item) => toFilePath(output, exchange, item))))
  return ({ symbol, other, file }) =>
    [symbol, other].some((name) => name !== undefined && wanted.has(name)) ||
    (file !== undefined && files.has(file))
}
