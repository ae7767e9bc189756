import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import fc from 'fast-check'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { RunOptions } from '../../src/collector.js'
import { acquireLock } from '../../src/storage/lock.js'
import { type Trying, tryRun } from '../resume/support.js'
import { temporaryFolder } from '../support/folders.js'
import { copyOf, EVENING, outputFolder, runInto, verified } from './support.js'

const DAY = 86_400_000
const NEWS = 'market_news/ALPHA_news.json'
const clean = temporaryFolder()

beforeAll(() => runInto(clean))

/** What a deep check finds in files, by file. */
const filesWrong = async (path: string, deep = true): Promise<readonly string[]> =>
  (await verified(outputFolder(path), { only: ['files'], deep })).findings.map(
    ({ severity, file, detail }) => `${severity} ${file}: ${detail.split(';')[0]}`,
  )

/** Changes the content of a file; its time is as before unless another one is given. */
const change = (path: string, edit: (content: Buffer) => Buffer | string, time?: number): void => {
  const { mtimeMs } = statSync(path)
  writeFileSync(path, edit(readFileSync(path)))
  utimesSync(path, (time ?? mtimeMs) / 1_000, (time ?? mtimeMs) / 1_000)
}

const flipBit =
  (place: number) =>
  (content: Buffer): Buffer => {
    const flipped = Buffer.from(content)
    flipped.writeUInt8(flipped.readUInt8(place >> 3) ^ (1 << (place & 7)), place >> 3)
    return flipped
  }

/** Answers with a candle of each day up to an instant. */
const candlesUntil =
  (now: number) =>
  (request: string): unknown => {
    if (!request.startsWith('getDataH')) return undefined
    const first = Date.parse('2026-02-02T00:00:00+05:30')
    const days = Array.from(
      { length: Math.ceil((now - first) / DAY) },
      (_, place) => (first + place * DAY) / 1_000,
    )
    const [prices, volumes] = [days.map(() => 100), days.map(() => 5)]
    return { data: { Time: days, o: prices, h: prices, l: prices, c: prices, v: volumes } }
  }

const outputsIn = (path: string): readonly string[] =>
  readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((file) => !file.startsWith('.') && statSync(join(path, file)).isFile())
    .sort()

describe('a deep check', () => {
  it('names exactly the file in which any one bit has changed', async () => {
    const out = copyOf(clean).path
    const files = outputsIn(out)
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...files),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        async (file, where) => {
          const path = join(out, file)
          const { size, mtimeMs } = statSync(path)
          if (size === 0) return
          const flip = flipBit(Math.floor(where * size * 8))
          change(path, flip)
          // A damaged master list may not be readable at all.
          const found = await filesWrong(out).catch((error: unknown) => [String(error)])
          change(path, flip, mtimeMs)
          expect(found).toHaveLength(1)
          expect(found[0]).toContain(file)
        },
      ),
      { numRuns: 12 },
    )
    expect(await filesWrong(out)).toEqual([])
  })

  it('distinguishes damaged, changed, missing and unknown files, which other checks overlook', async () => {
    const out = temporaryFolder()
    await tryRun({ out })
    const place = (name: string): string => join(out, 'ohlcv_data', `${name}.csv`)
    change(place('ALPHA'), flipBit(403))
    change(place('BETA'), (content) => content.toString().replace(/,1\n/, ',7\n'), EVENING + DAY)
    const digests = join(out, '.scripstream/output-digests')
    change(digests, (content) => content.toString().replace(/.* ohlcv_data\/GAMMA.csv\n/, ''))
    expect(await filesWrong(out, false)).toEqual([])
    rmSync(join(out, NEWS))
    expect(await filesWrong(out)).toEqual([
      'error market_news/ALPHA_news.json: it is missing',
      'error ohlcv_data/ALPHA.csv: it is damaged: its content changed, but not its size and time',
      'error ohlcv_data/BETA.csv: it was changed after a run wrote it',
      'info ohlcv_data/GAMMA.csv: it has no digest',
    ])
  })

  it('knows the files of a first run that was broken off, and does not judge those that an active run may have replaced', async () => {
    const out = temporaryFolder()
    await tryRun({ out, hangs: (request) => request === 'getLiveNews DELTA' })
    const path = join(out, NEWS)
    rmSync(path)
    expect(await filesWrong(out)).toEqual([`error ${NEWS}: it is missing`])
    writeFileSync(path, '{}')
    expect(await filesWrong(out)).toEqual([`error ${NEWS}: it has 2 bytes`])
    const release = await acquireLock(join(out, '.scripstream/lock'), Date.now())
    onTestFinished(release)
    expect(await filesWrong(out)).toEqual([])
  })

  it('does not name a file as missing of which a kill has left the temporary one', async () => {
    const out = copyOf(clean).path
    const news = outputsIn(out).find((file) => file.startsWith('market_news/')) ?? ''
    const left = `market_news/.${basename(news)}.01234567-0123-0123-0123-0123456789ab.tmp`
    renameSync(join(out, news), join(out, left))
    expect(await filesWrong(out)).toEqual([`warning ${left}: a leftover of an interrupted write`])
  })

  it('still names a damaged candle file after a run has added to it, until it is fetched again', async () => {
    const out = temporaryFolder()
    const file = 'ohlcv_data/ALPHA.csv'
    const run = (now: number): Promise<unknown> => tryRun({ out, now, answers: candlesUntil(now) })
    await run(EVENING)
    change(join(out, file), flipBit(403))
    for (const day of [1, 4]) {
      await run(EVENING + day * DAY)
      expect(await filesWrong(out)).toEqual([`error ${file}: it was damaged before a run added to it`])
    }
    rmSync(join(out, file))
    await run(EVENING + 5 * DAY)
    expect(await filesWrong(out)).toEqual([])
  })

  it('accepts a copy of the folder with other times', async () => {
    const out = temporaryFolder()
    cpSync(clean, out, { recursive: true })
    expect(await filesWrong(out)).toEqual([])
  })

  it('accepts files without a digest once a run has written them again', async () => {
    const out = copyOf(clean).path
    rmSync(join(out, '.scripstream/output-digests'))
    expect(await filesWrong(out)).toHaveLength(outputsIn(out).length)
    await runInto(out, { asOf: EVENING + DAY })
    expect(await filesWrong(out)).toEqual([])
  })
})

describe('a deep check finds nothing', () => {
  const isNews = (request: string): boolean => request === 'getLiveNews BETA'
  const later = (request: string): boolean => /GAMMA|DELTA/.test(request)
  const runs: readonly (readonly [string, readonly Omit<Trying, 'out'>[]])[] = [
    ['a complete run', [{}]],
    ['a run that lost an item', [{ fails: isNews }]],
    ['a run of the next day', [{}, { now: EVENING + DAY }]],
    ['a run that is repeated', [{}, { fresh: true }]],
    ['a run that is reused', [{}, {}]],
    ['a smaller run', [{}, { now: EVENING + DAY, only: ['all-ohlcv'], symbols: ['BETA'] }]],
    ['a smaller run alone', [{ only: ['market-news'] }]],
    ['a run that was broken off', [{ hangs: later }]],
    ['a run that was broken off and resumed', [{ hangs: later }, {}]],
    ['a smaller run after one that was broken off', [{ hangs: later }, { only: ['market-news'] }]],
    [
      'a run that another one of the next day replaced',
      [{}, { now: EVENING + 60_000, fresh: true, hangs: later }, { now: EVENING + DAY, fails: isNews }],
    ],
    ['a run whose rest was fetched later', [{ isAway: isNews }, {}]],
  ]
  it.each(runs)('after %s', async (_, options) => {
    const out = temporaryFolder()
    for (const option of options) await tryRun({ out, ...option })
    expect(outputsIn(out).length).toBeGreaterThan(1)
    expect(await filesWrong(out)).toEqual([])
  })

  it.each(['complete', 'partial'])('and a %s run leaves one line for each output', async (outcome) => {
    const out = temporaryFolder()
    await tryRun({ out })
    const { report } = await tryRun({
      out,
      now: EVENING + DAY,
      isAway: (request) => outcome === 'partial' && isNews(request),
    })
    expect(report?.outcome).toBe(outcome)
    const lines = readFileSync(join(out, '.scripstream/output-digests'), 'utf8').trim().split('\n')
    expect(lines.map((line) => line.split(' ').slice(3).join(' ')).toSorted()).toEqual(outputsIn(out))
  })

  it.runIf(existsSync('/proc/self/fd'))('and no run leaves the list open', async () => {
    const opened = (out: string): readonly string[] =>
      readdirSync('/proc/self/fd').filter((fd) => {
        const path = join('/proc/self/fd', fd)
        return existsSync(path) && readlinkSync(path).startsWith(join(out, '.scripstream/output-digests'))
      })
    for (const hangs of [undefined, later]) {
      const out = temporaryFolder()
      await tryRun({ out, ...(hangs ? { hangs } : {}) })
      expect(opened(out)).toEqual([])
    }
  })

  it.each<readonly [string, RunOptions]>([
    ['a run of some streams', { only: ['circuit-stocks'] }],
    ['a run of everything', {}],
  ])('after %s on the next day', async (_, options) => {
    const out = copyOf(clean).path
    await runInto(out, { asOf: EVENING + DAY, ...options })
    expect(await filesWrong(out)).toEqual([])
  })
})
