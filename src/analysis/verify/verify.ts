import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as yieldTurn } from 'node:timers/promises'
import { numberToDay } from '../../market/candle-file.js'
import type { Item } from '../../model/outcome.js'
import { isRow } from '../../model/row.js'
import { type Stock, toStockItems } from '../../model/stock.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { toFilePath } from '../../pipeline/output.js'
import { MASTER } from '../../pipeline/work.js'
import { isTemporaryName } from '../../storage/atomic-file.js'
import { readStateDocument } from '../../storage/file-system.js'
import { readCompleteRun } from '../../storage/full-run.js'
import { readOutputSizes } from '../../storage/output-sizes.js'
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
  type Verification,
} from './finding.js'
import { checkFileSizes, findOutputs, listNames, type RecordedFiles, type StreamFiles } from './output-files.js'
import { createStockIndex, verifyRecords } from './record-checks.js'
import { readKnownActions, readListingDays } from './stock-facts.js'

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
  const noted: RecordedFiles = {
    ...(report === undefined ? {} : { report }),
    isComplete: (await readCompleteRun(root)) !== undefined,
    sizes: await readOutputSizes(root),
  }
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
    notes: [...describeUnchecked(root, noted), ...candles.notes],
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

const findStreamFiles = async (
  root: string,
  streams: readonly StreamDefinition[],
  { exchange, stocks }: { readonly exchange: string; readonly stocks: readonly Stock[] },
): Promise<readonly StreamFiles[]> => {
  const offered = new Map<string, readonly Item[]>([[MASTER, toStockItems(stocks)]])
  const all: StreamFiles[] = []
  for (const stream of streams) {
    const { of } = stream.work
    if (of !== undefined && !offered.has(of)) offered.set(of, await readItems(root, of, streams))
    all.push(await findOutputs(root, stream, { exchange, items: offered.get(of ?? '') ?? [] }))
    await yieldTurn()
  }
  return all
}

/** The items that a stream offers to its followers, from its stored list. */
const readItems = async (root: string, name: string, streams: readonly StreamDefinition[]): Promise<readonly Item[]> => {
  const stream = streams.find((one) => one.name === name)
  const rows = await readStateDocument(join(root, stream?.outputs[0].file ?? ''))
  return Array.isArray(rows) ? (stream?.offers?.(rows.filter(isRow), () => undefined) ?? []) : []
}

/** Finds temporary files of interrupted writes. The next run removes them. */
const findInterruptedWrites = async (root: string, all: readonly StreamFiles[]): Promise<readonly Finding[]> => {
  if (existsSync(statePaths(root).lock)) return []
  const folders = new Set(all.flatMap(({ stream }) => stream.outputs.map(({ file }) => file.slice(0, Math.max(0, file.lastIndexOf('/'))))))
  const names = await Promise.all(
    [...folders].map(async (folder) => (await listNames(join(root, folder))).map((name) => join(folder, name))),
  )
  return names
    .flat()
    .filter((file) => isTemporaryName(file.slice(file.lastIndexOf('/') + 1)))
    .sort()
    .map(
      (file): Finding => ({
        check: 'files',
        severity: 'warning',
        file,
        detail: 'a leftover of an interrupted write; the next run removes it',
      }),
    )
}

/** Finds files of items that are no longer listed. None if no file matches the list: then the list itself is wrong. */
const findLeftovers = (all: readonly StreamFiles[]): readonly Finding[] =>
  all
    .filter(({ isPerItem, files }) => isPerItem && files.some(({ item }) => item !== undefined))
    .flatMap(({ stream, files }) =>
      files
        .filter(({ item }) => item === undefined)
        .map(
          ({ file }): Finding => ({
            check: 'leftovers',
            severity: 'info',
            file,
            detail: `its ${stream.work.of === MASTER ? 'stock' : 'index'} is no longer in the list of ${stream.name}`,
          }),
        ),
    )

/** Merges the `files` findings of each file: a truncated file is also shorter than recorded. */
const mergePerFile = (findings: readonly Finding[]): readonly Finding[] => {
  const first = new Map<string, Finding>()
  for (const finding of findings) {
    if (finding.check !== 'files' || finding.file === undefined) continue
    const known = first.get(finding.file)
    first.set(finding.file, known === undefined ? finding : { ...finding, ...known, detail: `${known.detail}; ${finding.detail}` })
  }
  return [...findings.filter(({ check, file }) => check !== 'files' || file === undefined), ...first.values()]
}

const describeUnchecked = (root: string, { report, sizes: left }: RecordedFiles): readonly string[] => [
  ...(report === undefined && Object.keys(left).length === 0 ? ['There is no report of a run, so file sizes were not checked.'] : []),
  ...(existsSync(statePaths(root).run.record)
    ? ['A run is active, was interrupted or is incomplete: some files may be of this day, others of an earlier one.']
    : []),
]
