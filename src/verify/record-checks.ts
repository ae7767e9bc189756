import { join } from 'node:path'
import { CsvError } from 'csv-parse/sync'
import { DAYS, listTables } from '../engine/define-stream.js'
import { readTradesOf, type TradesByDay, WITNESSED_EXCHANGE } from '../market/witness.js'
import { DamagedFileError } from '../model/errors.js'
import { formatNumber } from '../model/format.js'
import { isRow, type Row } from '../model/row.js'
import { disk } from '../storage/disk.js'
import { yieldTurn } from '../storage/file-system.js'
import { readRecords } from '../storage/record-file.js'
import { parseCsv } from '../storage/table-rows.js'
import type { Finding } from './finding.js'
import { findBrokenTexts, type OutputFile, type StreamFiles } from './output-files.js'
import { createValueCheck, findLatestDay } from './possible-values.js'
import { findStrayDocument, findStrayRecords, findStrayRows, type StockIndex } from './stray-records.js'

interface RecordContext {
  readonly listed: StockIndex
  readonly exchange: string
  readonly report: Parameters<typeof findLatestDay>[0]
}

/** Lists with stocks of this exchange only. Others, such as price bands, also name funds and bonds. */
const STOCK_ONLY_STREAMS = ['surveillance-lists', 'bulk-block-deals']

/** Older files of single days are left as they are. */
const MAX_DAYS = 31

/** Reads all outputs but candles once: files over all stocks record by record, others as a whole. */
export const verifyRecords = async (root: string, all: readonly StreamFiles[], against: RecordContext) => {
  const findings: Finding[] = []
  /**
   * The rows of each market-wide list, by its file. Lines of a text are rows with the names of its first
   * line.
   */
  const rows = new Map<string, readonly Row[]>()
  /** What the exchange's files of the last days have: candles are compared with them. */
  let trades: TradesByDay = new Map()
  for (const { stream, files } of all)
    for (const file of stream.work.of === DAYS ? files.slice(-MAX_DAYS) : files) {
      if (file.output.shape === 'candles-per-item') continue
      const values = createValueCheck(listTables([stream]), findLatestDay(against.report, stream))
      try {
        findings.push(
          ...(await checkFile(root, file, {
            ...against,
            rows,
            values,
            isOfStocks: STOCK_ONLY_STREAMS.includes(stream.name),
          })),
          ...values.finish(file.file),
          ...findBrokenTexts(root, file),
        )
      } catch (error) {
        if (!(error instanceof SyntaxError || error instanceof DamagedFileError || error instanceof CsvError))
          throw error
        const detail = `it is not valid ${error instanceof CsvError ? 'CSV' : 'JSON'}`
        findings.push({ check: 'files', severity: 'error', file: file.file, ...ofItem(file), detail })
      }
      if (stream.name === 'exchange-daily' && against.exchange === WITNESSED_EXCHANGE)
        trades = new Map([...trades, ...readTradesOf(file.file, rows.get(file.file))])
      // Other checks do not need the rows of single days.
      if (stream.work.of === DAYS) rows.delete(file.file)
      await yieldTurn()
    }
  return { findings, rows, trades }
}

const ofItem = ({ item }: OutputFile): Pick<Finding, 'symbol'> =>
  item === undefined ? {} : { symbol: item.key }

interface FileContext extends RecordContext {
  readonly rows: Map<string, readonly Row[]>
  readonly values: ReturnType<typeof createValueCheck>
  readonly isOfStocks: boolean
}

const checkFile = async (
  root: string,
  { output, file, item }: OutputFile,
  { listed, exchange, rows, values, isOfStocks }: FileContext,
): Promise<readonly Finding[]> => {
  const path = join(root, file)
  switch (output.shape) {
    case 'rows-in-one-file': {
      const records: Row[] = []
      for await (const some of readRecords(path, file))
        for (const record of some) {
          const { Symbol: symbol, ISIN, SMA, incomeStat_cq: quarters } = record
          values.add(record)
          records.push({ Symbol: symbol, ISIN, SMA, profits: isRow(quarters) && quarters.NET_PROFIT })
        }
      rows.set(
        file,
        records.filter(({ SMA, profits }) => SMA || profits),
      )
      return findStrayRecords(file, records, listed)
    }
    case 'document-per-item': {
      const document: unknown = JSON.parse(await disk.readFile(path, 'utf8'))
      if (isRow(document)) values.add(document, item?.key)
      return item === undefined ? [] : findStrayDocument(file, document, item, listed)
    }
    case 'array-per-item': {
      const list: unknown = JSON.parse(await disk.readFile(path, 'utf8'))
      if (!Array.isArray(list)) throw new DamagedFileError(`${file} is not a list`)
      rows.set(file, list.filter(isRow))
      for (const record of rows.get(file) ?? []) values.add(record)
      return [
        ...findDuplicateRecords(file, list),
        ...(isOfStocks ? findStrayRows(file, list.filter(isRow), listed, exchange) : []),
      ]
    }
    default: {
      const text = await disk.readFile(path, 'utf8')
      rows.set(file, parseCsv(text))
      for (const record of rows.get(file) ?? []) values.add(record)
      return text.endsWith('\n')
        ? []
        : [{ check: 'files', severity: 'error', file, detail: 'its last line is truncated' }]
    }
  }
}

/** Finds rows of a market-wide list that are there twice, field by field. */
const findDuplicateRecords = (file: string, rows: readonly unknown[]): readonly Finding[] => {
  const count = rows.length - new Set(rows.map((row) => JSON.stringify(row))).size
  if (count === 0) return []
  return [
    {
      check: 'duplicate-records',
      severity: 'error',
      file,
      detail: `${formatNumber(count)} of its ${formatNumber(rows.length)} records repeat another one`,
    },
  ]
}
