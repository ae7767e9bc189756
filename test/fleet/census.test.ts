import { describe, expect, it } from 'vitest'
import { createCensus } from '../../src/fleet/census.js'

describe('the census of a fleet', () => {
  it('counts items and their rate by worker, since it was first seen, in the order of names', () => {
    let now = 10_000
    const census = createCensus(() => now)
    census.state(['b'])
    now += 2_000
    for (let place = 0; place < 5; place += 1) census.count('a')
    for (let place = 0; place < 3; place += 1) census.count('b')
    now += 2_000
    expect(census.state(['a', 'b'])).toEqual({
      workers: [
        { name: 'a', items: 5, perSecond: 2.5, isThere: true },
        { name: 'b', items: 3, perSecond: 0.8, isThere: true },
      ],
      stalled: 0,
    })
  })

  it('has no rate of who has only just come', () => {
    expect(createCensus(() => 5).state(['a']).workers).toEqual([{ name: 'a', items: 0, perSecond: 0, isThere: true }])
  })

  it('keeps who is gone, and says so', () => {
    const census = createCensus(() => 0)
    census.state(['a', 'b'])
    expect(census.state(['b']).workers.map(({ name, isThere }) => [name, isThere])).toEqual([
      ['a', false],
      ['b', true],
    ])
  })

  it('counts what was taken from others', () => {
    const census = createCensus(() => 0)
    census.stall()
    census.stall()
    expect(census.state([])).toEqual({ workers: [], stalled: 2 })
  })
})
