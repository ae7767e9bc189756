import { concatMap, map, of, timer } from 'rxjs'
import { describe, expect } from 'vitest'
import { memory } from '../../sinks/memory.js'
import type { Session, Storage } from '../../src/engine/storage.js'
import { type Context, itWithMarbles } from '../support/marbles.js'
import { recordEvents } from '../support/record-events.js'
import { ok, tiny, tinyCollector } from '../support/tiny.js'

/** A storage whose sessions keep a history in this way. */
const storageWith = (keepHistory: NonNullable<Session['keepHistory']>): Storage => {
  const storage = memory()
  return {
    ...storage,
    openSession: (request) =>
      storage.openSession(request).pipe(
        map((locked) => ({
          ...locked,
          begin: (choice) => locked.begin(choice).pipe(map((session) => ({ ...session, keepHistory }))),
        })),
      ),
  }
}

const listSteps = (m: Context, storage: Storage): readonly string[] => {
  const lines = recordEvents(
    m,
    tinyCollector(m, { streams: [tiny('news')], answers: () => of(ok()), storage }).events(),
  )
  m.flush()
  return lines.filter((line) => /step|stream-finished news|run-finished/.test(line))
}

describe('what a run does after its streams', () => {
  itWithMarbles('is an event while the day is recorded, and another one after it', (m) => {
    const storage = storageWith(() => timer(7).pipe(concatMap(() => of(undefined))))
    expect(listSteps(m, storage)).toStrictEqual([
      '0 stream-finished news success',
      '0 step recording the day',
      '7 step writing the report',
      '7 run-finished complete',
    ])
  })

  itWithMarbles('has no event without a history', (m) => {
    expect(listSteps(m, memory())).toStrictEqual([
      '0 stream-finished news success',
      '0 run-finished complete',
    ])
  })
})
