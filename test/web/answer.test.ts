import { describe, expect, it } from 'vitest'
import { USUAL_CALENDAR } from '../../src/market/calendar.js'
import type { RunReport } from '../../src/model/report.js'
import type { Freshness } from '../../src/show/brief.js'
import { describeAnswer } from '../../src/web/server/folder-state.js'
import { runReport, scriptReport } from '../cli/support.js'

// A Thursday, two hours after the data of that day was published.
const NOW = Date.parse('2026-02-12T20:00:00+05:30')

const NONE = { outputs: [], damage: [], calendar: USUAL_CALENDAR, now: NOW }

const answer = (
  report: Partial<RunReport> | undefined,
  outputs: readonly Partial<Freshness>[] = [],
  now = NOW,
) =>
  describeAnswer({
    ...NONE,
    report: report && runReport(report),
    outputs: outputs.map((output) => ({ stream: 'market-news', outcome: 'success', ...output })),
    now,
  })

describe('the answer of the page', () => {
  it('says that the data is complete and up to date', () => {
    expect(answer({})).toEqual({ tone: 'ok', word: 'Complete and up to date', text: '' })
  })

  it('says that it is old as soon as there is newer data', () => {
    expect(answer({}, [], Date.parse('2026-02-13T17:59:00+05:30')).word).toBe('Complete and up to date')
    expect(answer({}, [], Date.parse('2026-02-13T18:00:00+05:30'))).toMatchObject({
      tone: 'waiting',
      word: 'Complete, but old',
      day: '2026-02-13',
    })
  })

  it('is not old on a holiday that the settings name', () => {
    const [report, now] = [runReport({}), Date.parse('2026-02-13T20:00:00+05:30')]
    expect(describeAnswer({ ...NONE, report, now }).word).toBe('Complete, but old')
    expect(
      describeAnswer({ ...NONE, report, now, calendar: { holidays: new Set(['2026-02-13']), sessions: {} } })
        .word,
    ).toBe('Complete and up to date')
  })

  it.each([
    [[{ outcome: 'failed' }], 'market-news is missing. Everything else is there.'],
    [
      [{ missing: 'all' }, { stream: 'deals', missing: 'all' }],
      'market-news and deals are missing. Everything else is there.',
    ],
    [[{ missing: 3 }], 'market-news (3) lacks items. Everything else is there.'],
    [
      [
        { stream: 'a', outcome: 'failed' },
        { stream: 'b', missing: 1 },
        { stream: 'c', missing: 2 },
      ],
      'a is missing; b (1) and c (2) lack items. Everything else is there.',
    ],
    [
      ['a', 'b', 'c', 'd'].map((stream) => ({ stream, missing: 'all' as const })),
      'a, b and 2 more are missing. Everything else is there.',
    ],
  ] as const)('names what is missing: %j', (outputs, text) => {
    expect(answer({ outcome: 'partial' }, outputs as readonly Partial<Freshness>[])).toEqual({
      tone: 'failed',
      word: 'Not complete',
      text,
    })
  })

  it('says what is not up to date', () => {
    const late = {
      stream: 'a',
      output: 'candles',
      newest: '2026-02-11',
      expected: '2026-02-12',
      sessions: 1,
      shownBy: ['deals'],
    }
    const text = 'candles end at 2026-02-11, expected 2026-02-12 (deals of that day exist).'
    expect(answer({ stale: [late] })).toEqual({ tone: 'waiting', word: 'Not up to date', text })
    expect(answer({ outcome: 'partial', stale: [late] })).toMatchObject({
      tone: 'failed',
      word: 'Not up to date',
    })
  })

  it('says what else needs a look', () => {
    const scripts = { deals: scriptReport({ outcome: 'partial' }) }
    expect(answer({ outcome: 'partial', scripts })).toMatchObject({
      text: 'Answers for deals were refused; the earlier files stay.',
    })
    expect(answer({ outcome: 'partial', wrongSymbols: [{ given: 'TCSS' }] })).toMatchObject({
      text: expect.stringMatching(/^1 given symbol is not listed/),
    })
    expect(answer({ outcome: 'failed', error: 'the disk is full' })).toMatchObject({
      text: 'the disk is full. Earlier files stay as they were.',
    })
    expect(answer({ outcome: 'interrupted' })).toMatchObject({ tone: 'waiting', word: 'Interrupted' })
    expect(answer(undefined)).toMatchObject({ word: 'No data yet' })
  })

  it('names damaged records beside what the others say, and alone only if there are no others', () => {
    const say = (report: RunReport | undefined) =>
      describeAnswer({ ...NONE, report, damage: ['a is damaged', 'b is damaged'] })
    expect(say(runReport({}))).toEqual({
      tone: 'ok',
      word: 'Complete and up to date',
      text: 'a is damaged; b is damaged.',
    })
    expect(say(runReport({ outcome: 'failed', error: 'the disk is full' }))).toMatchObject({
      word: 'The last run failed',
      text: 'a is damaged; b is damaged. the disk is full. Earlier files stay as they were.',
    })
    expect(say(undefined)).toMatchObject({
      word: 'A record of the runs is damaged',
      text: 'a is damaged; b is damaged.',
    })
  })

  it.each([
    ['2026-02-12T17:59:00+05:30', '2026-02-11'],
    ['2026-02-12T18:00:00+05:30', '2026-02-12'],
    ['2026-02-14T20:00:00+05:30', '2026-02-13'],
    ['2026-02-16T09:00:00+05:30', '2026-02-13'],
  ])('at %s the newest data is that of %s', (now, day) => {
    expect(answer({ asOf: '2026-02-09T18:00:00+05:30' }, [], Date.parse(now))).toMatchObject({
      word: 'Complete, but old',
      day,
    })
  })
})
