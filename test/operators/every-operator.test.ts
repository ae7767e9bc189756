import { EmptyError, map, type Observable, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { workOnItems } from '../../src/engine/in-process.js'
import { createResult, type ItemResult } from '../../src/model/outcome.js'
import { barrier } from '../../src/operators/barrier.js'
import { catchItemFailure } from '../../src/operators/catch-item-failure.js'
import { deadline } from '../../src/operators/deadline.js'
import { firstThatAnswers } from '../../src/operators/first-that-answers.js'
import { retryAfter429 } from '../../src/operators/retry-after-429.js'
import { retryFailures } from '../../src/operators/retry-failures.js'
import { sortDescending, uniqueBy } from '../../src/operators/row-lists.js'
import { marbles } from '../support/marbles.js'

interface Operator {
  readonly name: string
  readonly apply: (source: Observable<ItemResult>) => Observable<unknown>
  /**
   * What comes of a source that ends without a value, as marbles; if absent, the same. `e` is an empty list.
   */
  readonly ofEmpty?: '--(e|)' | '--#'
}

const values: { readonly a: ItemResult } = { a: createResult([{ n: 1 }]) }
const item = { key: 'A', rank: 0, fileName: 'A', value: {} }
const stage = { workers: 2 }
const policy = {
  retries: 2,
  throttleRetries: 2,
  backoffMs: 8,
  throttleMs: 8,
  throttleMaxMs: 8,
  random: () => 0,
}

const operators: readonly Operator[] = [
  { name: 'barrier', apply: (source) => barrier([source]), ofEmpty: '--#' },
  { name: 'catchItemFailure', apply: (source) => source.pipe(catchItemFailure(() => of(values.a))) },
  { name: 'deadline', apply: (source) => source.pipe(deadline({ idleMs: 60_000 })) },
  {
    name: 'firstThatAnswers',
    apply: (source) => firstThatAnswers([{ name: 'only', ask: () => source }]),
    ofEmpty: '--#',
  },
  { name: 'retryAfter429', apply: (source) => source.pipe(retryAfter429()) },
  { name: 'retryFailures', apply: (source) => source.pipe(retryFailures(policy)) },
  {
    name: 'sortDescending',
    apply: (source) =>
      source.pipe(
        map(({ rows }): readonly unknown[] => [...rows]),
        sortDescending(() => ''),
      ),
  },
  { name: 'uniqueBy', apply: (source) => source.pipe(uniqueBy(() => 'key')), ofEmpty: '--(e|)' },
  {
    name: 'workOnItems',
    apply: (source) =>
      source.pipe(
        map(({ rows }) => ({ ...item, value: rows })),
        workOnItems(() => of(values.a), stage),
      ),
  },
  {
    name: 'workOnItems, by its work',
    apply: (source) => of(item).pipe(workOnItems(() => source, stage)),
    ofEmpty: '--#',
  },
]

describe.each(operators)('$name', ({ apply, ofEmpty = '--|' }) => {
  it('ends with a source that has no value, with an error or an empty list where it promises a value', () =>
    marbles((m) => {
      const source = m.cold<ItemResult>('--|')

      m.expect(apply(source)).toBeObservable(ofEmpty, { e: [] }, new EmptyError())
      m.expect(source).toHaveSubscriptions('^-!')
    })())

  it('waits with a source that never emits', () =>
    marbles((m) => {
      const source = m.cold<ItemResult>('-')

      m.expect(apply(source), '1s !').toBeObservable('-')
      m.expect(source).toHaveSubscriptions('^ 999ms !')
    })())

  it('passes on an unexpected error at once, and unsubscribes its source', () =>
    marbles((m) => {
      const bug = new TypeError('a bug')
      const source = m.cold<ItemResult>('--#', undefined, bug)

      m.expect(apply(source)).toBeObservable('--#', undefined, bug)
      m.expect(source).toHaveSubscriptions('^-!')
    })())

  it('unsubscribes its source when it is unsubscribed', () =>
    marbles((m) => {
      const source = m.cold<ItemResult>('----(a|)', values)

      m.expect(apply(source), '--!').toBeObservable('-')
      m.expect(source).toHaveSubscriptions('^-!')
    })())

  it('starts again with each subscription', () =>
    marbles((m) => {
      const source = m.cold<ItemResult>('--(a|)', values)
      const applied = apply(source)
      const emitted: unknown[] = []
      applied.subscribe((value) => emitted.push(value))
      m.cold('-x').subscribe(() => applied.subscribe((value) => emitted.push(value)))
      m.flush()

      m.expect(source).toHaveSubscriptions(['^-!', '-^-!'])
      expect(emitted).toHaveLength(2)
      expect(emitted[1]).toStrictEqual(emitted[0])
    })())
})
