import { describe, expect, it } from 'vitest'
import type { Output } from '../../src/pipeline/define-stream.js'
import { contextOf, inMemory, outcomeOf, sink } from './support.js'

const output: Output = { shape: 'document-per-item', file: '{SYMBOL}.json', document: (rows) => ({ rows }) }
const items = (empty: number, all: number) => Array.from({ length: all }, (_, rank) => outcomeOf(rank, rank < empty ? [] : [{ rank }]))

describe('items that have a file and answer nothing now', () => {
  const refused = async (earlier: number, empty: number, all: number, more = {}): Promise<readonly string[]> => {
    const place = inMemory(new Map(Array.from({ length: earlier }, (_, rank) => [`S${rank}.json`, { text: 'earlier', asOf: 0 }])))
    const refusals: string[] = []
    const context = { ...contextOf(all), refuse: (code: string, text: string) => void refusals.push(`${code}: ${text}`), ...more }
    await sink(place, output, items(empty, all), context)
    for (let rank = 0; rank < Math.min(earlier, empty); rank += 1) expect(place.files()[`S${rank}.json`]).toBe('earlier')
    return refusals
  }

  it('are refused when they are many at once; their files stay', async () => {
    expect(await refused(60, 20, 60)).toEqual(['shrink: 20 of 60 items with a file answered nothing: their files stay as they are'])
  })

  it.each([
    ['fewer than 20', 60, 19, 40],
    ['less than a third', 100, 20, 70],
    ['without a file', 10, 40, 60],
  ])('pass when they are %s', async (_, earlier, empty, all) => {
    expect(await refused(earlier, empty, all)).toEqual([])
  })

  it('pass when the rule is accepted', async () => {
    expect(await refused(60, 20, 60, { accepts: () => true })).toEqual([])
  })
})
