import { expect, test } from 'vitest'
import { width } from '../../src/cli/terminal/text.js'
import { findingLines } from '../../src/cli/verify/findings.js'
import {
  CHECKS,
  countFindings,
  REMEDIES,
  type TrackedFinding,
  type Verification,
} from '../../src/verify/finding.js'
import { toTexts } from './support.js'

const move = (symbol: string): TrackedFinding => ({
  state: 'new',
  since: '2026-02-12',
  check: 'large-moves',
  severity: 'warning',
  symbol,
  day: '2026-02-12',
  file: `ohlcv_data/${symbol}.csv`,
  detail: 'the close goes from 100 to 60.5 (-40 %), like nothing that this text has to say in so few words',
})

const findings: readonly TrackedFinding[] = [
  {
    check: 'files',
    severity: 'error',
    state: 'new',
    file: 'a\u001b[31m.json',
    detail: 'it is no whole JSON',
  },
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
  gone: [],
  accepted: [],
  stale: [],
  passed: [{ limit: 'errors', allowed: 0, found: 1 }],
}

const textOf = (columns: number, changes: Partial<Verification> = {}): readonly string[] =>
  toTexts(
    findingLines(
      { ...verification, ...changes },
      { tookMs: 3_100, args: ['verify', '--out=e', '--config', 'c.json'] },
    ),
    columns,
  )

test('the summary counts the findings of each check, shows the first ones, and lists exceeded limits', () => {
  expect(textOf(200)).toEqual([
    'Errors: 1 error, 6 others in ./data (2,775 stocks, 7,508 files, 6,113,488 candles of 2,722 sessions to 2026-02-12, 20 recorded days; 3.1s). Not everything could be checked: see "Not checked".',
    '',
    'check        errors  warnings  info',
    'files             1         -     -',
    'large-moves       -         6     -',
    '',
    'files: files that are missing, shorter than the run wrote them, truncated or unreadable, or have broken texts; a deep check also finds changed content',
    '  a.json: it is no whole JSON',
    `  What to do: ${REMEDIES.files}.`,
    '',
    `large-moves: ${CHECKS['large-moves']}`,
    ...['A', 'B', 'C', 'D'].map((symbol) => `  ${symbol} 2026-02-12: ${move(symbol).detail}`),
    '  and 2 more (--all shows them)',
    `  What to do: ${REMEDIES['large-moves']}.`,
    '',
    'Not checked',
    '  No report of a run is there.',
    '',
    'Limits exceeded',
    '  errors: 1 new, 0 allowed',
    '',
    'Next',
    '  Correct what is wrong. What is right as it is, accept (some of it with --only or --symbols):',
    "  scripstream verify --out=e --config c.json --accept '…'",
  ])
})

test('an open finding is a part of one line for its check, or shown in full with --all; a finding that is gone is named', () => {
  const open = ['A', 'B', 'C', 'D', 'E'].map((symbol) => ({
    ...move(symbol),
    state: 'open' as const,
    since: '2026-02-05',
  }))
  const gone = [{ ...move('X'), state: 'gone' as const, since: '2026-02-04' }]
  const changes = {
    findings: [...findings.slice(0, 1), ...open, { ...move('F'), since: '2026-02-12' }],
    gone,
    notes: [],
    passed: [],
  }
  const lines = textOf(200, changes)
  expect(lines[0]).toMatch(/^Errors: 1 new error, 1 other \(5 open, 1 gone\) in /)
  expect(lines).toContain('large-moves       -         1     -     5')
  expect(lines).toContain(
    '  large-moves: 5 open since 2026-02-05: A 2026-02-12, B 2026-02-12, C 2026-02-12, D 2026-02-12 and 1 more',
  )
  expect(lines).toContain('  large-moves: 1 gone, open since 2026-02-04: X 2026-02-12')
  expect(lines.filter((line) => line.includes(move('').detail))).toHaveLength(1)
  const all = toTexts(findingLines({ ...verification, ...changes }, { tookMs: 1, args: [], all: true }), 200)
  expect(all.filter((line) => line.includes(move('').detail))).toHaveLength(6)
})

test('open findings alone are named as such; those with errors say how many', () => {
  const open = findings.map((finding) => ({ ...finding, state: 'open' as const, since: '2026-02-05' }))
  const lines = textOf(200, { findings: open, passed: [] })
  expect(lines[0]).toMatch(/^Open: no new findings \(7 open\) in /)
  expect(lines).toContain('  files: 1 open (1 error) since 2026-02-05: a.json')
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

test('the summary fits its columns, but for the command to copy', () => {
  expect(Math.max(...textOf(60).slice(0, -1).map(width))).toBeLessThanOrEqual(60)
})

test('a folder without findings says if something could not be checked', () => {
  expect(
    textOf(200, {
      findings: [],
      counts: countFindings([], ['files']),
      notes: ['price bands: no list of them'],
      passed: [],
    }),
  ).toEqual([
    expect.stringMatching(/^OK: no findings in .*\. Not everything could be checked: see "Not checked"\.$/),
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
