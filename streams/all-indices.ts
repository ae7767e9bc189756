import { forkJoin, map, of, switchMap } from 'rxjs'
import { z } from 'zod'
import { defineStream, once } from '../src/engine/define-stream.js'
import { PREVIOUS_FOLDER } from '../src/engine/storage.js'
import { exactly, post } from '../src/http/endpoint.js'
import { rejectShrunk, rejectTruncated } from '../src/market/list-rules.js'
import { readCountedRows } from '../src/market/list-sources.js'
import { compareIdentifiers, formatSentence, readStoredRows } from '../src/market/listings.js'
import { BadAnswerError } from '../src/model/errors.js'
import { formatQuantity } from '../src/model/format.js'
import { createResult, skippedResult } from '../src/model/outcome.js'
import { type Row, readText } from '../src/model/row.js'
import { column, dataEnvelope, type RowOf, row, textColumn } from '../src/model/row-schema.js'
import { createFileNames } from '../src/model/stock.js'

/**
 * A market index, with the fields observed in answers. `Pchange` is in points, `PPerchange` in percent;
 * candle requests use `Sid`.
 */
export const MarketIndex = row({
  Sym: textColumn('symbol of the index', 'symbol', { required: true, key: true }),
  DispSym: textColumn('name of the index', 'name'),
  Sid: column(z.number(), {
    about: "the provider's id of the index",
    sql: ['sid', 'VARCHAR'],
    or: 'text',
    required: true,
    key: true,
  }),
  Ltp: column(z.number().nullable(), { about: 'last value, points', sql: 'value', usual: true }),
  Pchange: column(z.number().nullable(), {
    about: 'against the close before, as answered',
    sql: 'change',
    usual: true,
  }),
  PPerchange: column(z.number().nullable(), {
    about: 'against the close before, percent',
    sql: 'change_percent',
    unit: '%',
    isChange: true,
    usual: true,
  }),
  Exch: textColumn('as answered', 'exchange', { key: true }),
  Seg: textColumn('as answered', 'segment', { key: true }),
  Inst: textColumn('as answered', 'instrument', { key: true }),
  Open: z.number().optional(),
  High: z.number().optional(),
  Low: z.number().optional(),
  Volume: z.number().optional(),
})
export interface MarketIndex extends RowOf<typeof MarketIndex> {}

/** `Exch` and `Inst` of an index. */
const INDEX = 'IDX'

/** Other lists, such as that of all stocks, have the same address. */
const isNoIndex = ({ Inst = INDEX, Isin }: Row): boolean => Inst !== INDEX || Isin !== undefined

/** As observed on the web site of the provider; the interface document does not describe it. */
const REQUEST = {
  data: {
    sort: 'Sym',
    sorder: 'asc',
    count: 500,
    fields: [
      'Sym',
      'DispSym',
      'Sid',
      'Exch',
      'Seg',
      'Inst',
      'Open',
      'High',
      'Low',
      'Ltp',
      'Pchange',
      'PPerchange',
      'Volume',
    ],
    params: [
      { field: 'Inst', op: '', val: INDEX },
      { field: 'Exch', op: '', val: INDEX },
    ],
    pgno: 1,
  },
} as const

const indices = post({
  name: 'indices',
  host: 'analytics',
  path: '/customscan/fetchdt',
  input: z.strictObject({ data: exactly(REQUEST.data) }),
  read: (text, _, seen) => {
    const answer = readCountedRows<MarketIndex>(text, seen)
    if (answer.rows.every(isNoIndex)) throw new BadAnswerError('schema', 'the list has no index')
    return answer
  },
  shape: dataEnvelope(z.array(MarketIndex)),
  sample: (_, market) => ({
    code: 0,
    data: market.indices.map(({ Sym, DispSym, Sid }) => {
      const now = market.asOf / 1_000
      const { c } = market.candles(String(Sid), now - 15 * 86_400, now)
      const [before = 0, Ltp = before] = c.slice(-2)
      const isKnown = !market.random('index', Sid).chance(0.05)
      return {
        DispSym,
        Sym,
        Sid,
        Exch: INDEX,
        Seg: 'I',
        Inst: INDEX,
        Ltp,
        Pchange: isKnown ? Ltp - before : null,
        PPerchange: isKnown ? ((Ltp - before) / before) * 100 : null,
      }
    }),
    tot_rec: market.indices.length,
  }),
})

const toIndexIdentifiers = ({ Sym, Sid }: Row) => ({ symbol: readText(Sym), Sid: readText(Sid) })

/**
 * Whether most indices are as before: a session changes nearly all of them, and some markets abroad trade on
 * other days.
 */
const isUnchanged = (before: readonly object[], now: readonly object[]): boolean => {
  const known = new Set(before.map((row) => JSON.stringify(row)))
  return now.filter((row) => known.has(JSON.stringify(row))).length * 2 > now.length
}

/**
 * All market indices, rows as answered. Two indices may share a symbol; the `Sid` then makes the names of
 * their candle files unique.
 */
export const allIndices = defineStream({
  name: 'all-indices',
  summary: 'all market indices',
  phase: 'enrichment',
  position: 14,
  workers: 1,
  timeoutMs: 30_000,
  endpoints: [indices],
  work: once((tools, file) =>
    tools.ask(indices, REQUEST).pipe(
      rejectTruncated(REQUEST.data.count, tools),
      rejectShrunk(file, tools),
      switchMap((found) =>
        readStoredRows(tools.stored, file).pipe(
          map((earlier) => {
            const { gone } = compareIdentifiers(
              earlier.map(toIndexIdentifiers),
              [...found.rows].map(toIndexIdentifiers),
            )
            const names = gone.map(({ symbol, Sid }) => `${symbol} (${Sid})`)
            for (const text of formatSentence(
              'no longer listed',
              names,
              'their candle files stay as they are',
            ))
              tools.warn(text)
            return found
          }),
        ),
      ),
    ),
  ),
  look: (_, tools, file) =>
    forkJoin([
      readStoredRows(tools.stored, file),
      readStoredRows(tools.stored, `${PREVIOUS_FOLDER}/${file}`),
    ]).pipe(
      switchMap(([stored, previous]) => {
        // Values that did not change with the last session cannot show the next one.
        if (stored.length === 0 || (previous.length > 0 && isUnchanged(stored, previous)))
          return of(createResult<MarketIndex>([]))
        return tools
          .ask(indices, REQUEST)
          .pipe(map(({ rows }) => (isUnchanged(stored, [...rows]) ? skippedResult : createResult(rows))))
      }),
    ),
  offers: (rows, warn) => {
    const named = rows.filter(({ Sym, Sid }) => readText(Sym) !== '' && readText(Sid) !== '')
    const usable = [
      ...new Map(named.map((row) => [`${readText(row.Sym)}\n${readText(row.Sid)}`, row])).values(),
    ]
    if (usable.length < rows.length)
      warn(
        `skipped ${formatQuantity(rows.length - usable.length, 'index', 'indices')} without symbol or Sid, or duplicate`,
      )
    const names = createFileNames(
      usable.map(({ Sym, Sid }) => ({ key: readText(Sym), id: readText(Sid) })),
      { mayReplace: true },
    )
    return usable.map((row, rank) => ({
      key: readText(row.Sym),
      rank,
      fileName: names[rank] as string,
      value: row,
    }))
  },
  outputs: [
    {
      shape: 'array-per-item',
      file: 'all_indices_list.json',
      changesDaily: true,
      tables: [{ name: 'indices', about: 'all market indices', columns: [MarketIndex], position: 15 }],
    },
  ],
})
