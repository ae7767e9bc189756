import { map } from 'rxjs'
import { z } from 'zod'
import { defineStream, perPart } from '../src/engine/define-stream.js'
import { wrappedJson } from '../src/http/answer.js'
import { get } from '../src/http/endpoint.js'
import { rejectShrunk, withoutCopies } from '../src/market/list-rules.js'
import { createWebSource } from '../src/market/web-source.js'
import { BadAnswerError, NothingAnsweredError } from '../src/model/errors.js'
import { formatPart, formatQuantity } from '../src/model/format.js'
import type { SampleMarket, SampleStock } from '../src/model/market.js'
import { createResult, type ItemResult } from '../src/model/outcome.js'
import { isRow, type Row, readText } from '../src/model/row.js'
import { type BuiltRowOf, row, textColumn } from '../src/model/row-schema.js'
import { isIsin } from '../src/model/stock.js'
import { firstThatAnswers, type Tier } from '../src/operators/first-that-answers.js'

/** A word of every known stage: LTASM - I (13), GSM - 0 (99), IBC - Receipt & GSM 0 (62). */
const KNOWN_STAGE = /\b(?:(?:LT|ST)?ASM|GSM|ESM|IBC)\b/

/**
 * A stock under surveillance. `Stage` is text such as `LTASM - I (13)` or `GSM - VI (6)`; a field that the
 * source lacks is empty.
 */
export const SurveillanceEntry = row({
  Symbol: textColumn('trading symbol', 'symbol'),
  Name: textColumn('name of the company', 'name'),
  ISIN: textColumn('ISIN of the stock', 'isin'),
  Stage: textColumn('stage of the surveillance, such as LTASM - I (13)', 'stage', {
    possible: { like: KNOWN_STAGE },
  }),
})
export interface SurveillanceEntry extends BuiltRowOf<typeof SurveillanceEntry> {}

type ListName = 'asm' | 'gsm'

const Sheet = z.looseObject({
  table: z.looseObject({
    cols: z.array(z.unknown()).nullish(),
    rows: z.array(z.looseObject({ c: z.array(z.unknown()).nullish() })),
  }),
})

/** What a tab of the spreadsheet has. */
interface SheetList {
  readonly entries: readonly SurveillanceEntry[]
  /** The rows that are no stock: without a symbol, or of fewer than five cells. */
  readonly skipped: number
}

const HEADER_SYMBOL = 'Symbol'

const splitAt = (end: RegExp, text: string): readonly string[] =>
  text.split(end).filter((part) => part !== '')

/**
 * The rows that the service took for a part of the header, if all cells of a column are text: it joins them
 * to the label of the column. Only an ISIN tells them from a header.
 */
const readLabels = (cols: readonly unknown[]): readonly SurveillanceEntry[] => {
  const labels = cols.map((col) => (isRow(col) ? readText(col.label) : ''))
  const [, symbols = '', names = '', isins = '', stages = ''] = labels
  const ISIN = splitAt(/\s+/, isins).filter(isIsin)
  const count = ISIN.length
  if (count === 0) return []
  const words = splitAt(/\s+/, symbols)
  const name = words.length > count ? names.replace(/^(?:\w+\s+)?name\s+/i, '') : names
  const columns = {
    Symbol: words.slice(-count),
    Name: count === 1 ? [name] : splitAt(/(?<=\b(?:limited|ltd\.?))\s+/i, name),
    ISIN,
    Stage: splitAt(/(?<=\))\s+/, stages.slice(Math.max(0, stages.search(KNOWN_STAGE)))),
  }
  if (Object.values(columns).some((cells) => cells.length !== count))
    throw new BadAnswerError(
      'schema',
      `the labels of the columns hold ${count} rows that cannot be told apart`,
    )
  return ISIN.map((isin, place) => ({
    Symbol: columns.Symbol[place] ?? '',
    Name: columns.Name[place] ?? '',
    ISIN: isin,
    Stage: columns.Stage[place] ?? '',
  }))
}

const sheet = get({
  name: 'sheet',
  host: 'sheet',
  path: '/spreadsheets/d/{sheetId}/gviz/tq?tqx=out:json&gid={tabId}',
  input: z.strictObject({ sheetId: z.string().min(1), tabId: z.string().min(1) }),
  read: (text, _, seen): SheetList => {
    const { table, warnings } = wrappedJson(Sheet)(text, undefined, seen)
    if (JSON.stringify(warnings ?? '').includes('truncated'))
      throw new BadAnswerError('truncated', 'the service has left out rows (data_truncated)')
    const rows = table.rows
      .map(({ c }) => (c ?? []).map((cell) => (isRow(cell) ? readText(cell.v) : '')))
      .filter((cells) => cells[1] !== HEADER_SYMBOL && cells.some((cell) => cell !== ''))
    const entries = rows.flatMap(([, symbol, Name = '', ISIN = '', Stage]) =>
      symbol && Stage !== undefined ? [{ Symbol: symbol, Name, ISIN, Stage }] : [],
    )
    return {
      entries: [...readLabels(table.cols ?? []), ...entries],
      skipped: rows.length - entries.length,
    }
  },
  shape: row({
    version: z.string().optional(),
    reqId: z.string().optional(),
    status: z.string().optional(),
    sig: z.string().optional(),
    warnings: z.array(z.unknown()).optional(),
    table: row({
      cols: z.array(z.unknown()).optional(),
      rows: z.array(row({ c: z.array(z.unknown()) })),
      parsedNumHeaders: z.number().optional(),
    }),
  }),
  sample: ({ sheetId, tabId }, market) => {
    const { id, asmTabId, gsmTabId } = market.sheet
    if (sheetId !== id || ![asmTabId, gsmTabId].includes(tabId)) return undefined
    const rows = sampleList(tabId === asmTabId ? 'asm' : 'gsm', market)
    const cells = [
      ['No', 'Symbol', 'Name', 'ISIN', 'Stage'],
      ...rows.map((row, place) => [place + 1, row.sym, row.DispSym, row.isin, row.stage]),
      ['', null],
    ]
    const table = { cols: [], rows: cells.map((row) => ({ c: row.map((v) => (v === null ? null : { v })) })) }
    return `/*O_o*/\ngoogle.visualization.Query.setResponse(${JSON.stringify({ version: '0.6', status: 'ok', table })});`
  },
})

const STAGES = {
  asm: ['LTASM - I (13)', 'STASM - I (11)', 'LTASM - II (14)', 'STASM - II (12)'],
  gsm: ['GSM - 0 (99)', 'IBC - Receipt & GSM 0 (62)', 'GSM - II (2)', 'GSM - IV (4)'],
} as const

/** A stock is on one list at most. The first stages are the most frequent ones. */
const sampleList = (list: ListName, market: SampleMarket): readonly Row[] =>
  market.stocks
    .filter((stock) => findList(stock) === list)
    .map((stock) => {
      const random = market.random('stage', stock.ISIN)
      return {
        sym: stock.Symbol,
        DispSym: stock.Name,
        isin: stock.ISIN,
        stage: STAGES[list][random.int(0, random.int(0, 3))],
      }
    })

/**
 * The list on which a stock is: the one of its last planned entry, unless it has left it, else the one on
 * which it always is.
 */
const findList = ({ watched, events = [] }: SampleStock): ListName | undefined => {
  const last = events.findLast((event) => 'list' in event)
  if (last === undefined) return watched
  return last.kind === 'surveillance-entry' ? last.list : undefined
}

const sampleListPage = (key: string, market: SampleMarket): readonly Row[] | undefined => {
  const list = (['asm', 'gsm'] as const).find((name) => key === toWebKey(name, market.exchange))
  return list && sampleList(list, market).map(({ stage, ...row }) => ({ ...row, [`${list}Stage`]: stage }))
}

const toWebKey = (list: ListName, exchange: string): string => `${exchange.toLowerCase()}-${list}-list`

const surveillancePages = createWebSource(
  z.string().regex(/^[a-z]+-(asm|gsm)-list$/, 'must be a surveillance list'),
  sampleListPage,
)

const toSurveillanceEntry = (row: Row): SurveillanceEntry => ({
  Symbol: readText(row.sym ?? row.Sym),
  Name: readText(row.DispSym ?? row.Name),
  ISIN: readText(row.isin ?? row.Isin),
  Stage: readText(row.asmStage ?? row.gsmStage ?? row.Stage),
})

const DATE = /^Date\(|^\d{1,4}([-/.])(?:\d{1,2}|[a-z]{3,9})\1\d{1,4}$/i

/** Why a record is none: its columns are not what they claim, as after a column was inserted before them. */
const findFault = ({ Symbol: symbol, ISIN, Stage }: SurveillanceEntry): string | undefined => {
  if (DATE.test(symbol)) return `the symbol ${symbol} is a date`
  if (ISIN !== '' && !isIsin(ISIN)) return `the ISIN of ${symbol} is ${JSON.stringify(ISIN)}`
  if (Stage !== '' && !KNOWN_STAGE.test(Stage)) return `the stage of ${symbol} is ${JSON.stringify(Stage)}`
  return undefined
}

/** With a larger share of wrong records, a source is not read right; a wrong record is never stored. */
const MAX_BAD_RECORDS = 0.1

/** @throws BadAnswerError for a list whose columns are not what they claim */
const takeSoundRecords = (
  rows: readonly SurveillanceEntry[],
  tell: (text: string) => void,
): readonly SurveillanceEntry[] => {
  if (rows.length === 0) throw new NothingAnsweredError('the list has no stock')
  const empty = (['ISIN', 'Stage'] as const).find((name) => rows.every((row) => row[name] === ''))
  if (empty !== undefined) throw new BadAnswerError('schema', `no record has a value in ${empty}`)
  const sound = rows.filter((row) => findFault(row) === undefined)
  const wrong = rows.flatMap((row) => findFault(row) ?? [])
  if (wrong.length === 0) return rows
  const text = `${formatPart(wrong.length, rows.length, 'record')} with wrong columns, such as: ${wrong[0]}`
  if (wrong.length > rows.length * MAX_BAD_RECORDS) throw new BadAnswerError('schema', text)
  tell(`left out ${text}`)
  return sound
}

const sheetOption = (description: string) =>
  z.string().min(1).optional().meta({ description, resume: 'same', isRequired: true })

const sheetOptions = {
  sheetId: sheetOption('id of the surveillance spreadsheet'),
  asmTabId: sheetOption('tab id of the ASM list in the spreadsheet'),
  gsmTabId: sheetOption('tab id of the GSM list in the spreadsheet'),
}

/**
 * Stocks under additional (ASM) and graded (GSM) surveillance: from the spreadsheet, else the data of the web
 * site, else its page.
 */
export const surveillanceLists = defineStream({
  name: 'surveillance-lists',
  summary: 'stocks under ASM and GSM surveillance',
  phase: 'enrichment',
  position: 9,
  workers: 2,
  timeoutMs: 10_000,
  options: sheetOptions,
  endpoints: [sheet, ...surveillancePages.endpoints],
  work: perPart(['asm', 'gsm'], (list, tools, file) => {
    const { ask, settings, stored, accepts, warn } = tools
    const { sheetId = '', asmTabId = '', gsmTabId = '' } = tools.options(sheetOptions)
    const tabId = list === 'asm' ? asmTabId : gsmTabId
    const tell = (text: string): void => warn(`${list}: ${text}`)
    const sources = [
      {
        name: 'spreadsheet',
        ask: () =>
          ask(sheet, { sheetId, tabId }, { failFast: true }).pipe(
            map(({ entries, skipped }) => {
              if (skipped > 0)
                tell(
                  `skipped ${formatQuantity(skipped, 'row')} of the spreadsheet without a symbol or five cells`,
                )
              return entries
            }),
          ),
      },
      ...surveillancePages.tiers(toWebKey(list, settings.exchange), tools).map((tier) => ({
        ...tier,
        ask: (isLast: boolean) =>
          tier
            .ask(isLast)
            .pipe(map((rows) => rows.map(toSurveillanceEntry).filter((record) => record.Symbol !== ''))),
      })),
    ]
    const tiersThatMay = (shrink: boolean): readonly Tier<ItemResult<SurveillanceEntry>>[] =>
      sources.map((source) => ({
        ...source,
        ask: (isLast) =>
          source.ask(isLast).pipe(
            map((rows) => createResult(withoutCopies(takeSoundRecords(rows, tell), tools, list))),
            rejectShrunk(file, { stored, warn, accepts: () => shrink }),
          ),
      }))
    // A source may be cut while the next one is whole, so a short list is accepted only if no source has a
    // longer one.
    const tiers = [...tiersThatMay(false), ...(accepts('shrink') ? tiersThatMay(true) : [])]
    return firstThatAnswers(tiers, (failure) => tell(`a source failed: ${failure}`))
  }),
  outputs: [
    {
      shape: 'array-per-item',
      file: '{exch}_{list}_list.json',
      emptyWhenLost: true,
      tables: [
        {
          name: 'surveillance',
          about: 'stocks under additional (ASM) or graded (GSM) surveillance',
          columns: [
            {
              name: 'list',
              type: 'VARCHAR',
              comment: 'ASM or GSM',
              from: { file: 'label' },
              convert: { sql: (label) => `upper(${label})`, value: (label) => label.toUpperCase() },
            },
            SurveillanceEntry,
          ],
          changes: {
            section: 'surveillance',
            key: (row) => readText(row.ISIN) || readText(row.Symbol),
            columns: ['Stage'],
            entered: ({ Stage }, { label }) => {
              const to = readText(Stage)
              return [{ change: 'entered', to, detail: `is in ${label.toUpperCase()} now: ${to}` }]
            },
            changed: ({ Stage }, { earlier, label }) => {
              const [from, to] = [readText(earlier.Stage), readText(Stage)]
              const detail = `moves in ${label.toUpperCase()} from ${from} to ${to}`
              return [{ change: 'changed', from, to, detail }]
            },
            left: ({ Stage }, { label }) => {
              const from = readText(Stage)
              return [
                { change: 'left', from, detail: `left ${label.toUpperCase()}, where it was in ${from}` },
              ]
            },
          },
          position: 12,
        },
      ],
    },
  ],
})
