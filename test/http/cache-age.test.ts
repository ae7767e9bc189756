import { describe, expect, it } from 'vitest'
import { createAgeCheck } from '../../src/http/answer.js'
import { note } from './support.js'

const HOUR = 3_600
const NOW = Date.parse('2026-02-12T20:00:00+05:30')

const check = (age: number, isStale = false, closedAt = NOW) => {
  const notes: string[] = []
  const rules = { clock: () => NOW, isOld: (at: number) => at < closedAt, onCached: notes.push.bind(notes) }
  const checkAge = createAgeCheck(note, rules as never)
  const cache = { age, isStale, shown: `age: ${age}` }
  const tell = (): void => {
    checkAge(cache)
    checkAge(cache)
  }
  return { tell, notes }
}

describe('the age of an answer of a cache', () => {
  it('is not mentioned up to an hour', () => {
    const { tell, notes } = check(HOUR)
    tell()
    expect(notes).toEqual([])
  })

  it('is noted once from an hour on, or with a warning', () => {
    for (const [age, isWarned, text] of [
      [2 * HOUR, false, '2 h old (age: 7200)'],
      [0, true, 'of unknown age (age: 0)'],
    ] as const) {
      const { tell, notes } = check(age, isWarned, 0)
      tell()
      expect(notes).toEqual([`note was answered from a cache, ${text}`])
    }
  })

  it('is refused if a session has ended since then, or after a day', () => {
    const stale = { code: 'stale', verdict: 'give-up', message: expect.stringContaining('26 h old') }
    expect(check(26 * HOUR, false, 0).tell).toThrow(expect.objectContaining(stale))
    expect(check(5 * HOUR, false, NOW - 4 * HOUR * 1_000).tell).toThrow(
      expect.objectContaining({ code: 'stale' }),
    )
    expect(check(5 * HOUR, true, NOW - 6 * HOUR * 1_000).tell).not.toThrow()
  })
})
