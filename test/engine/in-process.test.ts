import { defer, EmptyError, from, map, Observable, of, range, repeat, SequenceError, Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { createActivity, type ItemWork, workOnItems } from '../../src/engine/in-process.js'
import { MAX_BACKLOG } from '../../src/engine/run.js'
import {
  HttpError,
  NothingAnsweredError,
  StorageError,
  ThrottledError,
  TransportError,
} from '../../src/model/errors.js'
import {
  createResult,
  type Item,
  type ItemOutcome,
  type ItemResult,
  skippedResult,
} from '../../src/model/outcome.js'
import { itWithMarbles } from '../support/marbles.js'

const toItem = (n: number): Item => ({ key: `${n}`, rank: n, fileName: `${n}`, value: n })
const itemsUpTo = (count: number): Observable<Item> => range(0, count).pipe(map(toItem))

/** Work that the test controls: `begun` lists the started requests in order. */
const createWorks = () => {
  const begun: string[] = []
  const ends = new Map<string, Subject<ItemResult>>()
  const work: ItemWork = ({ key }) =>
    defer(() => {
      begun.push(key)
      const end$ = new Subject<ItemResult>()
      ends.set(key, end$)
      return end$
    })
  const end = (name: number): void => {
    ends.get(`${name}`)?.next(createResult([name]))
    ends.get(`${name}`)?.complete()
  }
  return { begun, work, end, ends }
}

describe('the workers of a stream', () => {
  itWithMarbles('emit outcomes, and complete when all work has completed', (m) => {
    const source = m.cold('a-b|', { a: toItem(0), b: toItem(1) })
    const work = m.cold('--(x|)', { x: skippedResult })
    const [a, b] = [
      { item: toItem(0), ...skippedResult },
      { item: toItem(1), ...skippedResult },
    ]
    m.expect(source.pipe(workOnItems(() => work, { workers: 2 }))).toBeObservable('--a-(b|)', { a, b })
  })

  it('take as many items at a time as there are workers, and the others in order', () => {
    const { begun, work, end } = createWorks()
    const got: string[] = []
    itemsUpTo(5)
      .pipe(workOnItems(work, { workers: 2 }))
      .subscribe(({ item }) => got.push(item.key))
    expect(begun).toEqual(['0', '1'])
    end(1)
    expect(begun).toEqual(['0', '1', '2'])
    end(0)
    end(2)
    expect(begun).toEqual(['0', '1', '2', '3', '4'])
    expect(got).toEqual(['1', '0', '2'])
  })

  it('wait while too many outcomes are being stored, and go on as each of them is', () => {
    const { begun, work, end } = createWorks()
    const activeItems = createActivity().createCounter()
    itemsUpTo(MAX_BACKLOG + 6)
      .pipe(workOnItems(work, { workers: 2, activeItems }))
      .subscribe()
    for (let n = 0; n < MAX_BACKLOG + 2; n++) end(n)
    expect(begun.length).toBe(MAX_BACKLOG + 2)
    activeItems.end()
    expect(begun.length).toBe(MAX_BACKLOG + 3)
    activeItems.end()
    activeItems.end()
    expect(begun.length).toBe(MAX_BACKLOG + 4)
  })

  it('begin no further item of a run that stops, and do not complete', () => {
    const { begun, work, end } = createWorks()
    let isStopping = false
    const got: string[] = []
    itemsUpTo(3)
      .pipe(workOnItems(work, { workers: 1, isStopping: () => isStopping }))
      .subscribe({ next: ({ item }) => got.push(item.key), complete: () => got.push('complete') })
    isStopping = true
    end(0)
    expect([begun, got]).toEqual([['0'], ['0']])
  })

  it('emit the stored outcome of an item, and complete after it', () => {
    const { begun, work } = createWorks()
    const findStored = (item: Item): ItemOutcome => ({ item, ...skippedResult })
    const keys: string[] = []
    let isComplete = false
    itemsUpTo(3)
      .pipe(workOnItems(work, { workers: 1, findStored }))
      .subscribe({ next: ({ item }) => keys.push(item.key), complete: () => (isComplete = true) })
    expect({ begun, keys, isComplete }).toEqual({ begun: [], keys: ['0', '1', '2'], isComplete: true })
  })

  it('abort active work and begin nothing more after a bug, or when they are unsubscribed', () => {
    for (const stop of [
      (subscription: { unsubscribe: () => void }) => subscription.unsubscribe(),
      (_: unknown, fail: () => void) => fail(),
    ]) {
      const { begun, work, ends } = createWorks()
      const subscription = itemsUpTo(6)
        .pipe(workOnItems(work, { workers: 3 }))
        .subscribe({ error: () => undefined })
      stop(subscription, () => ends.get('1')?.error(new Error('broken')))
      expect(begun).toEqual(['0', '1', '2'])
      expect([...ends.values()].some(({ observed }) => observed)).toBe(false)
    }
  })

  it('neither grow the stack nor slow down with a long list of synchronous work', () => {
    let sum = 0
    itemsUpTo(200_000)
      .pipe(workOnItems(() => of(skippedResult), { workers: 3 }))
      .subscribe(({ item }) => {
        sum += item.rank
      })
    expect(sum).toBe(19_999_900_000)
  })

  it('do not grow the stack when a long queue of synchronous work follows active work', () => {
    const first$ = new Subject<ItemResult>()
    let count = 0
    const work: ItemWork = ({ rank }) => (rank < 3 ? first$ : of(skippedResult))
    itemsUpTo(50_000)
      .pipe(workOnItems(work, { workers: 3 }))
      .subscribe(() => {
        count += 1
      })
    expect(count).toBe(0)
    first$.next(skippedResult)
    first$.complete()
    expect(count).toBe(50_000)
  })
})

describe('the outcome of an item', () => {
  const item = toItem(7)
  const toOutcome = (facts: Omit<ItemOutcome, 'item'>): ItemOutcome => ({ item, ...facts })
  const outcomeOf = (work: Observable<ItemResult>) => of(item).pipe(workOnItems(() => work, { workers: 1 }))
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
  const results: readonly { readonly what: string; readonly result: ItemResult }[] = [
    { what: 'rows', result: createResult([{ Close: 1 }]) },
    { what: 'nothing', result: createResult([]) },
    {
      what: 'fewer rows than there may be',
      result: createResult([{ Close: 1 }], 'lodr: the provider answered 503'),
    },
    { what: 'nothing to do', result: skippedResult },
  ]
  for (const { what, result } of results)
    itWithMarbles(`is the result of its work if that returns ${what}`, (m) => {
      const work = m.cold<ItemResult>('-a--|', { a: result })
      m.expect(outcomeOf(work)).toBeObservable('----(s|)', { s: toOutcome(result) })
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
    itWithMarbles(`is ${error.status} with the reason: ${error.message}`, (m) => {
      const work = m.cold<ItemResult>('--#', undefined, error)
      m.expect(outcomeOf(work)).toBeObservable('--(s|)', { s: lost(error) })
      m.expect(work).toHaveSubscriptions('^-!')
    })

  for (const error of [new StorageError('the disk is full'), new TypeError('a bug')])
    itWithMarbles(`is an error if that must end the run: ${error.message}`, (m) => {
      const work = m.cold<ItemResult>('--#', undefined, error)
      m.expect(outcomeOf(work)).toBeObservable('--#', undefined, error)
      m.expect(work).toHaveSubscriptions('^-!')
    })

  it('is an error that names stream and item if the work throws', () => {
    const errors: unknown[] = []
    const broken: ItemWork = () => {
      throw new TypeError('a bug')
    }
    const stream = { name: 'notes' } as NonNullable<Parameters<typeof workOnItems>[1]['stream']>
    from([item])
      .pipe(workOnItems(broken, { workers: 1, stream }))
      .subscribe({ error: (error: unknown) => errors.push(error) })
    expect(errors).toMatchObject([{ message: 'the work of notes failed at 7: a bug' }])
  })

  itWithMarbles('is an error if the work completes without a result', (m) => {
    const work = m.cold<ItemResult>('--|')
    m.expect(outcomeOf(work)).toBeObservable('--#', undefined, new EmptyError())
    m.expect(work).toHaveSubscriptions('^-!')
  })

  itWithMarbles('is an error if the work has two results', (m) => {
    const work = m.cold<ItemResult>('-a-b-|', { a: createResult([1]), b: createResult([2]) })
    m.expect(outcomeOf(work)).toBeObservable('---#', undefined, new SequenceError('Too many matching values'))
    m.expect(work).toHaveSubscriptions('^--!')
  })

  itWithMarbles('is an error if the work has endless results', (m) => {
    const work = of(createResult([1])).pipe(repeat())
    m.expect(outcomeOf(work)).toBeObservable('#', undefined, new SequenceError('Too many matching values'))
  })

  it('is final: what the work emits after its end changes nothing', () => {
    const work = new Observable<ItemResult>((subscriber) => {
      subscriber.next(skippedResult)
      subscriber.complete()
      subscriber.next(createResult([1]))
      subscriber.error(new TypeError('too late'))
      subscriber.complete()
    })
    const outcomes: unknown[] = []
    outcomeOf(work).subscribe((outcome) => outcomes.push(outcome))
    expect(outcomes).toEqual([toOutcome(skippedResult)])
  })

  itWithMarbles('is one failed outcome if the work fails after its result', (m) => {
    const error = new HttpError(503)
    const work = m.cold<ItemResult>('-a-#', { a: createResult([1]) }, error)
    m.expect(outcomeOf(work)).toBeObservable('---(s|)', { s: lost(error) })
    m.expect(work).toHaveSubscriptions('^--!')
  })
})
