import { describe, expect, it } from 'vitest'
import type { RecordTiming } from '../../../src/market/calendar.js'
import {
  chooseEachDay,
  chooseList,
  describeAnswer,
  findAnswer,
  findUsedDay,
  listAnswers,
  listListedDays,
} from '../../../src/storage/history/choose.js'
import type { History, StoredRecord } from '../../../src/storage/history/record.js'

const FILE = { name: 'bands.parquet', bytes: 1, digest: '' }

const record = (number: number, timing: RecordTiming, facts: Partial<StoredRecord> = {}): StoredRecord => ({
  format: 2,
  number,
  day: '2026-02-12',
  timing,
  isConfirmed: true,
  run: 'r',
  others: {},
  knownAt: '2026-02-12T14:30:00.000Z',
  lists: { bands: { stream: 'bands', rows: number, content: '', whole: FILE } },
  name: `2026-02-12/${number}`,
  digest: '',
  ...facts,
})

const historyOf = (records: readonly StoredRecord[], damaged: readonly string[] = []): History => ({
  root: '/data',
  records,
  deleted: [],
  earlier: [],
  damages: damaged.map((day) => ({
    day,
    file: `.scripstream/history/${day}/0/record.json`,
    detail: 'its digest is wrong',
  })),
})

const choose = (...timings: readonly RecordTiming[]): number | undefined =>
  chooseList(
    timings.map((timing, at) => record(at + 1, timing)),
    'bands',
    '2026-02-12',
  )?.record.number

describe('the record that answers for a day', () => {
  it.each<readonly [string, readonly RecordTiming[], number]>([
    ['the first final one', ['session', 'final', 'final', 'late'], 2],
    ['a final one that was stored after a late one', ['late', 'final'], 2],
    ['without a final one the last of the session', ['session', 'session', 'late'], 2],
    ['a record of the session rather than a late one before it', ['late', 'session'], 2],
    ['without both the first late one', ['late', 'late'], 1],
  ])('is %s', (_, timings, number) => expect(choose(...timings)).toBe(number))

  const AT = {
    early: '2026-02-12T13:00:00.000Z',
    published: '2026-02-12T15:00:00.000Z',
    late: '2026-02-13T15:00:00.000Z',
  }
  /** A record of a list that is published at 20:00 in India. */
  const listAt = (number: number, time: keyof typeof AT, facts: Partial<StoredRecord> = {}): StoredRecord =>
    record(number, time === 'late' ? 'late' : 'final', {
      knownAt: AT[time],
      name: `2026-02-12/${AT[time].replace(/[-:]|\.\d+/g, '')}`,
      lists: { bands: { stream: 'bands', rows: number, content: '', whole: FILE, publishedAt: '20:00' } },
      ...facts,
    })
  const chooseAt = (...times: readonly (keyof typeof AT)[]) => {
    const chosen = chooseList(
      times.map((time, at) => listAt(at + 1, time)),
      'bands',
      '2026-02-12',
    )
    return [chosen?.record.number, chosen?.timing]
  }

  it.each<readonly [string, readonly (keyof typeof AT)[], ReturnType<typeof chooseAt>]>([
    ['the first one after it was published', ['early', 'published', 'published'], [2, 'final']],
    [
      'one after it was published that was stored before an earlier one',
      ['published', 'early'],
      [1, 'final'],
    ],
    ['without such a one the last of the evening', ['early', 'early'], [2, 'early']],
    ['one before it was published rather than a late one', ['late', 'early', 'late'], [2, 'early']],
  ])('for a list that is published later than the session is %s', (_, times, chosen) =>
    expect(chooseAt(...times)).toEqual(chosen),
  )

  it('for a list that is published later is one before that, rather than one of the session or of a clock that was ahead', () => {
    const early = listAt(3, 'early')
    const ahead = listAt(1, 'published', { isConfirmed: false, knownAt: '2026-02-12T15:30:00.000Z' })
    expect(chooseList([record(1, 'session'), early], 'bands', '2026-02-12')?.record).toBe(early)
    expect(chooseList([ahead, early], 'bands', '2026-02-12')?.record).toBe(early)
  })

  it('for a list that is published later is no error because an earlier one is damaged', () => {
    const damages = [
      { day: '2026-02-12', file: '.scripstream/history/2026-02-12/20260212T130000Z/record.json', detail: '' },
    ]
    const find = (...records: readonly StoredRecord[]) =>
      findAnswer({ ...historyOf(records), damages }, 'bands', { day: '2026-02-12', warn: () => undefined })
    expect(find(listAt(2, 'published'))?.record.number).toBe(2)
    expect(() => find(listAt(2, 'early'))).toThrow('cannot be read')
    expect(() => find(record(2, 'final', { name: '2026-02-12/20260212T150000Z' }))).toThrow('cannot be read')
  })

  it('is not one from before the end of the session, if a later one knows that end', () => {
    const [midst, over] = [record(1, 'final', { knownAt: '2026-02-12T13:00:00.000Z' }), record(2, 'final')]
    expect(chooseList([midst, over], 'bands', '2026-02-12')?.record).toBe(midst)
    const ended = { ...over, sessionEnd: '2026-02-12T13:45:00.000Z' }
    expect(chooseList([midst, ended], 'bands', '2026-02-12')?.record).toBe(ended)
    expect(chooseList([midst, { ...ended, lists: {} }], 'bands', '2026-02-12')).toMatchObject({
      record: midst,
      timing: 'session',
    })
  })

  it('is one whose answers had drifted only while there is no other', () => {
    const lists = { bands: { stream: 'bands', rows: 1, content: '', whole: FILE, hasDrift: true } }
    const [drifted, whole] = [record(1, 'final', { lists }), record(2, 'final')]
    expect(chooseList([drifted, whole], 'bands', '2026-02-12')?.record).toBe(whole)
    const chosen = chooseList([drifted], 'bands', '2026-02-12')
    expect(chosen && describeAnswer(chosen, '2026-02-12')).toBe(
      'bands of 2026-02-12 had drifted when they were collected',
    )
  })

  it('is of that day, and has the list', () => {
    const records = [
      record(1, 'final', { lists: {} }),
      record(2, 'late'),
      record(3, 'final', { day: '2026-02-11' }),
    ]
    expect(chooseList(records, 'bands', '2026-02-12')?.record.number).toBe(2)
    expect(chooseList(records, 'toString', '2026-02-12')).toBeUndefined()
    expect(chooseEachDay(historyOf(records), 'bands').map(({ record: one }) => one.number)).toEqual([3, 2])
  })
})

describe('a record of a clock that was ahead', () => {
  const FRIDAY = { day: '2026-02-13', knownAt: '2026-02-13T14:30:00.000Z' }
  const first = record(1, 'final', { day: '2026-02-11', knownAt: '2026-02-11T14:30:00.000Z' })
  const ahead = record(2, 'final', {
    day: '2026-02-18',
    knownAt: '2026-02-18T14:30:00.000Z',
    isConfirmed: false,
  })
  const daysAfter = (...later: readonly StoredRecord[]) =>
    listListedDays({ records: [first, ahead, ...later] })

  it('answers nothing once a later record was known earlier', () => {
    expect(daysAfter()).toEqual(['2026-02-11', '2026-02-18'])
    expect(daysAfter(record(3, 'final'))).toEqual(['2026-02-11', '2026-02-12'])
    expect(chooseList([first, ahead, record(3, 'final')], 'bands', '2026-02-18')).toBeUndefined()
    const history = historyOf([first, ahead, record(3, 'final')])
    expect(findAnswer(history, 'bands', { day: '2026-02-20', warn: expect.fail })?.record.number).toBe(3)
    expect(chooseEachDay(history, 'bands').map(({ record: one }) => one.number)).toEqual([1, 3])
    expect(findUsedDay(history, '2036-01-01')).toBe('2026-02-12')
  })

  it('answers nothing of its day if another record has it', () => {
    const records = [
      first,
      ahead,
      record(3, 'final'),
      record(4, 'late', { day: '2026-02-18', knownAt: '2026-02-20T14:30:00.000Z' }),
    ]
    expect(chooseList(records, 'bands', '2026-02-18')?.record.number).toBe(4)
  })

  it.each<readonly [string, StoredRecord]>([
    ['was late, because its own clock was behind', record(3, 'late')],
    ['was known later', record(3, 'final', { day: '2026-02-19', knownAt: '2026-02-19T14:30:00.000Z' })],
    ['is far from all confirmed days', record(3, 'final', { day: '2026-02-23', isConfirmed: false })],
  ])('is not shown by one that %s', (_, later) => expect(daysAfter(later)).toContain('2026-02-18'))

  it('is none if candles confirm its day', () => {
    expect(
      listListedDays({ records: [first, { ...ahead, isConfirmed: true }, record(3, 'final')] }),
    ).toContain('2026-02-18')
  })

  it('is not the first record of an evening, which no candles confirmed yet', () => {
    const records = [
      record(1, 'final', { ...FRIDAY, isConfirmed: false }),
      record(2, 'final', { ...FRIDAY, knownAt: '2026-02-15T04:30:00.000Z' }),
    ]
    expect(chooseList(records, 'bands', FRIDAY.day)?.record.number).toBe(1)
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
    expect(
      ['2026-02-09', '2026-02-10', '2026-02-11', '2026-02-12', '2026-03-01'].map((day) =>
        answer(historyOf(days), day),
      ),
    ).toEqual([undefined, '2026-02-10', '2026-02-10', '2026-02-12', '2026-02-12'])
    expect(warnings).toEqual([])
  })

  it('fails if that day is damaged, and warns of an earlier one', () => {
    expect(() => answer(historyOf(days, ['2026-02-12']), '2026-02-12')).toThrow(
      '2026-02-12/0/record.json cannot be read',
    )
    expect(() => answer(historyOf(days, ['2026-02-11']), '2026-02-11')).toThrow(
      '2026-02-11/0/record.json cannot be read',
    )
    expect(answer(historyOf(days, ['2026-02-11']), '2026-02-12')).toBe('2026-02-12')
    expect(answer(historyOf(days, ['2026-02-11']), '2026-02-10')).toBe('2026-02-10')
    expect(
      answer(
        historyOf(
          [record(1, 'final', { day: '2026-02-10' }), record(2, 'final', { lists: {} })],
          ['2026-02-11'],
        ),
        '2026-02-12',
      ),
    ).toBe('2026-02-10')
    expect(warnings).toEqual([
      '.scripstream/history/2026-02-11/0/record.json cannot be read: its digest is wrong',
    ])
  })

  it('is an error if a record is damaged that may be the first final one of the day', () => {
    const history = (damaged: string): History => ({
      ...historyOf([record(1, 'final', { day: '2026-02-11' }), record(3, 'final')]),
      damages: [
        {
          day: '2026-02-12',
          file: `.scripstream/history/2026-02-12/${damaged}/record.json`,
          detail: 'its digest is wrong',
        },
      ],
    })
    expect(() => answer(history('2'), '2026-02-12')).toThrow('2026-02-12/2/record.json cannot be read')
    expect(listAnswers(history('2'), 'bands').map(({ day, damage }) => [day, damage !== undefined])).toEqual([
      ['2026-02-11', false],
      ['2026-02-12', true],
    ])
    expect(answer(history('4'), '2026-02-12')).toBe('2026-02-12')
    expect(warnings).toHaveLength(1)
  })

  it('is described if it is not of that day, or was not collected on it', () => {
    const list = { stream: 'bands', rows: 1, content: '', whole: FILE }
    const describe = (one: StoredRecord, asked = '2026-02-12') =>
      describeAnswer({ table: 'bands', record: one, list, timing: one.timing }, asked)
    expect(describe(record(1, 'final'))).toBeUndefined()
    expect(describe(record(1, 'final'), '2026-02-15')).toBe(
      'no record of 2026-02-15; the one before is of 2026-02-12',
    )
    expect(describe(record(1, 'late', { knownAt: '2026-02-20T14:30:00.000Z' }))).toBe(
      'the record of 2026-02-12 was collected 8 days later',
    )
    expect(describe(record(1, 'late'))).toBe('the record of 2026-02-12 was collected at an unknown time')
    expect(describe(record(1, 'session'))).toBe(
      'the record of 2026-02-12 was collected before the end of the session',
    )
  })

  it('has a day to answer from, or says when the history begins', () => {
    expect(findUsedDay(historyOf(days), '2026-02-11')).toBe('2026-02-10')
    expect(() => findUsedDay(historyOf(days), '2026-02-09')).toThrow(
      'the history begins on 2026-02-10; there is no record of 2026-02-09',
    )
    expect(() => findUsedDay(historyOf([]), '2026-02-09')).toThrow('no day is recorded in /data')
  })
})
