import { describe, expect, it } from 'vitest'
import { createWorkerStats } from '../../src/fleet/worker-stats.js'

describe('createWorkerStats', () => {
  it('counts items and rates by worker since its first appearance, sorted by name', () => {
    let now = 10_000
    const stats = createWorkerStats(() => now)
    stats.read(['b'])
    now += 2_000
    for (let place = 0; place < 5; place += 1) stats.countItem('a')
    for (let place = 0; place < 3; place += 1) stats.countItem('b')
    now += 2_000
    expect(stats.read(['a', 'b'])).toEqual({
      workers: [
        { name: 'a', items: 5, perSecond: 2.5, isThere: true },
        { name: 'b', items: 3, perSecond: 0.8, isThere: true },
      ],
      stalled: 0,
    })
  })

  it('has rate 0 for a new worker', () => {
    expect(createWorkerStats(() => 5).read(['a']).workers).toEqual([
      { name: 'a', items: 0, perSecond: 0, isThere: true },
    ])
  })

  it('lists a disconnected worker as such', () => {
    const stats = createWorkerStats(() => 0)
    stats.read(['a', 'b'])
    expect(stats.read(['b']).workers.map(({ name, isThere }) => [name, isThere])).toEqual([
      ['a', false],
      ['b', true],
    ])
  })

  it('counts stalled items', () => {
    const stats = createWorkerStats(() => 0)
    stats.countStalled()
    stats.countStalled()
    expect(stats.read([])).toEqual({ workers: [], stalled: 2 })
  })
})
