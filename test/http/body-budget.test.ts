import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createBodyBudget } from '../../src/http/exchange.js'

const LIMIT = 100
const LARGEST = 60
const CHUNK = 5

/** A body that arrives in chunks while its socket is read, and is released when complete. */
const answersOf = (sizes: readonly number[]) => {
  const budget = createBodyBudget(LIMIT)
  return sizes.map((size) => {
    const answer = { left: size, buffered: 0, isPaused: false, isDone: false, step: (): void => undefined }
    const share = {
      bytes: 0,
      pause: () => {
        answer.isPaused = true
      },
      resume: () => {
        answer.isPaused = false
      },
    }
    answer.step = () => {
      if (answer.isPaused || answer.isDone) return
      const bytes = Math.min(CHUNK, answer.left)
      answer.left -= bytes
      answer.buffered += bytes
      budget.take(share, bytes)
      if (answer.left > 0) return
      answer.isDone = true
      answer.buffered = 0
      budget.release(share)
    }
    return answer
  })
}

describe('the memory budget of bodies', () => {
  it('never exceeds the limit plus one body, and every body completes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: LARGEST }), { minLength: 1, maxLength: 30 }),
        fc.infiniteStream(fc.nat()),
        (sizes, turns) => {
          const answers = answersOf(sizes)
          for (let steps = 0; answers.some(({ isDone }) => !isDone); steps += 1) {
            if (steps > 20_000) throw new Error('an answer never ended')
            answers[Number(turns.next().value) % answers.length]?.step()
            // Each paused body includes the chunk that exceeded the limit.
            const buffered = answers.reduce((sum, answer) => sum + answer.buffered, 0)
            expect(buffered).toBeLessThanOrEqual(LIMIT + LARGEST + CHUNK * answers.length)
          }
        },
      ),
      { numRuns: 300, seed: 16 },
    )
  })

  it('pauses no socket below the limit', () => {
    const paused: number[] = []
    const budget = createBodyBudget(LIMIT)
    for (let place = 0; place < 10; place += 1)
      budget.take({ bytes: 0, pause: () => paused.push(place), resume: () => undefined }, 10)
    expect(paused).toEqual([])
  })

  it('resumes the others when the only body being received is cancelled', () => {
    const budget = createBodyBudget(LIMIT)
    let isResumed = false
    const alone = { bytes: 0, pause: () => undefined, resume: () => undefined }
    const other = { bytes: 0, pause: () => undefined, resume: () => (isResumed = true) }
    budget.take(alone, LIMIT + 1)
    budget.take(other, 1)
    budget.release(alone)
    expect(isResumed).toBe(true)
  })
})
