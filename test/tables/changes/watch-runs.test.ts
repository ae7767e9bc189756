import { map, of, throwError, timer } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { RunReport } from '../../../src/model/report.js'
import type { Row } from '../../../src/model/row.js'
import {
  applyCooldown,
  compareSessions,
  describeSignal,
  indexRows,
  type Signal,
  toSignals,
  watchRuns,
} from '../../../src/tables/changes/signals.js'
import { runReport } from '../../cli/support.js'
import { itWithMarbles } from '../../support/marbles.js'

const report = (facts: object) => ({ ...runReport(), outcome: 'complete' as const, ...facts })
const RUNS = {
  a: report({ run: 'a' }),
  b: report({ run: 'b' }),
  p: report({ outcome: 'partial' }),
  u: report({ finishedBefore: 'x' }),
}

describe('a rule of a collector', () => {
  itWithMarbles('is asked after each complete run that had something to do, one after the other', (m) => {
    const run$ = m.hot('  -a-b-p-u-a-|', RUNS)
    let asked = 0
    const ask = () => timer(3).pipe(map(() => String(++asked)))
    m.expect(run$.pipe(watchRuns(ask))).toBeObservable('----1--2----(3|)')
    m.expect(run$).toHaveSubscriptions('^----------!')
  })

  itWithMarbles('ends with the error of its query, and leaves the runs alone', (m) => {
    const run$ = m.hot('-a-b-|', RUNS)
    let asked = 0
    const ask = () => (++asked === 1 ? of(asked) : throwError(() => new Error('wrong')))
    m.expect(run$.pipe(watchRuns(ask))).toBeObservable('-a-#', { a: 1 }, new Error('wrong'))
    m.expect(run$.pipe(map(({ run }) => run))).toBeObservable('-a-b-|')
  })

  itWithMarbles('is never asked without a run, and its question ends when it is unsubscribed from', (m) => {
    const answer$ = m.cold('---x|')
    m.expect(m.hot('-a--b', RUNS).pipe(watchRuns(() => answer$)), '^-!').toBeObservable('---')
    m.expect(answer$).toHaveSubscriptions('-^!')
    m.expect(m.cold<RunReport>('--').pipe(watchRuns(() => of(1)))).toBeObservable('--')
  })
})

const compare = (before: readonly Row[], after: readonly Row[], key?: string[]) =>
  compareSessions(indexRows(before, { key }), indexRows(after, { key }))

describe('rows of two sessions', () => {
  const [a, b] = [
    { symbol: 'A', stage: 'I' },
    { symbol: 'B', stage: 'I' },
  ]
  it.each([
    ['entered', [a], [a, b], undefined, [[b], [], []]],
    ['left', [a, b], [b], undefined, [[], [a], []]],
    [
      'changed, by their symbol',
      [a],
      [{ ...a, stage: 'II' }],
      undefined,
      [[], [], [[a, { ...a, stage: 'II' }]]],
    ],
    [
      'entered and left, by another key',
      [a],
      [{ ...a, stage: 'II' }],
      ['symbol', 'stage'],
      [[{ ...a, stage: 'II' }], [a], []],
    ],
    [
      'the same with sums in another order',
      [{ symbol: 'A', x: 0.1 + 0.2 }],
      [{ symbol: 'A', x: 0.3 }],
      undefined,
      [[], [], []],
    ],
    ['the same, one of them twice', [a], [a, a], undefined, [[], [], []]],
    ['no column symbol', [{ x: 1 }], [{ x: 2 }], undefined, [[{ x: 2 }], [{ x: 1 }], []]],
  ] as const)('are %s', (_, before, after, key, [entered, left, changed]) =>
    expect(compare(before, after, key && [...key])).toEqual({ entered, left, changed }),
  )

  it('need a key of their columns', () =>
    expect(() => compare([a], [a], ['isin'])).toThrow(/^the key isin is no column of its query/))

  it('need a key that no two different rows share', () =>
    expect(() => compare([a, a, { ...a, stage: 'II' }], [])).toThrow(
      '3 rows, but 1 key (symbol); add columns to the key: stage',
    ))

  it('become signals that say what happened', () => {
    const signals = toSignals({ name: 'r', notify: true }, compare([a], [{ ...a, stage: 'II' }, b]), {
      day: '2026-02-02',
    })
    expect(signals.map((one) => [one.change, one.subject, describeSignal(one), one.notify])).toEqual([
      ['entered', 'B', 'entered, stage I', true],
      ['changed', 'A', 'stage I → II', true],
    ])
    expect(
      toSignals({ name: 'r', only: ['left'] }, compare([a], [b]), { day: '2026-02-02' }).map(
        ({ subject }) => subject,
      ),
    ).toEqual(['A'])
  })

  it.each([
    [0.1 + 0.2, '0.3'],
    [12.345678901234567, '12.3456789'],
    [1234567890.1234567, '1234567890.12'],
    [98_765_432_109_876, '98765432109876'],
  ])('show the number %d as %s', (x, shown) =>
    expect(
      describeSignal({ rule: 'r', day: '2026-02-02', change: 'entered', subject: 'A', row: { x } }),
    ).toBe(`entered, x ${shown}`),
  )

  it('have no further signal of a subject within the cooldown', () => {
    const days = ['1', '2', '3', '4', '5']
    const signals = days.map((day): Signal => ({ rule: 'r', day, change: 'entered', subject: 'A', row: a }))
    expect(applyCooldown(signals, { cooldown: '2 sessions' }, days).map(({ day }) => day)).toEqual(['1', '4'])
    expect(applyCooldown(signals, {}, days)).toEqual(signals)
    // Two rows of one session are two signals, the same row again is none.
    const rows = ['b', 'c', 'b'].map((client) => ({ ...a, client }))
    const bought = rows.map((row): Signal => ({ rule: 'r', day: '1', change: 'entered', subject: 'A', row }))
    const rule = { cooldown: '2 sessions', key: ['symbol', 'client'] }
    expect(applyCooldown(bought, rule, days)).toEqual(bought.slice(0, 2))
    expect(applyCooldown([...bought, ...signals.slice(2, 3)], rule, days)).toEqual(bought.slice(0, 2))
  })
})
