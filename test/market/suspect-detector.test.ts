import fc from 'fast-check'
import {
  concat,
  defer,
  EMPTY,
  identity,
  ignoreElements,
  map,
  mergeMap,
  type Observable,
  of,
  range,
  timer,
} from 'rxjs'
import { describe, expect, it } from 'vitest'
import { createSuspectDetector, thresholds } from '../../src/market/refusal-policy.js'
import { itWithMarbles, marbles } from '../support/marbles.js'

const { window, maxSuspects: many, minSuspects: few } = thresholds.rescale

/**
 * Compares series one after the other, `workers` at a time, each for a frame; what became of those that
 * disagree.
 */
const watching = (count: number, disagrees: (place: number) => boolean, workers = 15) => {
  const watch = createSuspectDetector()
  const refused: number[] = []
  const accepted: number[] = []
  let mostHeld = 0
  let held = 0
  const one = (place: number): Observable<unknown> =>
    defer(() => {
      if (!disagrees(place)) return defer(() => of(watch.countUsual()))
      watch.countSuspect()
      held += 1
      mostHeld = Math.max(mostHeld, held)
      return watch.whenDecided(identity).pipe(
        mergeMap((areMany) => {
          held -= 1
          ;(areMany ? refused : accepted).push(place)
          return EMPTY
        }),
      )
    })
  // What waits has given its worker away.
  const all$ = range(count).pipe(
    mergeMap((place) =>
      watch.track(concat(timer(1 + Math.floor(place / workers)).pipe(ignoreElements()), one(place))),
    ),
  )
  return { all$, refused, accepted, mostHeld: () => mostHeld }
}

describe('series that have become multiples of the stored ones', () => {
  const ended = (
    title: string,
    given: () => ReturnType<typeof watching>,
    see: (seen: ReturnType<typeof watching>) => void,
  ) =>
    it(
      title,
      marbles((m) => {
        const seen = given()
        let isOver = false
        seen.all$.subscribe({ complete: () => (isOver = true) })
        m.flush()
        expect(isOver).toBe(true)
        see(seen)
      }),
    )

  ended(
    'are all refused where all have',
    () => watching(500, () => true),
    ({ refused, accepted, mostHeld }) => {
      expect([refused.length, accepted]).toEqual([500, []])
      expect(mostHeld()).toBeLessThanOrEqual(many)
    },
  )
  ended(
    'are all refused where a quarter have, of thousands and of few',
    () => watching(2_775, (place) => place % 4 === 0),
    ({ refused, accepted }) => expect([refused.length, accepted]).toEqual([694, []]),
  )
  ended(
    'are all refused where they come late',
    () => watching(2_775, (place) => place >= 2_000),
    ({ accepted }) => expect(accepted).toEqual([]),
  )
  ended(
    'are all accepted where they are few among many',
    () => watching(2_775, (place) => place % 25 === 0),
    ({ refused, accepted }) => expect([refused, accepted.length]).toEqual([[], 111]),
  )
  ended(
    'are judged by their share where the run is short',
    () => watching(few, () => true),
    ({ refused }) => expect(refused).toHaveLength(few),
  )
  ended(
    'are accepted where the run is short and they are few',
    () => watching(few - 1, () => true),
    ({ accepted }) => expect(accepted).toHaveLength(few - 1),
  )
  itWithMarbles('wait for at most one window of other series, although these continue', (m) => {
    const { all$, accepted } = watching(window * 3, (place) => place === 0)
    const seen: unknown[] = []
    all$.subscribe()
    for (const frame of [4, 6]) timer(frame).subscribe(() => seen.push([...accepted]))
    m.flush()
    expect(seen).toEqual([[], [0]])
  })

  itWithMarbles('are never waited for without end, whichever they are, and wait in bounded numbers', (m) => {
    const property = fc.property(
      fc.array(fc.boolean(), { maxLength: 300 }),
      fc.integer({ min: 1, max: 50 }),
      (kinds, workers) => {
        const seen = watching(kinds.length, (place) => kinds[place] === true, workers)
        let isOver = false
        seen.all$.subscribe({ complete: () => (isOver = true) })
        m.flush()
        expect(isOver).toBe(true)
        expect(seen.refused.length + seen.accepted.length).toBe(kinds.filter(Boolean).length)
        expect(seen.mostHeld()).toBeLessThanOrEqual(many)
      },
    )
    fc.assert(property, { seed: 5, numRuns: 60 })
  })

  itWithMarbles(
    'are judged apart where whole histories are compared, and both kinds end, whichever wait',
    (m) => {
      const outcomesOf = (
        count: number,
        isHistory: (place: number) => boolean,
        disagrees: (place: number) => boolean,
      ) => {
        const watch = createSuspectDetector()
        const outcomes: (readonly [isHistory: boolean, isRefused: boolean])[] = []
        range(count)
          .pipe(
            mergeMap((place) => {
              const counts = isHistory(place) ? watch.histories : watch
              const compared$ = defer(() => {
                if (!disagrees(place)) counts.countUsual()
                else counts.countSuspect()
                return disagrees(place) ? counts.whenDecided(identity) : of(false)
              })
              const work$ = timer(1 + Math.floor(place / 15)).pipe(mergeMap(() => compared$))
              return watch.track(work$).pipe(map((isRefused) => [isHistory(place), isRefused] as const))
            }),
          )
          .subscribe((outcome) => outcomes.push(outcome))
        m.flush()
        return outcomes
      }
      const isTwentieth = (place: number): boolean => place % 20 === 0
      const wrong = outcomesOf(2_775, isTwentieth, isTwentieth)
      expect(wrong.every(([isHistory, isRefused]) => isHistory === isRefused)).toBe(true)
      expect(
        outcomesOf(2_775, isTwentieth, (place) => place === 500).some(([, isRefused]) => isRefused),
      ).toBe(false)
      const kinds = fc.tuple(fc.boolean(), fc.boolean())
      const property = fc.property(fc.array(kinds, { maxLength: 200 }), (all) => {
        const ended = outcomesOf(
          all.length,
          (place) => all[place]?.[0] === true,
          (place) => all[place]?.[1] === true,
        )
        expect(ended).toHaveLength(all.length)
      })
      fc.assert(property, { seed: 5, numRuns: 60 })
    },
  )

  itWithMarbles('no longer count after unsubscribe', (m) => {
    const watch = createSuspectDetector()
    const waiting = watch.track(defer(() => watch.whenDecided(identity))).subscribe()
    const others = watch.track(timer(10)).subscribe()
    waiting.unsubscribe()
    others.unsubscribe()
    const ends: unknown[] = []
    watch.track(defer(() => watch.whenDecided(identity))).subscribe((areMany) => ends.push(areMany))
    m.flush()
    expect(ends).toEqual([false])
  })
})
