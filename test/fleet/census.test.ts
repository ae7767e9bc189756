import { describe, expect, it } from 'vitest'
import { createCensus } from '../../src/fleet/census.js'

describe('createWorkerStats', () => {
  it('counts items and rates by worker since its first appearance, sorted by name', () => {
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

  it('has rate 0 for a new worker', () => {
    expect(createCensus(() => 5).state(['a']).workers).toEqual([{ name: 'a', items: 0, perSecond: 0, isThere: true }])
  })

  it('lists a disconnected worker as such', () => {
    const census = createCensus(() => 0)
    census.state(['a', 'b'])
    expect(census.state(['b']).workers.map(({ name, isThere }) => [name, isThere])).toEqual([
      ['a', false],
      ['b', true],
    ])
  })

  it('counts stalled items', () => {
    const census = createCensus(() => 0)
    census.stall()
    census.stall()
    expect(census.state([])).toEqual({ workers: [], stalled: 2 })
  })
})
