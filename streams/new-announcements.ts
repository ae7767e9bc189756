import { map } from 'rxjs'
import { z } from 'zod'
import { defineStream, perStock } from '../src/engine/define-stream.js'
import { json } from '../src/http/answer.js'
import { post } from '../src/http/endpoint.js'
import { assertSameIsin } from '../src/market/listings.js'
import { decodeEntities, ENTITIES } from '../src/model/entities.js'
import { createResult } from '../src/model/outcome.js'
import { type Row, readText } from '../src/model/row.js'
import { dataEnvelope, type RowOf, Rows, row, startOf, textColumn } from '../src/model/row-schema.js'
import { StockRecord, toStockRecord } from '../src/model/stock.js'
import { formatSecond } from '../src/model/trading-day.js'

/**
 * An announcement, with the fields observed in answers. `date` has a time of day, in India (`2026-02-12
 * 23:56:04`).
 */
export const Announcement = row({
  date: textColumn('India time', ['announced_at', 'TIMESTAMP'], {
    format: 'day',
    required: true,
    usual: true,
    possible: { past: startOf },
  }),
  type: textColumn('such as Results Update', 'kind'),
  events: textColumn('text of the announcement', 'event', {
    required: true,
    key: true,
    usual: true,
    convert: ENTITIES,
  }),
})
export interface Announcement extends RowOf<typeof Announcement> {}

const announcements = post({
  name: 'announcements',
  host: 'static',
  path: '/staticscanx/announcements',
  input: z.strictObject({ data: z.strictObject({ isin: z.string().length(12) }) }),
  read: (text, { data: { isin } }, seen, earlier): readonly Row[] =>
    assertSameIsin(isin, json(Rows)(text, undefined, seen).data ?? [], earlier),
  shape: dataEnvelope(z.array(Announcement)),
  sample: ({ data: { isin } }, market) => {
    const stock = market.stockByIsin(isin)
    if (stock === undefined) return { code: 0, data: null }
    const news = market
      .documents(stock, 'announcement', { perYear: 35, count: 12, days: 30 })
      .map(({ at, random }) => ({ at, kind: random.pick(ANNOUNCEMENTS) }))
    const results = market
      .results(stock, 1)
      .filter(({ publishedAt }) => publishedAt > market.asOf - 30 * 86_400_000)
    const data = [...news, ...results.map(({ publishedAt: at }) => ({ at, kind: RESULTS_UPDATE }))]
      .sort((one, other) => other.at - one.at)
      .map(({ at, kind: [type, events] }) => ({ events, date: formatSecond(at), type }))
    return { code: 0, data: data.length === 0 ? null : data }
  },
})

const RESULTS_UPDATE: AnnouncementKind = ['Results Update', 'Quarterly results are out']
const ANNOUNCEMENTS: readonly [AnnouncementKind, ...AnnouncementKind[]] = [
  ['Company Announcements', 'The company has filed an update'],
  ['Company Announcements', 'There are new updates from the company'],
  ['Company Announcements', 'The company has answered a question of the exchange'],
  ['Exchange Filing', 'A presentation of the company was filed'],
]
type AnnouncementKind = readonly [type: string, events: string]

/**
 * Announcements of all stocks in one file, newest first. Not merged with the stored ones as filings are: the
 * interface document names no window, and captured answers go back two days (9 of 60 stocks have any), so
 * that fewer records are usual, and none is for most stocks. What was seen earlier is in the history.
 */
export const newAnnouncements = defineStream({
  name: 'new-announcements',
  summary: 'announcements of each stock',
  phase: 'enrichment',
  position: 5,
  workers: 40,
  timeoutMs: 10_000,
  endpoints: [announcements],
  work: perStock((stock, { ask }) =>
    ask(announcements, { data: { isin: stock.ISIN } }).pipe(
      map((rows) => createResult(rows.map((row) => toStockRecord<Announcement>(stock, row)))),
    ),
  ),
  outputs: [
    {
      shape: 'rows-in-one-file',
      file: 'all_company_announcements.json',
      sortBy: { key: (row) => readText(row.date) },
      tables: [
        {
          name: 'announcements',
          about: 'announcements of each stock',
          columns: [StockRecord, Announcement],
          changes: {
            section: 'announcements',
            key: ['date', 'events'],
            document: ({ events }) => ({ title: decodeEntities(readText(events)) }),
          },
          position: 6,
        },
      ],
    },
  ],
})
