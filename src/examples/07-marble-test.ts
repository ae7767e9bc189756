/**
 * A marble test of a stream: scripted answers, virtual time, every pause tested in milliseconds. Works with
 * any test runner.
 */
import { deepEqual } from 'node:assert/strict'
import { map, NEVER } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { marketNews } from 'scripstream/streams'
import { createTrial } from 'scripstream/testing'

const answer = {
  data: {
    latest_news: [{ publish_date: 1, category: 'stocks', news_object: { title: 'Results', text: 'Up' } }],
  },
}

/**
 * Throws if the stream does not request again after a 503, or if unsubscribing does not abort the request.
 */
export const testMarketNews = (): void => {
  new TestScheduler(deepEqual).run(({ cold, expectObservable }) => {
    // The first request fails after 1 ms, the second one is answered after 1 ms; the pause between them is
    // 0.375 s.
    const inTurn = [cold('-(a|)', { a: 503 }), cold('-(a|)', { a: answer })]
    const { item$ } = createTrial(marketNews, { stocks: [ALPHA], answers: () => inTurn.shift() ?? NEVER })
    const line$ = item$.pipe(
      map(({ item, status, rows }) => `${item.key} ${status} ${[...rows].map(({ Title }) => Title)}`),
    )
    expectObservable(line$).toBe('377ms (a|)', { a: 'ALPHA success Results' })
  })
  new TestScheduler(deepEqual).run(({ cold, expectObservable, expectSubscriptions }) => {
    const answer$ = cold('-----(a|)', { a: answer })
    const { item$ } = createTrial(marketNews, { stocks: [ALPHA], answers: () => answer$ })
    expectObservable(item$, '^--!').toBe('-')
    expectSubscriptions(answer$.subscriptions).toBe('^--!')
  })
}

const ALPHA = { Symbol: 'ALPHA', ISIN: 'INE000000001', Name: 'Alpha Limited', Sid: '1', FnoFlag: 0 }
