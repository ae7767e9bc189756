import { lastValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import type { AnyEndpoint } from '../../src/http/endpoint.js'
import { type Simulator, serveSimulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'
import { createQuickCollector } from '../support/limits.js'
import { EVENING } from './support.js'

interface Cell {
  readonly v: unknown
}
type Cells = readonly (Cell | null)[]
type Sheet = (rows: readonly Cells[]) => object

const tableOf = (rows: readonly Cells[], cols: readonly object[] = []) => ({
  cols,
  rows: rows.map((c) => ({ c })),
})
const failed =
  (...errors: readonly object[]): Sheet =>
  () => ({ version: '0.6', status: 'error', errors })
/** All rows but the last, which is empty, with other cells. */
const changed =
  (change: (cells: Cells) => Cells): Sheet =>
  (rows) => ({
    status: 'ok',
    table: tableOf(rows.slice(0, -1).map(change)),
  })

/** What the service answers in place of a sound table, and what a run says of it. */
const kinds: readonly { readonly what: string; readonly sheet: Sheet; readonly says?: string }[] = [
  {
    what: 'a refused access',
    sheet: failed({ reason: 'access_denied', message: 'ACCESS_DENIED', detailed_message: 'Sign in' }),
    says: 'the provider reports a failure: access_denied, ACCESS_DENIED, Sign in',
  },
  {
    what: 'a query that took too long',
    sheet: failed({ reason: 'timeout', message: 'Time out' }),
    says: 'the provider reports a failure: timeout, Time out',
  },
  {
    what: 'a table that is cut',
    sheet: (rows) => ({
      status: 'warning',
      warnings: [{ reason: 'data_truncated', message: 'Retrieved data was truncated' }],
      table: tableOf(rows.slice(0, 3)),
    }),
    says: 'the service has left out rows (data_truncated)',
  },
  {
    what: 'a column inserted before the symbol',
    sheet: changed(([first = null, ...others]) => [first, { v: 'NSE' }, ...others]),
    says: 'the ISIN of NSE is ',
  },
  {
    what: 'dates in place of symbols',
    sheet: changed(([first = null, , ...others]) => [first, { v: 'Date(2026,1,12)' }, ...others]),
    says: 'the symbol Date(2026,1,12) is a date',
  },
  {
    what: 'a first row that is a part of the header',
    sheet: ([header = [], first = [], ...rows]) => ({
      status: 'ok',
      table: tableOf(
        rows,
        first.map((cell, place) => ({ label: `${header[place]?.v} ${cell?.v}` })),
      ),
    }),
  },
]

/** Serves a simulated market, whose spreadsheet answers as a test says. */
const serve = async (sheet?: Sheet): Promise<Simulator> => {
  const endpoints = streams.flatMap((stream) => stream.endpoints as readonly AnyEndpoint[])
  const altered = endpoints.map((endpoint): AnyEndpoint => {
    if (sheet === undefined || endpoint.name !== 'sheet') return endpoint
    const sample: AnyEndpoint['sample'] = (...given) => {
      const text = String(endpoint.sample?.(...given))
      const { table } = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1))
      const answer = sheet(table.rows.map(({ c }: { readonly c: Cells }) => c))
      return `/*O_o*/\ngoogle.visualization.Query.setResponse(${JSON.stringify(answer)});`
    }
    return { ...endpoint, sample }
  })
  const simulator = await serveSimulator({ endpoints: altered, stocks: 300, candleDays: 5, asOf: EVENING })
  onTestFinished(() => simulator.close())
  return simulator
}

const collectLists = async (sheet?: Sheet) => {
  const simulator = await serve(sheet)
  const files: MemoryFiles = new Map()
  const collector = createQuickCollector({
    settings: { ...simulator.settings, retries: 0 },
    storage: memory(files),
    clock: () => EVENING,
  })
  const report = await lastValueFrom(collector.run({ asOf: EVENING, only: ['surveillance-lists'] }))
  const lists = ['asm', 'gsm'].map((list) => JSON.parse(files.get(`nse_${list}_list.json`)?.text ?? ''))
  const reasons = report.scripts['surveillance-lists']?.problems?.map(({ reason }) => reason)
  return { outcome: report.outcome, drift: report.drift ?? [], lists, reasons }
}

describe('a simulated spreadsheet that answers', () => {
  it.each(kinds)(
    '$what gives the same lists, with the reason where another source gave them',
    async ({ sheet, says }) => {
      const { reasons, ...sound } = await collectLists()
      expect({ reasons, lengths: sound.lists.map(({ length }) => length > 3) }).toEqual({
        reasons: [],
        lengths: [true, true],
      })
      const { reasons: told, ...collected } = await collectLists(sheet)
      expect(collected).toEqual(sound)
      expect(told).toEqual(says === undefined ? [] : ['asm', 'gsm'].map(() => expect.stringContaining(says)))
    },
  )
})
