import { describe, expect, it } from 'vitest'
import { listTables } from '../../../src/engine/define-stream.js'
import type { Change, Section } from '../../../src/model/change.js'
import type { Row } from '../../../src/model/row.js'
import type { Stock } from '../../../src/model/stock.js'
import {
  compareDocuments,
  compareLists,
  type ListVersions,
  listCompared,
} from '../../../src/tables/changes/compare-records.js'
import { compareStocks } from '../../../src/tables/changes/listings.js'
import { listRecords } from '../../../src/tables/changes/two-states.js'
import { streams } from '../../../streams/registry.js'

const tables = listTables(streams)

/** The changes in the lists of a section, by file. */
const find = (section: Section, files: Readonly<Record<string, ListVersions>>): readonly Change[] => {
  const told = new Set<string>()
  return listCompared(tables, section).flatMap((table) => {
    const versions = table.files.map(({ path }) => {
      const { before = [], after = [] } = files[path] ?? {}
      return { before: listRecords(table, before), after: listRecords(table, after) }
    })
    return compareLists(table, versions, told)
  })
}

const newDocuments = (section: Section, before: readonly Row[], after: readonly Row[]): readonly Change[] =>
  listCompared(tables, section).flatMap(({ changes }) => compareDocuments(changes, 'A', { before, after }))

const stock = (symbol: string, ISIN: string): Stock => ({
  Symbol: symbol,
  ISIN,
  Name: `${symbol} Ltd`,
  Sid: '1',
  FnoFlag: 0,
})

const gist = ({ section, change, symbol, from = '', to = '' }: Change): string =>
  [section, change, symbol, from, to].join(' ').trim()

describe('the master list', () => {
  const gists = (before: readonly Stock[], after: readonly Stock[]): readonly string[] =>
    compareStocks(before, after).map(gist)

  it('shows new stocks and stocks that have left', () => {
    expect(gists([stock('A', 'I1'), stock('B', 'I2')], [stock('A', 'I1'), stock('C', 'I3')])).toEqual([
      'listings new C  I3',
      'listings left B I2',
    ])
  })

  it('shows a new symbol for the same ISIN, and a new ISIN for the same symbol', () => {
    expect(gists([stock('A', 'I1'), stock('B', 'I2')], [stock('AA', 'I1'), stock('B', 'I9')])).toEqual([
      'renames renamed AA A AA',
      'renames changed B I2 I9',
    ])
  })

  it('shows a new symbol and a new ISIN of one security and issuer, but not of two shares of the issuer', () => {
    const [before, now] = [stock('A', 'INE149K01016'), stock('AA', 'INE149K01024')]
    expect(gists([before], [now])).toEqual([
      'renames renamed AA A AA',
      'renames changed AA INE149K01016 INE149K01024',
    ])
    for (const other of [
      { ...now, Sid: '2' },
      { ...now, ISIN: 'INE0ZZZ01018' },
    ])
      expect(gists([before], [other])).toEqual([
        `listings new AA  ${other.ISIN}`,
        'listings left A INE149K01016',
      ])
  })

  it('shows a symbol that another company has now, by issuer and Sid, as left and new', () => {
    const [before, now] = [stock('A', 'INE149K01016'), { ...stock('A', 'INE0ZZZ01018'), Sid: '99' }]
    expect(gists([before], [now])).toEqual(['listings new A  INE0ZZZ01018', 'listings left A INE149K01016'])
    for (const same of [
      { ...now, Sid: before.Sid },
      { ...now, ISIN: 'INE149K01024' },
    ])
      expect(gists([before], [same])).toEqual([`renames changed A INE149K01016 ${same.ISIN}`])
  })

  it('shows a symbol that went to another company as a rename and a new listing', () => {
    expect(gists([stock('A', 'I1')], [stock('B', 'I1'), stock('A', 'I2')])).toEqual([
      'renames renamed B A B',
      'listings new A  I2',
    ])
  })

  it('accepts one ISIN with two symbols', () => {
    expect(gists([stock('A', 'I1')], [stock('A', 'I1'), stock('A2', 'I1')])).toEqual(['listings new A2  I1'])
  })

  it('shows nothing if only the order differs', () => {
    expect(gists([stock('A', 'I1'), stock('B', 'I2')], [stock('B', 'I2'), stock('A', 'I1')])).toEqual([])
  })
})

describe('lists of the market', () => {
  it('show stocks that came under surveillance, left it, or changed their stage', () => {
    const row = (symbol: string, Stage: string) => ({ Symbol: symbol, ISIN: `I${symbol}`, Stage })
    const lists = {
      before: [row('A', 'I'), row('B', 'I'), row('C', 'I')],
      after: [row('A', 'I'), row('B', 'II'), row('D', 'IV')],
    }
    expect(find('surveillance', { '{exch}_asm_list.json': lists }).map(gist)).toEqual([
      'surveillance changed B I II',
      'surveillance entered D  IV',
      'surveillance left C I',
    ])
  })

  it('distinguish a renamed stock under surveillance from a new one', () => {
    const [before, after] = [
      [{ Symbol: 'A', ISIN: 'I1', Stage: 'I' }],
      [{ Symbol: 'B', ISIN: 'I1', Stage: 'I' }],
    ]
    expect(find('surveillance', { '{exch}_gsm_list.json': { before, after } })).toEqual([])
  })

  it('show changed bands from all bands, by series, and from the exchange’s own list', () => {
    const row = (symbol: string, Series: string, Band: string) => ({ Symbol: symbol, Series, Band })
    const complete = {
      before: [row('A', 'EQ', '20'), row('A', 'W1', '20'), row('B', 'EQ', '5')],
      after: [row('A', 'EQ', 'No Band'), row('A', 'W1', '20'), row('B', 'EQ', '5'), row('N', 'EQ', '5')],
    }
    const bandChange = (symbol: string, From: string, To: string) => ({
      Symbol: symbol,
      Series: 'EQ',
      From,
      To,
    })
    const announced = {
      before: [bandChange('B', '10', '5')],
      after: [bandChange('A', '20', 'No Band'), bandChange('B', '10', '5'), bandChange('C', '5', '10')],
    }
    expect(
      find('bands', { 'complete_price_bands.json': complete, 'incremental_price_bands.json': announced }).map(
        ({ symbol, detail }) => `${symbol} ${detail}`,
      ),
    ).toEqual(['A from 20 % to no band', 'C from 5 % to 10 %'])
  })

  it('show stocks that reached a limit or left it', () => {
    expect(
      find('circuits', {
        'upper_circuit_stocks.json': {
          before: [{ Symbol: 'A' }, { Symbol: 'B' }],
          after: [{ Symbol: 'B' }, { Symbol: 'C' }],
        },
      }).map(gist),
    ).toEqual(['circuits entered C', 'circuits left A'])
  })

  it('show new deals once, but not deals that became too old', () => {
    const deal = (sym: string, qty: number) => ({
      sym,
      date: '2026-02-12 00:00:00',
      qty,
      avgprice: 1.5,
      bs: 'S',
      cname: 'FUND',
      deal: 'BLOCK',
    })
    expect(
      find('deals', {
        'bulk_block_deals.json': {
          before: [deal('A', 1), deal('B', 1)],
          after: [deal('A', 1), deal('A', 8e7), deal('A', 8e7)],
        },
      }),
    ).toEqual([
      {
        section: 'deals',
        change: 'new',
        symbol: 'A',
        detail: 'FUND sold 80,000,000 at ₹ 1.50 on 2026-02-12 (block, ₹ 12 crore)',
      },
    ])
  })

  it('show new actions once, but not an upcoming one that moved to the history', () => {
    const row = (Sym: string, ActType: string, ExDate: string) => ({
      Sym,
      CorpAct: [{ ActType, ExDate, Note: '2:10' }],
    })
    const upcoming = { before: [row('A', 'SPLIT', '2026-02-13')], after: [] }
    const history = {
      before: [],
      after: [
        row('B', 'BONUS', '2026-03-01'),
        row('A', 'SPLIT', '2026-02-13'),
        row('B', 'BONUS', '2026-03-01'),
      ],
    }
    const files = { 'upcoming_corporate_actions.json': upcoming, 'history_corporate_actions.json': history }
    expect(find('actions', files)).toEqual([
      { section: 'actions', change: 'new', symbol: 'B', detail: 'bonus of 2:10 on 2026-03-01' },
    ])
  })
})

describe('corporate actions', () => {
  it('are new if no list had them, after their own day, too', () => {
    const split = { Sym: 'A', CorpAct: [{ ActType: 'SPLIT', ExDate: '2026-02-13', Note: '2:10' }] }
    const history = { 'history_corporate_actions.json': { before: [], after: [split] } }
    expect(find('actions', history)).toHaveLength(1)
  })
})

describe('quarterly results', () => {
  const row = (YEAR: string, SALES: string, Net_Profit = '1|1') => ({
    Symbol: 'A',
    ISIN: 'I1',
    incomeStat_cq: { YEAR, SALES, Net_Profit },
  })
  const details = (before: object, after: object) =>
    find('results', { 'fundamental_data.json': { before: [before as Row], after: [after as Row] } }).map(
      ({ change, detail }) => `${change} ${detail}`,
    )

  it('show a new quarter with the growth on the year', () => {
    const before = row('202509|202506|202503|202412', '9|8|7|100', '2|2|2|-5')
    expect(
      details(before, row('202512|202509|202506|202503|202412', '112.5|9|8|7|100', '20|2|2|2|-5')),
    ).toEqual(['new quarter to 2025-12: sales ₹ 113 crore (+13 % on the year), net profit ₹ 20 crore'])
  })

  it('show earlier figures that were restated, but not a figure that was missing', () => {
    const before = row('202512|202509', '10|1960.0', '|1')
    expect(details(before, row('202512|202509', '10.0|196.0', '5|1'))).toEqual([
      'changed restated: sales of 2025-09 from 1,960.0 to 196.0',
    ])
    expect(details(before, row('202512|202509', '1|2', '|3'))).toEqual([
      'changed restated: sales of 2025-12 from 10 to 1, sales of 2025-09 from 1,960.0 to 2 and 1 more',
    ])
  })

  it('show nothing of a new stock, of unreadable figures, or if a quarter is withdrawn', () => {
    expect(details({ Symbol: 'B', ISIN: 'I2' }, row('202512', '1'))).toEqual([])
    expect(details(row('x', 'y'), row('', ''))).toEqual([])
    expect(details(row('202512|202509', '2|1'), row('202509', '1'))).toEqual([])
  })
})

describe('documents of a stock', () => {
  it('show how many filings are new, and the newest of them', () => {
    const filing = (news_id: string, caption: string) => ({ news_id, caption })
    const [before, after] = [
      [filing('1', 'a')],
      [filing('4', 'd'), { news_date: '2026', descriptor: 'c' }, filing('2', 'b'), filing('1', 'changed')],
    ]
    expect(newDocuments('filings', before, after)).toEqual([
      { section: 'filings', change: 'new', symbol: 'A', count: 3, detail: '3 new: d; c; …' },
    ])
    expect(newDocuments('filings', before, [])).toEqual([])
  })

  it('count a filing that is listed twice once, and give the address of its document', () => {
    const results = { caption: 'Results', file_url: 'https://filings.example/1.pdf' }
    const data = [
      { ...results, news_id: '1' },
      { ...results, news_date: '2026' },
      { news_id: '2', caption: 'x', file_url: 'javascript:1' },
    ]
    expect(newDocuments('filings', [], data)).toMatchObject([
      { count: 2, documents: [{ title: 'Results', url: 'https://filings.example/1.pdf' }] },
    ])
  })

  it('distinguish news by title and date', () => {
    const [before, after] = [
      [{ Title: 'a', PublishDate: 1 }],
      [
        { Title: 'a', PublishDate: 2 },
        { Title: 'a', PublishDate: 1 },
      ],
    ]
    expect(newDocuments('news', before, after)).toEqual([
      { section: 'news', change: 'new', symbol: 'A', count: 1, detail: '1 new: a' },
    ])
  })
})
