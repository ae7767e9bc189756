import { BehaviorSubject, map, NEVER, of, takeWhile, tap } from 'rxjs'
import { describe, expect } from 'vitest'
import { memory } from '../../sinks/memory.js'
import type { Storage } from '../../src/engine/storage.js'
import { itWithMarbles } from '../support/marbles.js'
import { masterList, row, status, tiny, tinyCollector, tinyOnce } from '../support/tiny.js'

describe('unsubscribing a run', () => {
  itWithMarbles('aborts every request in flight, of every stream, and sends none afterwards', (m) => {
    const news = m.cold(' ----(r|)', { r: row })
    const ohlcv = m.cold('-------(r|)', { r: row })
    const collector = tinyCollector(m, {
      stocks: ['A', 'B', 'C', 'D', 'E', 'F'],
      streams: [tiny('news'), tiny('ohlcv', { phase: 'candles', workers: 1 })],
      answers: (call) => (call.startsWith('news') ? news : ohlcv),
    })

    m.expect(collector.run(), '^-----!').toBeObservable('-')
    m.expect(news).toHaveSubscriptions(['    ^---!', '^---!', '----^-!', '----^-!'])
    m.expect(ohlcv).toHaveSubscriptions('    ^-----!')
    m.flush()
    expect(collector.dropped).toStrictEqual(['6 news C', '6 news D', '6 ohlcv A'])
    expect(collector.requested).toHaveLength(6)
  })

  itWithMarbles('during the master list sends no other request', (m) => {
    const collector = tinyCollector(m, {
      stocks: [],
      streams: [tiny('news'), tinyOnce('later')],
      answers: () => m.cold('----(r|)', { r: row }),
    })

    m.expect(collector.run(), '^-!').toBeObservable('-')
    m.flush()
    expect(collector.requested).toStrictEqual(['0 master-data all'])
    expect(collector.dropped).toStrictEqual(['2 master-data all'])
  })

  for (const { pause, reply } of [
    { pause: 'the pause after a 429', reply: status(429) },
    { pause: 'a back-off', reply: status(503) },
  ])
    itWithMarbles(`during ${pause} sends no further request`, (m) => {
      const collector = tinyCollector(m, {
        streams: [tiny('news', { workers: 1 })],
        answers: () => of(reply),
      })

      m.expect(collector.run(), '^ 100ms !').toBeObservable('-')
      m.flush()
      expect(collector.requested).toStrictEqual(['0 master-data all', '0 news A'])
    })

  for (const type of [
    'run-started',
    'stream-started',
    'items-known',
    'requested',
    'item-finished',
    'stream-finished',
    'master-read',
  ] as const)
    for (const nth of type === 'run-started' || type === 'master-read' ? [1] : [1, 2])
      itWithMarbles(
        `in answer to ${nth === 1 ? 'the first' : 'the second'} ${type} leaves nothing in flight and sends no request later`,
        (m) => {
          let seen = 0
          const collector = tinyCollector(m, {
            stocks: [],
            streams: [tiny('news', { workers: 1 }), tinyOnce('later')],
            answers: (call) =>
              call === 'master-data all'
                ? m.cold('-(r|)', { r: masterList('A', 'B') })
                : m.cold('--(r|)', { r: row }),
          })
          const stopped = new BehaviorSubject(Number.POSITIVE_INFINITY)
          const events = collector.events().pipe(
            takeWhile(({ type: now }) => now !== type || ++seen < nth),
            tap({ complete: () => stopped.next(m.scheduler.now()) }),
          )
          events.subscribe()
          m.flush()

          const frameOf = (line: string): number => Number.parseInt(line, 10)
          expect(collector.requested.filter((line) => frameOf(line) > stopped.value)).toStrictEqual([])
          expect(collector.requested.length - collector.dropped.length).toBe(collector.answered.length)
        },
      )

  itWithMarbles('stores no report', (m) => {
    const storedDocuments: string[] = []
    const storage: Storage = { ...memory(), storeDocument: (name) => of(void storedDocuments.push(name)) }
    const collector = tinyCollector(m, { streams: [tiny('news')], answers: () => NEVER, storage })

    m.expect(collector.run(), '^-!').toBeObservable('-')
    m.flush()
    expect(storedDocuments).toStrictEqual([])
  })

  itWithMarbles('does not affect another run of the same collector', (m) => {
    const collector = tinyCollector(m, {
      stocks: ['A'],
      streams: [tiny('news')],
      answers: () => m.cold('----(r|)', { r: row }),
    })
    const outcome = collector.run().pipe(map((report) => report.outcome))

    m.expect(outcome, '^-!').toBeObservable('-')
    m.expect(outcome).toBeObservable('----(a|)', { a: 'complete' })
    m.flush()
    expect(collector.dropped).toStrictEqual(['2 news A'])
  })
})
