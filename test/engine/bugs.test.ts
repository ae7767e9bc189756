import {
  delay,
  EMPTY,
  EmptyError,
  ignoreElements,
  mergeMap,
  NEVER,
  type Observable,
  of,
  SequenceError,
  throwError,
  timer,
} from 'rxjs'
import { describe, expect } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { once, perStock } from '../../src/engine/define-stream.js'
import type { Sink, SinkItem, Storage } from '../../src/engine/storage.js'
import { InternalError, StorageError, UsageError } from '../../src/model/errors.js'
import { createResult, type ItemResult } from '../../src/model/outcome.js'
import { itWithMarbles } from '../support/marbles.js'
import { recordEvents } from '../support/record-events.js'
import { tiny, tinyCollector, tinyOnce } from '../support/tiny.js'

const bug = new TypeError('a bug')
const throws = (error: Error) => (): never => {
  throw error
}
const twice = 'Too many matching values'

/** A memory with another sink. */
const sinking = (open: Sink): Storage => ({ ...memory(), open: () => open })

describe('an unexpected error', () => {
  const odd: readonly {
    readonly what: string
    readonly work: () => Observable<ItemResult>
    readonly error: Error
  }[] = [
    { what: 'throws', work: throws(bug), error: bug },
    { what: 'emits an error that is none of ours', work: () => throwError(() => bug), error: bug },
    { what: 'ends without a result', work: () => EMPTY, error: new EmptyError() },
    {
      what: 'has two results',
      work: () => of(createResult([1]), createResult([2])),
      error: new SequenceError(twice),
    },
    { what: 'lacks a setting', work: throws(new UsageError('not set')), error: new UsageError('not set') },
  ]
  for (const { what, work, error } of odd)
    itWithMarbles(`ends the run and aborts what is in flight: work that ${what}`, (m) => {
      const slow = m.cold('-')
      const late = perStock(() => timer(2).pipe(mergeMap(work)))
      const collector = tinyCollector(m, {
        stocks: ['A'],
        streams: [tiny('odd', { work: late }), tiny('slow')],
        answers: () => slow,
      })

      const named =
        error instanceof UsageError
          ? error
          : new Error(`the work of odd failed at A: ${error.message}`, { cause: error })
      m.expect(collector.run()).toBeObservable('--#', undefined, named)
      m.expect(slow).toHaveSubscriptions('      ^-!')
    })

  itWithMarbles(
    'ends the run without another event: no item outcome, no finished stream, no stored report',
    (m) => {
      const storedDocuments: string[] = []
      const storage: Storage = { ...memory(), storeDocument: (name) => of(void storedDocuments.push(name)) }
      const collector = tinyCollector(m, {
        stocks: ['A'],
        streams: [tiny('odd', { work: perStock(throws(bug)) })],
        storage,
      })
      const lines = recordEvents(m, collector.events())
      m.flush()

      expect(lines.slice(-3)).toStrictEqual([
        '0 stream-started odd',
        '0 items-known odd 1',
        '0 ERROR Error: the work of odd failed at A: a bug',
      ])
      expect(storedDocuments).toStrictEqual([])
    },
  )

  itWithMarbles('in phase 1 prevents all requests of phase 2', (m) => {
    const collector = tinyCollector(m, {
      streams: [tiny('first', { phase: 'core', work: once(throws(bug)) }), tinyOnce('later')],
    })

    m.expect(collector.run()).toBeObservable(
      '#',
      undefined,
      new Error('the work of first failed at all: a bug', { cause: bug }),
    )
    m.flush()
    expect(collector.requested).toStrictEqual(['0 master-data all'])
  })

  itWithMarbles('in the items that a stream offers ends the run', (m) => {
    const collector = tinyCollector(m, { streams: [tinyOnce('list', { offers: throws(bug) })] })

    m.expect(collector.run()).toBeObservable(
      '#',
      undefined,
      new Error('offers of list failed: a bug', { cause: bug }),
    )
  })

  const { work } = tiny('odd')
  for (const [what, at, facts] of [
    ['where', 'A', { work: { ...work, where: throws(bug) } }],
    [
      'select',
      'A',
      { outputs: [{ shape: 'array-per-item', file: 'odd/{SYMBOL}.json', select: throws(bug) }] },
    ],
    [
      'document',
      'A',
      { outputs: [{ shape: 'document-per-item', file: 'odd/{SYMBOL}.json', document: throws(bug) }] },
    ],
    [
      'sortBy',
      'A',
      { outputs: [{ shape: 'rows-in-one-file', file: 'odd.json', sortBy: { key: throws(bug) } }] },
    ],
  ] as const)
    itWithMarbles(`in ${what} of a definition ends the run and names stream and item`, (m) => {
      const collector = tinyCollector(m, { streams: [tiny('odd', facts)] })
      m.expect(collector.run()).toBeObservable(
        '#',
        undefined,
        new Error(`${what} of odd failed at ${at}: a bug`, { cause: bug }),
      )
    })
})

describe('a branch', () => {
  const full = new StorageError('the disk is full')
  for (const { what, sink, error } of [
    {
      what: 'whose sink loses an item',
      sink: ignoreElements(),
      error: new InternalError('the sinks of master-data stored 0 of 1 items'),
    },
    {
      what: 'whose sink hands an item on twice',
      sink: mergeMap((storedDocuments: SinkItem) => [storedDocuments, storedDocuments]),
      error: new InternalError('the sinks of master-data stored 2 of 1 items'),
    },
    { what: 'whose output cannot be written', sink: () => throwError(() => full), error: full },
  ])
    itWithMarbles(`${what} is an error of the run`, (m) => {
      const collector = tinyCollector(m, {
        streams: [tiny('news'), tiny('slow')],
        answers: () => NEVER,
        storage: sinking(sink),
      })

      m.expect(collector.run()).toBeObservable('#', undefined, error)
    })

  itWithMarbles('ends only when everything is stored', (m) => {
    const outputs = [
      { shape: 'text', file: 'one.csv' },
      { shape: 'text', file: 'two.csv' },
    ] as const
    const collector = tinyCollector(m, {
      streams: [tinyOnce('pair', { outputs })],
      storage: sinking(delay(3)),
    })
    const lines = recordEvents(m, collector.events())
    m.flush()

    expect(
      lines.filter((line) => !line.includes('item-finished') && line.includes('finished')),
    ).toStrictEqual([
      '3 stream-finished master-data success',
      '9 stream-finished pair success',
      '9 run-finished complete',
    ])
  })

  itWithMarbles('that cannot store the report of the run ends it with that error', (m) => {
    const storage: Storage = { ...memory(), storeDocument: () => throwError(() => full) }

    m.expect(tinyCollector(m, { streams: [], storage }).run()).toBeObservable('#', undefined, full)
  })
})
