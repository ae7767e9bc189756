import { expect, test } from 'vitest'
import { countFindings, type Finding, type Verification } from '../../src/analysis/verify/finding.js'
import { width } from '../../src/cli/terminal/text.js'
import { findingLines } from '../../src/cli/verify/findings.js'

const move = (symbol: string): Finding => ({
  check: 'large-moves',
  severity: 'warning',
  symbol,
  day: '2026-02-12',
  file: `ohlcv_data/${symbol}.csv`,
  detail: 'the close goes from 100 to 60.5 (-40 %), like nothing that this text has to say in so few words',
})

const findings: readonly Finding[] = [
  { check: 'files', severity: 'error', file: 'a\u001b[31m.json', detail: 'it is no whole JSON' },
  ...['A', 'B', 'C', 'D', 'E', 'F'].map(move),
]

const verification: Verification = {
  folder: './data',
  stocks: 2_775,
  files: 7_508,
  candles: 6_113_488,
  sessions: { count: 2_722, last: '2026-02-12' },
  history: { days: 20, first: '2026-01-15', last: '2026-02-12' },
  coverage: [],
  notes: ['No report of a run is there.'],
  counts: countFindings(findings, ['files', 'large-moves', 'leftovers']),
  findings,
  accepted: [],
  stale: [],
  passed: [{ limit: 'errors', allowed: 0, found: 1 }],
}

const textOf = (columns: number, changes: Partial<Verification> = {}): readonly string[] =>
  findingLines({ ...verification, ...changes }, { columns, tookMs: 3_100 }).map((line) => line.map(([text]) => text).join(''))

test('the summary counts the findings of each check, shows the first ones, and lists exceeded limits', () => {
  expect(textOf(200)).toEqual([
    'Errors: 7 findings in ./data (2,775 stocks, 7,508 files, 6,113,488 candles of 2,722 sessions to 2026-02-12, 20 recorded days; 3.1s).',
    '',
    'check        errors  warnings  info',
    'files             1         -     -',
    'large-moves       -         6     -',
    '',
    'files: files that are missing, shorter than the run wrote them, truncated or unreadable, or have broken texts; a deep check also finds changed content',
    '  a.json: it is no whole JSON',
    '  To repair: restore the files, or delete them and run "scripstream run --fresh".',
    '',
    'large-moves: closes more than 30 % from the previous one, without an explanation',
    ...['A', 'B', 'C', 'D'].map((symbol) => `  ${symbol} 2026-02-12: ${move(symbol).detail}`),
    '  and 2 more (--json shows all)',
    '',
    'Not checked',
    '  No report of a run is there.',
    '',
    'Limits exceeded',
    '  errors: 1 found, 0 allowed',
  ])
})

test('the summary shows the coverage of the newest years', () => {
  const years = [2026, 2025, 2024, 2023, 2022, 2021].map((year) => ({
    year,
    sessions: 248,
    stocks: 2_775,
    candles: 600_000,
    share: 0.9876,
  }))
  const lines = textOf(200, { coverage: years })
  const from = lines.indexOf('year  sessions  stocks  candles  coverage')
  expect(lines.slice(from - 1, from + 7)).toEqual([
    '',
    'year  sessions  stocks  candles  coverage',
    ...years.slice(0, 5).map(({ year }) => `${year}       248   2,775  600,000    98.8 %`),
    '',
  ])
})

test('the summary fits its columns', () => {
  expect(Math.max(...textOf(60).map(width))).toBeLessThanOrEqual(60)
})

test('a folder without findings is not called OK if something was not checked', () => {
  expect(textOf(200, { findings: [], counts: countFindings([], ['files']), notes: ['price bands: no list of them'], passed: [] })).toEqual([
    expect.stringMatching(/^Not all checked: no findings in/),
    '',
    'Not checked',
    '  price bands: no list of them',
  ])
})

test('a folder without findings takes one sentence', () => {
  expect(textOf(200, { findings: [], counts: countFindings([], ['files']), notes: [], passed: [] })).toEqual([
    'OK: no findings in ./data (2,775 stocks, 7,508 files, 6,113,488 candles of 2,722 sessions to 2026-02-12, 20 recorded days; 3.1s).',
  ])
})
