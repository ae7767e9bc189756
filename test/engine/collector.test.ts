import { map, of, Subject, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import { type CollectorOptions, createCollector, type RunOptions } from '../../src/collector.js'
import { NothingAnsweredError, UsageError } from '../../src/model/errors.js'
import { itWithMarbles } from '../support/marbles.js'
import { row, status, tiny, tinyCollector, tinyOnce } from '../support/tiny.js'

describe('a collector', () => {
  it('refuses settings that are wrong, by name', () => {
    expect(() => createCollector({ settings: { retries: 99 } })).toThrow(UsageError)
    expect(() => createCollector({ settings: { retries: 99 } })).toThrow(
      /^retries must be a whole number from 0 to 10, but is 99$/,
    )
  })

  itWithMarbles('sends no request until it is subscribed, and starts again with each subscription', (m) => {
    const answer = m.cold('-(r|)', { r: row })
    const collector = tinyCollector(m, { stocks: ['A'], streams: [tiny('news')], answers: () => answer })
    const outcome = collector.run().pipe(map((report) => report.outcome))

    m.expect(outcome, '--^').toBeObservable('   ---(a|)', { a: 'complete' })
    m.expect(outcome, '-----^').toBeObservable('------(a|)', { a: 'complete' })
    m.expect(answer).toHaveSubscriptions(['         --^!', '-----^!'])
  })

  itWithMarbles('errors for an unknown stream when it is subscribed', (m) => {
    const collector = tinyCollector(m, { streams: [tiny('news')] })
    const why = new UsageError('unknown stream: "new" (did you mean news?); streams: master-data, news')

    m.expect(collector.stream('new')).toBeObservable('         #', undefined, why)
    m.expect(collector.run({ only: ['new'] })).toBeObservable('#', undefined, why)
    m.flush()
    expect(collector.requested).toStrictEqual([])
  })
})

describe('a wrong option', () => {
  const misspelt = (options: object) => options as RunOptions

  it.each([
    [{ dispatcher: {} }, 'invalid dispatcher: it must have the method dispatch'],
    [{ storage: null }, 'invalid storage: it must have the method openSession'],
    [{ engine: {} }, 'invalid engine: it must have the method begin'],
    [{ clock: 5 }, 'invalid clock: it must be a function'],
  ])('of a wrong kind is refused: %o', (part, why) => {
    expect(() => createCollector({ settings: {}, ...part } as unknown as CollectorOptions)).toThrow(why)
  })

  itWithMarbles(
    'that is misspelt, of a run or a stream, and an unknown rule of accept, are errors before the first request',
    (m) => {
      const collector = tinyCollector(m, { streams: [tiny('news')] })
      const rules = 'rules: shrink, count, fields, prices, rescale, identity, witness, units'
      const symbol = 'unknown option: "symbol" (did you mean symbols?); options:'
      const known = 'only, skip, symbols, wrongSymbols, pairs, asOf, recordLate, accept, fresh, variant, stop'

      m.expect(collector.run(misspelt({ symbol: ['A'] }))).toBeObservable(
        '#',
        undefined,
        new UsageError(`${symbol} ${known}`),
      )
      m.expect(collector.stream('news', misspelt({ symbol: ['A'] }))).toBeObservable(
        '#',
        undefined,
        new UsageError(`${symbol} symbols, asOf, consume, signal`),
      )
      m.expect(collector.run(misspelt({ accept: ['count', 'shrnk'] }))).toBeObservable(
        '#',
        undefined,
        new UsageError(`accept: unknown rule: "shrnk" (did you mean shrink?); ${rules}`),
      )
      m.flush()
      expect(collector.requested).toStrictEqual([])
    },
  )
})

describe('one stream of a collector', () => {
  itWithMarbles('emits the items of that stream as they finish, and writes nothing', (m) => {
    const files: MemoryFiles = new Map()
    const collector = tinyCollector(m, {
      streams: [tiny('news', { workers: 1 }), tiny('filings')],
      storage: memory(files),
      answers: (call) => m.cold('-(r|)', { r: call === 'news B' ? status(404) : row }),
    })
    const items = collector.stream('news').pipe(map(({ item, status: how }) => `${item.key} ${how}`))

    m.expect(items).toBeObservable('-ab(c|)', { a: 'A success', b: 'B http_404', c: 'C success' })
    m.flush()
    expect(collector.requested).toStrictEqual(['0 master-data all', '0 news A', '1 news B', '2 news C'])
    expect(files.size).toBe(0)
  })

  itWithMarbles('can be limited to a few stocks', (m) => {
    const collector = tinyCollector(m, { streams: [tiny('news')] })
    const keys = collector.stream('news', { symbols: ['b'] }).pipe(map(({ item }) => item.key))

    m.expect(keys).toBeObservable('(a|)', { a: 'B' })
  })

  itWithMarbles('completes without a request if it is limited to no stock', (m) => {
    const collector = tinyCollector(m, { streams: [tiny('news')] })
    m.expect(collector.stream('news', { symbols: [] })).toBeObservable('|')
    m.flush()
    expect(collector.requested).toStrictEqual([])
  })

  itWithMarbles('runs without stocks if a run is limited to none', (m) => {
    const collector = tinyCollector(m, { streams: [tiny('news'), tinyOnce('lists')] })
    m.expect(
      collector.run({ symbols: [] }).pipe(map(({ outcome, stocks }) => [outcome, stocks])),
    ).toBeObservable('(a|)', {
      a: ['complete', 0],
    })
    m.flush()
    expect(collector.requested).toStrictEqual(['0 master-data all', '0 lists all'])
  })

  itWithMarbles('rejects symbols if it is not fetched stock by stock', (m) => {
    const collector = tinyCollector(m, { streams: [tinyOnce('lists')] })
    const why = new UsageError(
      'symbols: lists is not fetched stock by stock; leave them out, and select from its records',
    )
    m.expect(collector.stream('lists', { symbols: ['B'] })).toBeObservable('#', undefined, why)
  })

  itWithMarbles('errors if its list of items is unavailable', (m) => {
    const collector = tinyCollector(m, {
      stocks: [],
      streams: [tiny('news')],
      answers: () => of(status(403)),
    })
    const why = new NothingAnsweredError(
      'master-data failed: POST static /master-data: the provider answered 403 (empty body)',
    )

    m.expect(collector.stream('news').pipe(toArray())).toBeObservable('#', undefined, why)
  })

  itWithMarbles('aborts its requests when it is unsubscribed', (m) => {
    const answer = m.cold('----(r|)', { r: row })
    const collector = tinyCollector(m, { streams: [tiny('news')], answers: () => answer })

    m.expect(collector.stream('news'), '^-!').toBeObservable('-')
    m.expect(answer).toHaveSubscriptions(['     ^-!', '^-!'])
  })

  itWithMarbles('sends requests no faster than its items are consumed, if it has a consumer', (m) => {
    const stocks = Array.from({ length: 100 }, (_, place) => `S${place}`)
    const collector = tinyCollector(m, { stocks, streams: [tiny('news', { workers: 1 })] })
    const consumed: Subject<void>[] = []
    const emitted: string[] = []
    const consume = () => {
      const consumed$ = new Subject<void>()
      consumed.push(consumed$)
      return consumed$
    }
    let isOver = false
    collector
      .stream('news', { consume })
      .subscribe({ next: ({ item }) => emitted.push(item.key), complete: () => (isOver = true) })

    expect(emitted).toEqual(['S0'])
    expect(collector.requested.length).toBeLessThan(25)
    for (let place = 0; place < stocks.length; place++) consumed[place]?.complete()
    expect([emitted, isOver]).toEqual([stocks, true])
  })

  itWithMarbles('errors with what the consumer of its items errors with', (m) => {
    const collector = tinyCollector(m, { streams: [tiny('news', { workers: 1 })] })
    const full = new Error('the database is full')
    const consume = () => m.cold('--#', undefined, full)

    m.expect(collector.stream('news', { consume }).pipe(map(({ item }) => item.key))).toBeObservable(
      'A-#',
      undefined,
      full,
    )
  })
})
