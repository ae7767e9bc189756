import { describe, expect, it } from 'vitest'
import { type Answer, collect, isinOf, stockNamed, withFile } from './support.js'
import { BUILD_PAGE, buildPage, dataFile, dataPath } from './web-support.js'

const numbered = <T>(make: (place: number) => T): readonly T[] =>
  Array.from({ length: 10 }, (_, place) => make(place))
const twice = <T>(rows: readonly T[]): readonly T[] => rows.flatMap((row) => [row, row])
const csv = (header: string, lines: readonly string[]): string => [header, ...lines, ''].join('\n')
const data = (rows: readonly object[]) => ({ data: rows })

const DIVIDEND = { ActType: 'DIVIDEND', ExDate: '2026-02-05', RecDate: '2026-02-05', Note: '2' }
const FIGURES = { Ltp: 1, PPerchange: 5, Mcap: 1, Volume: 1, High5yr: 1, High1Yr: 1, Low1Yr: 1 }
const DEAL = { date: '2026-02-12 00:00:00', exch: 'NSE', deal: 'BULK', bs: 'B', cname: 'FUND', avgprice: 5 }
const asText = (line: unknown): string => JSON.stringify(line)

/** The rows of each list, and the answer with them. */
const lists: Readonly<
  Record<string, { readonly rows: readonly object[]; readonly answer: (rows: readonly object[]) => unknown }>
> = {
  'corporate-actions': {
    rows: numbered((place) => ({ Sym: `S${place}`, DispSym: 'S', CorpAct: [DIVIDEND] })),
    answer: data,
  },
  'all-indices': {
    rows: numbered((Sid) => ({
      Sym: `I${Sid}`,
      DispSym: `I${Sid}`,
      Sid,
      Exch: 'IDX',
      Seg: 'I',
      Inst: 'IDX',
    })),
    answer: data,
  },
  'circuit-stocks': {
    rows: numbered((place) => ({ Sym: `S${place}`, DispSym: 'S', ...FIGURES })),
    answer: data,
  },
  'complete-price-bands': {
    rows: numbered((place) => [`S${place},EQ,S,10`]),
    answer: (rows) => csv('Symbol,Series,Security Name,Band', rows.map(String)),
  },
  'incremental-price-bands': {
    rows: numbered((place) => [`S${place},5,10`]),
    answer: (rows) => csv('Symbol,From,To', rows.map(String)),
  },
  'listing-dates': {
    rows: numbered((place) => [`S${place},S,EQ,06-OCT-2008,10,1,INE${place},10`]),
    answer: (rows) =>
      csv(
        'SYMBOL,NAME OF COMPANY,SERIES,DATE OF LISTING,PAID UP VALUE,MARKET LOT,ISIN NUMBER,FACE VALUE',
        rows.map(String),
      ),
  },
  'surveillance-lists': {
    rows: numbered((place) => [place, `S${place}`, 'S', isinOf(place), 'GSM']),
    answer: (rows) => {
      const cells = rows.map((row) => ({ c: (row as readonly unknown[]).map((v) => ({ v })) }))
      return `setResponse(${JSON.stringify({ table: { rows: cells } })});`
    },
  },
}

const outputsOf = (files: ReadonlyMap<string, { readonly text: string }>) =>
  [...files].flatMap(([file, { text }]) =>
    file.startsWith('.scripstream') || file.startsWith('master') ? [] : [[file, text]],
  )

describe('a list with each record twice', () => {
  it.each(Object.entries(lists))(
    'of %s is stored with each record once, and the report says so',
    async (stream, { rows, answer }) => {
      const once = await collect({ stream, answer: () => answer(rows) })
      expect(asText(once.script.problems)).not.toMatch('left out')
      const doubled = await collect({ stream, answer: () => answer(twice(rows)) })
      expect(outputsOf(doubled.files)).toEqual(outputsOf(once.files))
      expect(doubled.script.problems.map(({ reason }) => reason)).toContainEqual(
        expect.stringMatching(/: left out 1[01] of 2[012] records, exact copies of others$/),
      )
      expect(doubled.script.outcome).toBe('success')
    },
  )

  it('is stored once also from the web site', async () => {
    const rows = twice(
      numbered((place) => ({ sym: `S${place}`, DispSym: 'S', isin: isinOf(place), Stage: 'GSM' })),
    )
    const answer: Answer = ({ path }) =>
      path === BUILD_PAGE ? buildPage : path === dataPath('nse-asm-list') ? dataFile(rows) : 404
    const { text } = await collect({ stream: 'surveillance-lists', answer, settings: { retries: 0 } })
    expect(JSON.parse(text('nse_asm_list.json') ?? '')).toHaveLength(10)
  })

  it('does not pass for the whole list if half of the records are missing', async () => {
    const master = numbered((place) => stockNamed(`S${place}`, place))
    const half = twice(master.slice(0, 5))
    const first = await collect({ stream: 'master-data', answer: () => 404, master: half, tot_rec: 10 })
    expect(first.report.error).toMatch('count: the list has 5 rows but reports a total of 10')

    const { rows, answer } = lists['corporate-actions'] as (typeof lists)[string]
    const stored = withFile('history_corporate_actions.json', JSON.stringify(rows))
    const { script } = await collect({
      stream: 'corporate-actions',
      answer: () => answer(twice(rows.slice(0, 5))),
      files: stored,
    })
    expect(script.problems).toContainEqual(expect.objectContaining({ item: 'history', code: 'shrink' }))
  })
})

describe('deals', () => {
  it('are stored once for each key of the interface document, so two equal deals of a client on one day are one', async () => {
    const rows = numbered((place) => ({ ...DEAL, sym: `S${place}`, qty: 10 }))
    const answer: Answer = ({ body }) =>
      asText(body).includes('12-02-2026')
        ? { data: twice(rows), totalcount: 20 }
        : { data: [], totalcount: 0 }
    const { text } = await collect({ stream: 'bulk-block-deals', answer })
    expect(JSON.parse(text('bulk_block_deals.json') ?? '')).toEqual(rows)
  })
})
