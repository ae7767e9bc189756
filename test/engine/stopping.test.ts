import { map, NEVER, of, switchMap, timer } from 'rxjs'
import { describe, expect } from 'vitest'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import type { Storage } from '../../src/engine/storage.js'
import { itWithMarbles } from '../support/marbles.js'
import { recordEvents } from '../support/record-events.js'
import { row, tiny, tinyCollector } from '../support/tiny.js'

const answeredAfter = (ms: number) => timer(ms).pipe(map(() => row))

describe('a run that must stop', () => {
  itWithMarbles('begins no further item, stores what is in flight, and ends as interrupted', (m) => {
    const files: MemoryFiles = new Map()
    const stocks = ['A', 'B', 'C', 'D', 'E']
    const collector = tinyCollector(m, {
      stocks,
      streams: [tiny('news')],
      answers: () => answeredAfter(10),
      storage: memory(files),
    })
    const lines = recordEvents(m, collector.events({ stop: timer(15) }))
    m.flush()

    expect(collector.requested).toStrictEqual([
      '0 master-data all',
      '0 news A',
      '0 news B',
      '10 news C',
      '10 news D',
    ])
    expect(collector.dropped).toStrictEqual([])
    expect([...files.keys()].sort()).toStrictEqual([
      '.scripstream/report.json',
      'master-data/all.json',
      'news/A.json',
      'news/B.json',
      'news/C.json',
      'news/D.json',
    ])
    expect(lines.slice(-3)).toStrictEqual(['20 stored news', '20 run-finished interrupted', '20 COMPLETE'])
  })

  itWithMarbles('waits at most 5 s for requests in flight, and then aborts them', (m) => {
    const collector = tinyCollector(m, {
      stocks: ['A', 'B'],
      streams: [tiny('news')],
      answers: (call) => (call === 'news A' ? NEVER : of(row)),
    })
    const lines = recordEvents(m, collector.events({ stop: timer(100) }))
    m.flush()

    expect(collector.dropped).toStrictEqual(['5100 news A'])
    expect(lines.slice(-2)).toStrictEqual(['5100 run-finished interrupted', '5100 COMPLETE'])
  })

  itWithMarbles('does not write a one-file output from a part of the stocks', (m) => {
    const files: MemoryFiles = new Map()
    const outputs = [{ shape: 'rows-in-one-file', file: 'all.json' }] as const
    const collector = tinyCollector(m, {
      streams: [tiny('news', { outputs })],
      answers: () => answeredAfter(10),
      storage: memory(files),
    })
    recordEvents(m, collector.events({ stop: timer(15) }))
    m.flush()

    expect(collector.answered).toContain('20 news C')
    expect([...files.keys()]).not.toContain('all.json')
  })

  itWithMarbles('ends at once if no request is in flight', (m) => {
    const collector = tinyCollector(m, { streams: [tiny('news')] })
    const lines = recordEvents(m, collector.events({ stop: of(0) }))
    m.flush()

    expect(collector.requested).toStrictEqual([])
    expect(lines.slice(-1)).toStrictEqual(['0 COMPLETE'])
  })

  itWithMarbles('after it has ended is complete', (m) => {
    const collector = tinyCollector(m, { streams: [tiny('news')] })

    m.expect(collector.run({ stop: timer(5) }).pipe(map(({ outcome }) => outcome))).toBeObservable('(r|)', {
      r: 'complete',
    })
  })

  itWithMarbles('while its storage is still opening ends as soon as it has begun', (m) => {
    const storage: Storage = {
      ...memory(),
      openSession: (request) => timer(20).pipe(switchMap(() => memory().openSession(request))),
    }
    const collector = tinyCollector(m, { streams: [tiny('news')], storage })
    const outcome$ = collector.run({ stop: timer(10) }).pipe(map(({ outcome }) => outcome))

    m.expect(outcome$).toBeObservable('20ms (r|)', { r: 'interrupted' })
  })
})
