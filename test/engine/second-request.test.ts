import { concatMap, Observable, of, type Subscriber } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { workOnItems } from '../../src/engine/in-process.js'
import { type AskDependencies, createAsk } from '../../src/http/ask.js'
import type { HttpReply } from '../../src/http/transport.js'
import { createResult } from '../../src/model/outcome.js'
import { limitersOf, page, settingsOf } from '../http/support.js'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Runs one item that asks twice; the first request is answered, the others after `lateMs`. */
const runItem = (timeoutMs: number, lateMs: number, retries: number) => {
  const given = { retries, backoffMs: 10, urls: { web: 'http://provider.test' } }
  const log: string[] = []
  let sent = 0
  const answer = (subscriber: Subscriber<HttpReply>, text: string): void => {
    subscriber.next({ status: 200, body: Buffer.from(text) })
    subscriber.complete()
  }
  const transport = (): Observable<HttpReply> =>
    new Observable((subscriber) => {
      sent += 1
      const own = sent
      log.push(`begin ${own}`)
      const timer = setTimeout(() => answer(subscriber, `reply ${own}`), own === 1 ? 5 : lateMs)
      return () => {
        clearTimeout(timer)
        log.push(`end ${own}`)
      }
    })
  const dependencies: AskDependencies = {
    transport,
    settings: settingsOf(given),
    timeoutMs,
    random: () => 0,
    clock: Date.now,
    limiters: limitersOf(given),
    onRequestEvent: () => undefined,
  }
  const ask = createAsk(dependencies)
  const input = { key: 'k', day: 'd', tab: 't' }
  const subscription = of({ key: 'A', rank: 0, fileName: 'A', value: {} })
    .pipe(
      workOnItems(
        ({ key }, pause) => {
          const one = ask(key, pause)
          return one(page, input).pipe(
            concatMap(() => one(page, input)),
            concatMap((text) => {
              log.push(`answer ${String(text)}`)
              return of(createResult([]))
            }),
          )
        },
        { workers: 2 },
      ),
    )
    .subscribe(({ status }) => log.push(status))
  return { log, subscription }
}

describe('the second request of an item', () => {
  it('is ended when the run is unsubscribed', async () => {
    const { log, subscription } = runItem(60_000, 50_000, 0)
    await vi.advanceTimersByTimeAsync(100)
    expect(log).toEqual(['begin 1', 'begin 2', 'end 1'])
    subscription.unsubscribe()
    expect(log).toEqual(['begin 1', 'begin 2', 'end 1', 'end 2'])
  })

  it('is ended at its deadline, before it is sent again, and its late reply is not taken for that of another one', async () => {
    const { log } = runItem(900, 2_500, 1)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(log).toEqual(['begin 1', 'begin 2', 'end 1', 'end 2', 'begin 3', 'end 3', 'error'])
  })
})
