import { describe, expect, it } from 'vitest'
import { briefHtml } from '../../src/cli/brief/html.js'
import { briefLines, marketLines } from '../../src/cli/brief/lines.js'
import { briefMarkdown } from '../../src/cli/brief/markdown.js'
import type { Change } from '../../src/model/change.js'
import { type Brief, groupByStock } from '../../src/show/brief.js'
import { readMorning } from '../../src/show/index.js'
import { marketWith } from '../show/support.js'
import { toTexts } from './support.js'

const change = (symbol: string, section: Change['section'] = 'deals', detail = 'a deal'): Change => ({
  section,
  change: 'new',
  symbol,
  detail,
})
const brief: Brief = {
  folder: '/data',
  run: 'r1',
  asOf: '2026-11-20T13:00:00.000Z',
  outcome: 'partial',
  durationMs: 61_000,
  stocks: 2_775,
  newestSession: '2026-11-20',
  outputs: [
    {
      stream: 'market-news',
      outcome: 'partial',
      missing: 18,
      completeOn: '2026-11-19',
      reason: 'news answered 503',
    },
    { stream: 'all-ohlcv', outcome: 'success', completeOn: '2026-11-20' },
  ],
  changes: groupByStock(
    [change('INFY'), change('TCS'), change('TCS', 'bands', 'from 20 % to 5 %')],
    new Set(['INFY']),
  ),
  counts: { deals: 2, bands: 1, news: 0 },
  rewritten: [],
  since: { asOf: '2026-11-19T13:00:00.000Z' },
  findings: [
    { check: 'large-moves', severity: 'warning', symbol: 'ABC', day: '2026-11-20', detail: 'rose by 60 %' },
  ],
  wrongSymbols: [],
  notes: [],
}
const noMarket = await readMorning(marketWith({}), [])
const toHtml = (of: Brief): string => briefHtml(of, noMarket)
const text = (columns: number, changes: Partial<Brief> = {}): readonly string[] =>
  toTexts(briefLines({ ...brief, ...changes }), columns)

describe('the brief', () => {
  it('says what the run did, what is not up to date, what changed and what is new', () => {
    expect(text(120)).toEqual([
      'Partial: as of 2026-11-20 18:30 IST (2,775 stocks, 1m01s, newest session 2026-11-20).',
      'Not up to date',
      '  market-news: partial, 18 items missing, last complete on 2026-11-19, news answered 503',
      'Changed since 2026-11-19 18:30 IST: deals 2, bands 1',
      '  INFY *         deals: a deal',
      '  TCS            deals: a deal; bands: from 20 % to 5 %',
      'New findings: 1',
      '  ABC 2026-11-20: rose by 60 %',
    ])
  })

  it('names streams of which the same is true on one line, and no changes of earlier runs after a failure', () => {
    const error = 'master-data failed: analytics answered 503'
    const outputs = [
      {
        stream: 'master-data',
        outcome: 'failed',
        missing: 1,
        completeOn: '2026-11-19',
        reason: 'analytics answered 503',
      } as const,
      { stream: 'market-news', outcome: 'skipped', missing: 'all', completeOn: '2026-11-19' } as const,
      { stream: 'all-ohlcv', outcome: 'skipped', missing: 'all', completeOn: '2026-11-19' } as const,
      { stream: 'deals', outcome: 'stopped' } as const,
    ]
    expect(text(120, { outcome: 'failed', error, outputs, findings: [] })).toEqual([
      'Failed: as of 2026-11-20 18:30 IST (2,775 stocks, 1m01s, newest session 2026-11-20): master-data failed: analytics',
      '  answered 503',
      'Not up to date',
      '  master-data: failed, last complete on 2026-11-19',
      '  market-news, all-ohlcv: not started, last complete on 2026-11-19',
      '  deals: stopped, never complete',
    ])
  })

  it('says in its first line, in every format, that data is simulated', () => {
    const head =
      'Partial: as of 2026-11-20 18:30 IST (2,775 stocks, 1m01s, newest session 2026-11-20). Simulated data.'
    expect(text(120, { simulated: true })[0]).toBe(head)
    expect(briefMarkdown({ ...brief, simulated: true }, noMarket)).toContain('Simulated data.')
    expect(toHtml({ ...brief, simulated: true })).toContain(
      'newest session 20 Nov 2026). Simulated data.</title>',
    )
  })

  it('names rules that failed, also without a signal', () =>
    expect(text(120, { failedRules: ['deals: failed on 2026-11-20: 583 rows, but 40 keys'] })).toEqual(
      expect.arrayContaining(['Signals: 0', '  deals: failed on 2026-11-20: 583 rows, but 40 keys']),
    ))

  it('names wrong symbols', () => {
    expect(
      text(120, { outputs: [], wrongSymbols: ['ZOMATO is now ETERNAL', 'TCSS (did you mean TCS?)'] }).slice(
        1,
        4,
      ),
    ).toEqual(['Wrong symbols in the watchlist', '  ZOMATO is now ETERNAL', '  TCSS (did you mean TCS?)'])
  })

  it('puts stocks of the watchlist first, then those with rare changes, then those with most kinds of changes', () => {
    const changes = [change('A'), change('B'), change('B', 'news'), change('C'), change('R', 'surveillance')]
    const order = groupByStock(changes, new Set(['C'])).map(({ symbol }) => symbol)
    expect(order).toEqual(['C', 'R', 'B', 'A'])
  })

  it('names candle histories that were fetched again', () => {
    const rewritten = [{ item: 'HEG', reason: 'history fetched again: split 2:10 on 2026-11-20' }]
    expect(text(120, { rewritten })).toEqual(
      expect.arrayContaining([
        'Replaced or merged files',
        '  history fetched again: split 2:10 on 2026-11-20: HEG',
      ]),
    )
  })

  it('names the kind of several changes of a stock once', () => {
    const changes = groupByStock(
      [change('A', 'circuits', 'left it'), change('A', 'circuits', 'is at it'), change('A')],
      new Set(),
    )
    expect(text(120, { changes })).toContain('  A              circuits: left it; is at it; deals: a deal')
  })

  it('fits 24 lines and the columns, whatever has changed', () => {
    const many = groupByStock(
      Array.from({ length: 500 }, (_, index) => change(`S${index}`, 'deals', 'x'.repeat(300))),
      new Set(),
    )
    const lines = text(80, { changes: many })
    expect(lines.length).toBeLessThanOrEqual(24)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(lines).toContainEqual(expect.stringContaining('494 stocks more (scripstream diff --out /data)'))
  })

  it('says so if there is no earlier run', () =>
    expect(text(80, { since: null, changes: [] })).toContain('Nothing to compare with yet'))

  it('links the documents that matter, those of the watchlist first, in Markdown and HTML', () => {
    const filing = (symbol: string, title: string, url?: string) => ({
      symbol,
      name: `${symbol} Ltd`,
      total: 1,
      events: [{ kind: 'filing' as const, title, ...(url === undefined ? {} : { url }) }],
    })
    const rows = [
      filing('BIG', 'Notice', 'https://filings.example/notice'),
      filing('NONE', 'no address'),
      filing('OWN', 'Results <b>', 'https://filings.example/a b".pdf'),
    ]
    const market = {
      ...noMarket,
      feed: { day: '2026-11-20', stocks: 3, kinds: { filing: 3 }, rows, problems: [] },
    }
    expect(briefMarkdown(brief, market, ['OWN'])).toMatch(
      /\| OWN Ltd \| {2}\| \[Results \\<b\\>\]\(<https:\/\/filings\.example\/a%20b%22\.pdf>\) \|\n\| BIG Ltd/,
    )
    expect(briefHtml(brief, market, ['OWN'])).toContain(
      '<a href="https://filings.example/a b&quot;.pdf">Results &lt;b&gt;</a>',
    )
    expect(toTexts(marketLines(market, { watched: ['OWN'] }), 60)).toEqual(
      expect.arrayContaining(['Documents of 20 Nov 2026', '  OWN Ltd      Results <b>']),
    )
  })

  it('counts results above them, in every format, also while none has figures', () => {
    const sum = '0 stocks reported · 3 due within seven days'
    const market = {
      ...noMarket,
      today: { ...noMarket.today, results: { about: {}, rows: [], total: 0, sum } },
    }
    for (const found of [
      briefMarkdown(brief, market),
      briefHtml(brief, market),
      toTexts(marketLines(market, { watched: [] }), 100).join('\n'),
    ])
      expect(found).toContain(sum)
    expect(briefMarkdown(brief, noMarket)).not.toContain('reported')
  })

  it('escapes what the provider answered', () => {
    const hostile: Partial<Brief> = {
      changes: groupByStock(
        [change('X', 'news', '<img src=x onerror=alert(1)> *bold* \u001b[31m')],
        new Set(),
      ),
    }
    expect(toHtml({ ...brief, ...hostile })).toContain('&lt;img src=x onerror=alert(1)&gt;')
    expect(toHtml({ ...brief, ...hostile })).not.toContain('<img')
    expect(briefMarkdown({ ...brief, ...hostile }, noMarket)).toContain(
      '\\<img src=x onerror=alert(1)\\> \\*bold\\*',
    )
    expect(text(120, hostile).join('')).not.toContain('\u001b')
  })
})
