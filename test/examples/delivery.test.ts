import { lastValueFrom, map, NEVER } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { createCollector } from 'scripstream'
import { TransportError } from 'scripstream/errors'
import { serveSimulator } from 'scripstream/simulator'
import { type MemoryFiles, memory } from 'scripstream/sinks'
import { streams } from 'scripstream/streams'
import { createTrial, type Trial } from 'scripstream/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Delivery, deliveryShares } from './delivery.js'

/** Runs a test on virtual time: a marble is a millisecond, and `2s` takes no real time. */
const marbles = (test: Parameters<TestScheduler['run']>[0]) => () =>
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(test)

const day = (traded: number, delivered: number) => ({ data: [{ day: '2026-02-12', traded, delivered }] })

/** The items of a trial in a few words: `ALPHA success 40`. */
const describeResults = ({ item$ }: Trial<Delivery>) =>
  item$.pipe(map(({ item, status, rows }) => [item.key, status, ...rows.map(({ share }) => share)].join(' ')))

describe('delivery shares, on marbles', () => {
  it(
    'are requested stock by stock by ISIN, and emitted as their answers arrive',
    marbles(({ cold, expectObservable, flush }) => {
      const answers = {
        INE000000001: cold('---(a|)', { a: day(200, 80) }),
        INE000000002: cold('-(b|)', { b: day(0, 0) }),
      }
      const trial = createTrial(deliveryShares, {
        answers: ({ body }) => answers[(body as { data: { isin: keyof typeof answers } }).data.isin],
      })
      expectObservable(describeResults(trial)).toBe('-b-(a|)', { a: 'ALPHA success 40', b: 'BETA empty' })
      flush()
      expect(trial.requests.map(({ at, path }) => `${at} ${path}`)).toEqual([
        '0 /staticscanx/delivery',
        '0 /staticscanx/delivery',
      ])
    }),
  )

  it(
    'are retried twice after a temporary failure, after 0.4 and 0.8 s',
    marbles(({ cold, expectObservable }) => {
      const inTurn = [
        cold('a|', { a: 503 }),
        cold('#', undefined, new TransportError('reset', 'gone')),
        cold('(a|)', { a: day(10, 5) }),
      ]
      const trial = createTrial(deliveryShares, { stocks: stocks(1), answers: () => inTurn.shift() ?? NEVER })
      expectObservable(describeResults(trial)).toBe('1125ms (a|)', { a: 'ALPHA success 50' })
    }),
  )

  it(
    'fail one by one: only the stock with the answer of another one is lost',
    marbles(({ cold, expectObservable }) => {
      const foreign = { data: [{ isin: 'INE000000001', day: '2026-02-12', traded: 1, delivered: 1 }] }
      const trial = createTrial(deliveryShares, {
        answers: () => cold('(a|)', { a: foreign }),
        settings: { retries: 0 },
      })
      expectObservable(describeResults(trial)).toBe('(ab|)', { a: 'ALPHA success 100', b: 'BETA error' })
    }),
  )

  it(
    'are no longer requested after unsubscribe',
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const answer$ = cold('-----a|', { a: day(1, 1) })
      expectObservable(
        describeResults(createTrial(deliveryShares, { stocks: stocks(1), answers: () => answer$ })),
        '^--!',
      ).toBe('-')
      expectSubscriptions(answer$.subscriptions).toBe('^--!')
    }),
  )
})

const stocks = (count: number) =>
  Array.from({ length: count }, () => ({
    Symbol: 'ALPHA',
    ISIN: 'INE000000001',
    Name: 'Alpha Limited',
    Sid: '1',
    FnoFlag: 0,
  }))

describe('delivery shares, in a run', () => {
  it('are collected together with the built-in streams, in a file of their own', async () => {
    const all = [...streams, deliveryShares]
    const provider = await serveSimulator({ endpoints: all.flatMap(({ endpoints }) => endpoints), stocks: 4 })
    onTestFinished(() => provider.close())
    const files: MemoryFiles = new Map()
    const collector = createCollector({ settings: provider.settings, streams: all, storage: memory(files) })
    const report = await lastValueFrom(collector.run({ only: ['delivery-shares'] }))
    expect(report.scripts['delivery-shares']).toMatchObject({
      outcome: 'success',
      items: { success: 4 },
      files: 1,
    })
    const records = JSON.parse(files.get('delivery_shares.json')?.text ?? '') as readonly Delivery[]
    expect(new Set(records.map(({ Symbol: symbol }) => symbol))).toEqual(
      new Set(provider.market.stocks.map(({ Symbol: symbol }) => symbol)),
    )
    expect(records.every(({ share }) => share >= 10 && share <= 90)).toBe(true)
  })
})
