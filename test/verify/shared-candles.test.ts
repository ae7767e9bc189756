import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseCandles } from '../../src/verify/candle-series.js'
import { createFingerprints, type Fingerprinted, findSharedCandles } from '../../src/verify/shared-candles.js'
import { temporaryFolder } from '../support/folders.js'

const START = Date.parse('2024-01-01T00:00:00+05:30') / 1_000

/** The close and the volume of each day, by its index. */
type Candle = (place: number) => readonly [close: number, volume: number]

const filesOf = (root: string, all: Readonly<Record<string, Candle>>): readonly Fingerprinted[] =>
  Object.entries(all).map(([symbol, candle]): Fingerprinted => {
    const lines = Array.from({ length: 200 }, (_, place) => {
      const [close, volume] = candle(place)
      return `${START + place * 86_400},${close},${close},${close},${close},${volume}\n`
    })
    const text = `Timestamp,Open,High,Low,Close,Volume\n${lines.join('')}`
    const file = `${symbol}.csv`
    writeFileSync(join(root, file), text)
    return { symbol, file, fingerprints: createFingerprints(parseCandles(Buffer.from(text)).candles) }
  })

const found = async (all: Readonly<Record<string, Candle>>): Promise<readonly string[]> => {
  const root = temporaryFolder()
  return (await findSharedCandles(root, filesOf(root, all))).map(
    ({ finding: { symbol, detail } }) => `${symbol}: ${detail.split(' are ')[0]}`,
  )
}

const one: Candle = (place) => [100 + (place % 7), 1_000 + place]
const other: Candle = (place) => [300 + (place % 5), 90_000 + place]

describe('candles that two files share', () => {
  it('are found in the file with the greater break, in any order', async () => {
    const cut: Candle = (place) => (place < 120 ? one(place) : other(place))
    const expected = 'A: 80 candles from 2024-04-30 to 2024-07-18'
    expect(await found({ A: cut, B: other })).toEqual([expected])
    expect(await found({ B: other, A: cut })).toEqual([expected])
  })

  it('are found in every file that has them', async () => {
    const pieces: Candle = (place) => (place < 100 ? one(place) : other(place))
    expect(await found({ A: one, B: other, C: pieces })).toEqual([
      'C: 100 candles from 2024-01-01 to 2024-04-09',
      'C: 100 candles from 2024-04-10 to 2024-07-18',
    ])
  })

  it('are found even without trade on some days', async () => {
    const resting =
      (candle: Candle): Candle =>
      (place) => [candle(place)[0], place % 4 === 0 ? 0 : candle(place)[1]]
    const cut: Candle = (place) => resting(place < 120 ? one : other)(place)
    expect(await found({ A: cut, B: resting(other) })).toEqual([
      'A: 80 candles from 2024-04-30 to 2024-07-18',
    ])
  })

  it('are found in the file whose volume breaks where the price does not', async () => {
    const cut: Candle = (place) => (place < 120 ? [other(place)[0], one(place)[1]] : other(place))
    expect(await found({ A: cut, B: other })).toEqual(['A: 80 candles from 2024-04-30 to 2024-07-18'])
  })

  it.each<readonly [string, Candle, Candle]>([
    ['nobody trades', () => [10, 0], () => [10, 0]],
    ['the volume alone is the same', one, (place) => [50, one(place)[1]]],
    ['the close alone is the same', one, (place) => [one(place)[0], 7 + place]],
    ['nine days on end alone are the same', one, (place) => (place % 20 < 9 ? one(place) : other(place))],
  ])('are none if %s, even if fingerprints were the same by chance', async (_, first, second) => {
    const root = temporaryFolder()
    const files = filesOf(root, { A: first, B: second })
    expect(await findSharedCandles(root, files)).toEqual([])
    expect(
      await findSharedCandles(
        root,
        files.map((file) => ({ ...file, prints: Float64Array.of(1) })),
      ),
    ).toEqual([])
  })
})

describe('the fingerprints of a series', () => {
  const printsIn = (candle: Candle): readonly number[] =>
    filesOf(temporaryFolder(), { A: candle }).flatMap(({ fingerprints: prints }) => [...prints])

  it('are one per stretch of days, and none for stretches with little trade', () => {
    expect(printsIn(one)).toHaveLength(12)
    expect(printsIn((place) => [10, place % 3 === 0 ? 5 : 0])).toEqual([])
  })

  it('differ as soon as a close or a volume does', () => {
    const changed = (close: number, volume: number) =>
      printsIn((place) => (place === 100 ? [one(place)[0] + close, one(place)[1] + volume] : one(place)))
    const same = printsIn(one)
    for (const others of [changed(0.05, 0), changed(0, 1)])
      expect(others.filter((print) => !same.includes(print))).toHaveLength(1)
  })
})
