import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { Output } from '../../src/engine/define-stream.js'
import { createCsvCandles } from '../../src/market/candle-file.js'
import { temporaryFolder } from '../support/folders.js'
import { contextOf, inFolder, inMemory, NOW, outcomeOf, type Place, sink } from './support.js'

const FILE = 'ohlcv_data/S0.csv'
const HEADER = 'Timestamp,Open,High,Low,Close,Volume\n'
const output: Output = { shape: 'candles-per-item', file: 'ohlcv_data/{SYMBOL}.csv' }

const candle = (time: number, close = 1): readonly number[] => [time, 1, 2, 0.5, close, 100]
const line = (time: number, close = 1): string => `${time},1,2,0.5,${close},100\n`
const fileOf = (...lines: readonly string[]): string => HEADER + lines.join('')

/** The same candles as CSV lines. */
const inLines = (rows: readonly (readonly number[])[]) =>
  createCsvCandles(Buffer.from(rows.map((cells) => `${cells.join(',')}\n`).join('')), rows.length)

const places = [
  {
    name: 'memory',
    holding: async (text: string): Promise<Place> => inMemory(new Map([[FILE, { text, asOf: NOW }]])),
  },
  {
    name: 'a folder',
    holding: async (text: string): Promise<Place> => {
      const path = temporaryFolder()
      await mkdir(dirname(join(path, FILE)))
      writeFileSync(join(path, FILE), text)
      return inFolder(path)
    },
  },
]

describe.each(places)('the sink of candles-per-item in $name', ({ holding }) => {
  const replaced = async (
    stored: string,
    ...rows: readonly (readonly number[])[]
  ): Promise<string | undefined> => {
    const [text, ...others] = await Promise.all(
      [rows, inLines(rows)].map(async (candles) => {
        const place = await holding(stored)
        await sink(place, output, [outcomeOf(0, candles)])
        return place.files()[FILE]
      }),
    )
    expect(others).toEqual([text])
    return text
  }

  it('appends new candles to the stored ones', async () => {
    expect(await replaced(fileOf(line(1), line(2)), candle(3), candle(4))).toBe(
      fileOf(line(1), line(2), line(3), line(4)),
    )
  })

  it('replaces stored candles from the first new timestamp on', async () => {
    expect(await replaced(fileOf(line(1), line(2), line(3)), candle(2, 9))).toBe(fileOf(line(1), line(2, 9)))
    expect(await replaced(fileOf(line(1), line(2), line(3)), candle(3, 9), candle(4))).toBe(
      fileOf(line(1), line(2), line(3, 9), line(4)),
    )
    expect(await replaced(fileOf(line(5), line(6)), candle(1), candle(7))).toBe(fileOf(line(1), line(7)))
  })

  it.each([
    '3',
    '3,1,2',
    '3,1,2,0.5,1,10',
    '3,1,2,0.5,1,100',
    '1\n',
    '0,1,2\n',
    '0,1,2,,x,1\n',
    '\n',
    '\0\0',
  ])('drops the torn last line %j', async (torn) => {
    expect(await replaced(fileOf(line(1), line(2)) + torn, candle(4))).toBe(fileOf(line(1), line(2), line(4)))
  })

  it('replaces the stored candles by a whole history', async () => {
    const history = [candle(2, 9), candle(3, 9)]
    for (const candles of [history, inLines(history)]) {
      const place = await holding(fileOf(line(1), line(2), line(3)))
      await sink(place, output, [{ ...outcomeOf(0, candles), whole: true }])
      expect(place.files()[FILE]).toBe(fileOf(line(2, 9), line(3, 9)))
    }
  })

  it.each(['', HEADER, 'Date,Close\n1,2\n', 'Timestamp,Open'])(
    'replaces a file that contains %j',
    async (stored) => {
      expect(await replaced(stored, candle(4))).toBe(fileOf(line(4)))
    },
  )

  it('writes CSV lines unchanged', async () => {
    const place = await holding('')
    const lines = Buffer.from('1,1.50,x\n')
    const wrote = await sink(place, output, [{ ...outcomeOf(0, createCsvCandles(lines, 1)), whole: true }])
    expect(place.files()[FILE]).toBe(`${HEADER}1,1.50,x\n`)
    expect(wrote).toEqual({ files: 1, bytes: HEADER.length + lines.length })
  })

  it('leaves the file of an item without new candles alone', async () => {
    const place = await holding(fileOf(line(1)))
    expect(await sink(place, output, [outcomeOf(0, [])])).toEqual({ files: 0, bytes: 0 })
    expect(place.files()[FILE]).toBe(fileOf(line(1)))
  })

  it('reads the last line and the modification time of a stored file', async () => {
    const place = await holding('')
    await sink(place, output, [outcomeOf(0, [candle(1), candle(2)])], contextOf(0, NOW - 12_345))
    const tail = await lastValueFrom(place.storage.stored.tail(FILE))
    expect(tail?.lines).toEqual([line(1).trim(), line(2).trim()])
    expect(tail?.asOf).toBeCloseTo(NOW - 12_345, 0)
  })

  it.each(['', '\n', HEADER, 'Timestamp', `${HEADER}1,2`])('finds no last line in %j', async (text) => {
    const place = await holding(text)
    expect(await lastValueFrom(place.storage.stored.tail(FILE))).toMatchObject({ lines: [] })
    expect(await lastValueFrom(place.storage.stored.text(FILE))).toBe(text)
  })

  it('reads neither tail nor text of a missing file', async () => {
    const place = await holding('')
    expect(await lastValueFrom(place.storage.stored.tail('no.csv'))).toBeUndefined()
    expect(await lastValueFrom(place.storage.stored.text('no.csv'))).toBeUndefined()
  })

  it('ignores a torn last line', async () => {
    const place = await holding(`${fileOf(line(1), line(2))}3,1,2,0.5,1,10`)
    expect(await lastValueFrom(place.storage.stored.tail(FILE))).toMatchObject({
      lines: [line(1).trim(), line(2).trim()],
    })
  })

  it('finds the last line of a long file', async () => {
    const place = await holding(fileOf(...Array.from({ length: 9_000 }, (_, time) => line(time))))
    expect(await lastValueFrom(place.storage.stored.tail(FILE))).toMatchObject({
      header: HEADER.trim(),
      lines: [line(8_998).trim(), line(8_999).trim()],
    })
  })
})
