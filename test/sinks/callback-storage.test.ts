import { EMPTY, type Observable, Subject } from 'rxjs'
import { expect } from 'vitest'
import { callbackStorage } from '../../sinks/memory.js'
import { itWithMarbles } from '../support/marbles.js'
import { tiny, tinyCollector } from '../support/tiny.js'

const SYMBOLS = Array.from({ length: 100 }, (_, place) => `S${place}`)
const WORKERS = 2
/** Items that may wait in addition to those being fetched. */
const BACKLOG = 16

const storeThrough = (pass: (symbol: string) => Observable<unknown>) => {
  const news = tiny('news', { workers: WORKERS })
  return {
    stocks: SYMBOLS,
    streams: [news],
    storage: callbackStorage(news.outputs[0], ({ item }) => pass(item.key)),
  }
}

itWithMarbles('sends no more requests while the consumer is busy, and continues when it is ready', (m) => {
  const taken$ = new Subject<void>()
  const passed: string[] = []
  const collector = tinyCollector(
    m,
    storeThrough((symbol) => {
      passed.push(symbol)
      return passed.length === 1 ? taken$ : EMPTY
    }),
  )
  let isOver = false
  collector.run({ only: ['news'] }).subscribe({ complete: () => (isOver = true) })

  expect(passed).toEqual(['S0'])
  expect(collector.requested.length).toBeLessThanOrEqual(1 + WORKERS + BACKLOG)
  taken$.complete()
  expect(passed).toEqual(SYMBOLS)
  expect([isOver, collector.requested.length]).toEqual([true, 1 + SYMBOLS.length])
})
