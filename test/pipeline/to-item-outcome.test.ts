import { EmptyError, of, repeat, SequenceError } from 'rxjs'
import { describe } from 'vitest'
import { HttpError, NothingAnsweredError, StorageError, ThrottledError, TransportError } from '../../src/model/errors.js'
import type { Item, ItemOutcome, ItemResult } from '../../src/model/outcome.js'
import { createResult, skippedResult } from '../../src/model/outcome.js'
import { toItemOutcome } from '../../src/pipeline/item.js'
import { itWithMarbles } from '../support/marbles.js'

const item: Item = { key: 'A', rank: 0, fileName: 'A', value: {} }
const toOutcome = (facts: Omit<ItemOutcome, 'item'>): ItemOutcome => ({ item, ...facts })
const lost = (error: ThrottledError | HttpError | TransportError | NothingAnsweredError): ItemOutcome =>
  toOutcome({
    status: error.status,
    rows: [],
    reason: error.message,
    code: error.code,
    ...(error.causes.length > 0 ? { causes: [{ code: error.code }] } : {}),
    ...(error.isTemporary ? { isTemporary: true } : {}),
    error,
  })

describe('toItemOutcome', () => {
  const finds: readonly { readonly what: string; readonly result: ItemResult }[] = [
    { what: 'rows', result: createResult([{ Close: 1 }]) },
    { what: 'nothing', result: createResult([]) },
    { what: 'fewer rows than there may be', result: createResult([{ Close: 1 }], 'lodr: the provider answered 503') },
    { what: 'nothing to do', result: skippedResult },
  ]
  for (const { what, result } of finds)
    itWithMarbles(`reports an item for which the work returns ${what} with its status`, (m) => {
      const work = m.cold<ItemResult>('-a--|', { a: result })
      const expected = '          ----(s|)'

      m.expect(work.pipe(toItemOutcome(item))).toBeObservable(expected, { s: toOutcome(result) })
      m.expect(work).toHaveSubscriptions('^---!')
    })

  const losses = [
    new ThrottledError(2_000),
    new HttpError(404),
    new HttpError(503),
    new TransportError('reset', 'gone'),
    new NothingAnsweredError('none of the tiers'),
  ]
  for (const error of losses)
    itWithMarbles(`reports the item as ${error.status} with the reason: ${error.message}`, (m) => {
      const work = m.cold<ItemResult>('--#', undefined, error)
      const expected = '          --(s|)'

      m.expect(work.pipe(toItemOutcome(item))).toBeObservable(expected, { s: lost(error) })
      m.expect(work).toHaveSubscriptions('^-!')
    })

  for (const error of [new StorageError('the disk is full'), new TypeError('a bug')])
    itWithMarbles(`passes on an error that must end the run: ${error.message}`, (m) => {
      const work = m.cold<ItemResult>('--#', undefined, error)
      const expected = '          --#'

      m.expect(work.pipe(toItemOutcome(item))).toBeObservable(expected, undefined, error)
      m.expect(work).toHaveSubscriptions('^-!')
    })

  itWithMarbles('treats work that completes without a result as a bug', (m) => {
    const work = m.cold<ItemResult>('--|')
    const expected = '          --#'

    m.expect(work.pipe(toItemOutcome(item))).toBeObservable(expected, undefined, new EmptyError())
    m.expect(work).toHaveSubscriptions('^-!')
  })

  itWithMarbles('treats work with two results as a bug', (m) => {
    const work = m.cold<ItemResult>('-a-b-|', { a: createResult([1]), b: createResult([2]) })
    const expected = '          ---#'

    m.expect(work.pipe(toItemOutcome(item))).toBeObservable(expected, undefined, new SequenceError('Too many matching values'))
    m.expect(work).toHaveSubscriptions('^--!')
  })

  itWithMarbles('stops work with endless results', (m) => {
    const work = of(createResult([1])).pipe(repeat())

    m.expect(work.pipe(toItemOutcome(item))).toBeObservable('#', undefined, new SequenceError('Too many matching values'))
  })

  itWithMarbles('emits one failed outcome if work fails after its result', (m) => {
    const error = new HttpError(503)
    const work = m.cold<ItemResult>('-a-#', { a: createResult([1]) }, error)
    const expected = '          ---(s|)'

    m.expect(work.pipe(toItemOutcome(item))).toBeObservable(expected, { s: lost(error) })
    m.expect(work).toHaveSubscriptions('^--!')
  })
})
