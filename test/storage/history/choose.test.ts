import { describe, expect, it } from 'vitest'
import type { Timing } from '../../../src/market/place.js'
import { chooseEachDay, chooseList, describeAnswer, findAnswer, findUsedDay } from '../../../src/storage/history/choose.js'
import type { History, StoredRecord } from '../../../src/storage/history/record.js'

const FILE = { name: 'bands.parquet', bytes: 1, digest: '' }

const record = (number: number, timing: Timing, facts: Partial<StoredRecord> = {}): StoredRecord => ({
  ...{ format: 2, number, day: '2026-02-12', timing, isConfirmed: true, run: 'r', others: {} },
  knownAt: '2026-02-12T14:30:00.000Z',
  lists: { bands: { stream: 'bands', rows: number, content: '', whole: FILE } },
  ...{ name: `2026-02-12/${number}`, digest: '' },
  ...facts,
})

const historyOf = (records: readonly StoredRecord[], damaged: readonly string[] = []): History => ({
  ...{ root: '/data', records, former: [] },
  damages: damaged.map((day) => ({ day, file: `.scripstream/history/${day}/0/record.json`, detail: 'its digest is wrong' })),
})

const choose = (...timings: readonly Timing[]): number | undefined =>
  chooseList(
    timings.map((timing, at) => record(at + 1, timing)),
    'bands',
    '2026-02-12',
  )?.record.number

describe('the record that answers for a day', () => {
  it('is a confirmed one rather than one of a clock that was some days ahead', () => {
    const records = [record(1, 'final', { isConfirmed: false }), record(2, 'final')]
    expect(chooseList(records, 'bands', '2026-02-12')?.record.number).toBe(2)
  })

  it.each<readonly [string, readonly Timing[], number]>([
    ['the first final one', ['session', 'final', 'final', 'late'], 2],
    ['a final one that was stored after a late one', ['late', 'final'], 2],
    ['without a final one the last of the session', ['session', 'session', 'late'], 2],
    ['a record of the session rather than a late one before it', ['late', 'session'], 2],
    ['without both the first late one', ['late', 'late'], 1],
  ])('is %s', (_, timings, number) => expect(choose(...timings)).toBe(number))

  it('is of that day, and has the list', () => {
    const records = [record(1, 'final', { lists: {} }), record(2, 'late'), record(3, 'final', { day: '2026-02-11' })]
    expect(chooseList(records, 'bands', '2026-02-12')?.record.number).toBe(2)
    expect(chooseList(records, 'toString', '2026-02-12')).toBeUndefined()
    expect(chooseEachDay(historyOf(records), 'bands').map(({ record: one }) => one.number)).toEqual([3, 2])
  })
})

describe('the answer as of a day', () => {
  const warnings: string[] = []
  const answer = (history: History, day: string) => {
    warnings.length = 0
    return findAnswer(history, 'bands', { day, warn: (text) => warnings.push(text) })?.record.day
  }
  const days = [record(1, 'final', { day: '2026-02-10' }), record(2, 'final')]

  it('is of the newest day until then', () => {
    expect(['2026-02-09', '2026-02-10', '2026-02-11', '2026-02-12', '2026-03-01'].map((day) => answer(historyOf(days), day))).toEqual([
      ...[undefined, '2026-02-10', '2026-02-10', '2026-02-12', '2026-02-12'],
    ])
    expect(warnings).toEqual([])
  })

  it('fails if that day is damaged, and warns of an earlier one', () => {
    expect(() => answer(historyOf(days, ['2026-02-12']), '2026-02-12')).toThrow('2026-02-12/0/record.json cannot be read')
    expect(() => answer(historyOf(days, ['2026-02-11']), '2026-02-11')).toThrow('2026-02-11/0/record.json cannot be read')
    expect(answer(historyOf(days, ['2026-02-11']), '2026-02-12')).toBe('2026-02-12')
    expect(answer(historyOf(days, ['2026-02-11']), '2026-02-10')).toBe('2026-02-10')
    expect(
      answer(historyOf([record(1, 'final', { day: '2026-02-10' }), record(2, 'final', { lists: {} })], ['2026-02-11']), '2026-02-12'),
    ).toBe('2026-02-10')
    expect(warnings).toEqual(['.scripstream/history/2026-02-11/0/record.json cannot be read: its digest is wrong'])
  })

  it('is described if it is not of that day, or was not collected on it', () => {
    const list = { stream: 'bands', rows: 1, content: '', whole: FILE }
    const describe = (one: StoredRecord, asked = '2026-02-12') => describeAnswer({ record: one, list }, asked)
    expect(describe(record(1, 'final'))).toBeUndefined()
    expect(describe(record(1, 'final'), '2026-02-15')).toBe('no record of 2026-02-15; the one before is of 2026-02-12')
    expect(describe(record(1, 'late', { knownAt: '2026-02-20T14:30:00.000Z' }))).toBe('the record of 2026-02-12 was collected 8 days later')
    expect(describe(record(1, 'late'))).toBe('the record of 2026-02-12 was collected at an unknown time')
    expect(describe(record(1, 'session'))).toBe('the record of 2026-02-12 was collected before the end of the session')
  })

  it('has a day to answer from, or says when the history begins', () => {
    expect(findUsedDay(historyOf(days), '2026-02-11')).toBe('2026-02-10')
    expect(() => findUsedDay(historyOf(days), '2026-02-09')).toThrow('the history begins on 2026-02-10; there is no record of 2026-02-09')
    expect(() => findUsedDay(historyOf([]), '2026-02-09')).toThrow('no day is recorded in /data')
  })
})
