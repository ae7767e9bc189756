import { PassThrough, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import {
  from,
  identity,
  lastValueFrom,
  map,
  NEVER,
  type Observable,
  of,
  Subject,
  tap,
  throwError,
  toArray,
} from 'rxjs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { type LineWriter, ndjson } from '../../sinks/ndjson.js'
import { createCollector } from '../../src/collector.js'
import type { SinkItem, Storage } from '../../src/engine/storage.js'
import { StorageError } from '../../src/model/errors.js'
import type { ItemOutcome } from '../../src/model/outcome.js'
import { createScriptedProvider, scriptedUrls } from '../../src/testing.js'
import { marketNews } from '../../streams/market-news.js'
import { masterData } from '../../streams/master-data.js'
import { isinOf, outcomeOf } from './support.js'

const toSinkItem = (outcome: ItemOutcome): SinkItem => ({ outcome, files: {} })

const written = async (
  items: readonly ItemOutcome[],
): Promise<{ readonly lines: string; readonly passed: unknown }> => {
  const out = new PassThrough()
  const lines = text(out)
  const passed = await lastValueFrom(from(items).pipe(map(toSinkItem), ndjson(out), toArray()))
  expect(out.writableEnded).toBe(false)
  out.end()
  return { lines: await lines, passed }
}

describe('the ndjson sink', () => {
  it.each([
    { count: 0, rows: 0 },
    { count: 1, rows: 1 },
    { count: 50, rows: 3 },
  ])(
    'writes each of $rows records of $count items as a line, emits each item and does not end the stream',
    async ({ count, rows }) => {
      const items = Array.from({ length: count }, (_, rank) =>
        outcomeOf(
          rank,
          Array.from({ length: rows }, (__, place) => ({ place, text: '₹\n' })),
        ),
      )
      const { lines, passed } = await written(items)
      const expected = items
        .flatMap(({ item, rows: all }) =>
          Array.from(all, (row) => `${JSON.stringify({ item: item.key, row })}\n`),
        )
        .join('')
      expect(lines).toBe(expected)
      expect(passed).toEqual(items.map(toSinkItem))
    },
  )

  it('writes nothing for failed or empty items', async () => {
    const items = [outcomeOf(0, []), outcomeOf(1, [], 'error'), outcomeOf(2, [], 'skipped')]
    const { lines, passed } = await written(items)
    expect(lines).toBe('')
    expect(passed).toEqual(items.map(toSinkItem))
  })

  it('writes a record as soon as its item is finished', async () => {
    const out = new PassThrough()
    const item$ = new Subject<SinkItem>()
    const subscription = ndjson(out)(item$).subscribe()
    item$.next(toSinkItem(outcomeOf(0, [{ a: 1 }])))
    const [line] = await new Promise<readonly unknown[]>((resolve) =>
      out.once('data', (...all: readonly unknown[]) => resolve(all)),
    )
    expect(String(line)).toBe('{"item":"S0","row":{"a":1}}\n')
    subscription.unsubscribe()
  })

  it('forwards an error', async () => {
    await expect(
      lastValueFrom(ndjson(new PassThrough())(throwError(() => new Error('broken')))),
    ).rejects.toThrow('broken')
  })
})

/** Waits the turns of the event loop that streams need to forward a chunk. */
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

const items = (count: number): SinkItem[] =>
  Array.from({ length: count }, (_, rank) => toSinkItem(outcomeOf(rank, [{ a: 'x'.repeat(100) }])))

describe('a slow writer', () => {
  it('gets lines up to its buffer size, and the rest after it drains', async () => {
    const finishWrites: (() => void)[] = []
    const lines: string[] = []
    const slow = new Writable({
      decodeStrings: false,
      highWaterMark: 500,
      write: (line: string, _, done) => {
        lines.push(line)
        finishWrites.push(done)
      },
    })
    let passed = 0
    const end = lastValueFrom(
      from(items(50)).pipe(
        ndjson(slow),
        tap(() => passed++),
      ),
    )
    await turns()
    expect(passed).toBeLessThan(5)
    expect(slow.writableLength).toBeLessThan(1_000)
    for (let line = 0; line < 50; line++) {
      finishWrites.shift()?.()
      await turns()
    }
    await end
    expect(passed).toBe(50)
    expect(lines.map((line) => JSON.parse(line).item)).toEqual(
      items(50).map(({ outcome: { item } }) => item.key),
    )
  })

  it('delays the next line until its promise resolves', async () => {
    const finishWrites: (() => void)[] = []
    let passed = 0
    const end = lastValueFrom(
      from(items(3)).pipe(
        ndjson({ write: () => new Promise<void>((resolve) => finishWrites.push(resolve)) }),
        tap(() => passed++),
      ),
    )
    for (let line = 0; line < 3; line++) {
      await turns()
      expect([passed, finishWrites.length]).toEqual([line, line + 1])
      finishWrites[line]?.()
    }
    await end
  })

  it('stops the requests of a run while it is full', async () => {
    const stocks = Array.from({ length: 200 }, (_, rank) => ({
      Sym: `S${rank}`,
      Isin: isinOf(rank),
      DispSym: `S${rank} Limited`,
      Sid: rank + 1,
    }))
    const { transport, requests: asked } = createScriptedProvider(({ host }) =>
      of({
        data:
          host === 'analytics'
            ? stocks
            : {
                latest_news: [
                  {
                    publish_date: 1_770_000_000_000,
                    category: 'stocks',
                    news_object: { title: 'News', text: 'It is', overall_sentiment: 'neutral' },
                  },
                ],
              },
      }),
    )
    const stuck = new Writable({ highWaterMark: 1, write: () => undefined })
    const storage: Storage = {
      ...memory(),
      open: ({ file }) => (file.startsWith('market_news/') ? ndjson(stuck) : identity),
    }
    const run$ = createCollector({
      settings: { urls: scriptedUrls },
      streams: [masterData, marketNews],
      storage,
      transport,
    }).run()
    const end = lastValueFrom(run$).catch((error: unknown) => error)
    await turns()
    const news = asked.filter(({ host }) => host === 'news').length
    expect(news).toBeGreaterThan(0)
    expect(news).toBeLessThan(50)
    stuck.destroy()
    expect(await end).toBeInstanceOf(StorageError)
  })

  it('gets one listener for any number of sinks', async () => {
    const warned = vi.fn()
    process.on('warning', warned)
    onTestFinished(() => void process.off('warning', warned))
    const stuck = new Writable({ highWaterMark: 1, write: () => undefined })
    const running = Array.from({ length: 20 }, () => from(items(2)).pipe(ndjson(stuck)).subscribe())
    await turns()
    expect(['error', 'close', 'drain'].map((name) => stuck.listenerCount(name))).toEqual([1, 1, 1])
    for (const one of running) one.unsubscribe()
    expect(['error', 'close', 'drain'].map((name) => stuck.listenerCount(name))).toEqual([0, 0, 0])
    expect(warned).not.toHaveBeenCalled()
  })
})

describe('a failing writer', () => {
  const ended = (writer: LineWriter, item$: Observable<SinkItem> = from(items(3))): Promise<unknown> =>
    lastValueFrom(item$.pipe(ndjson(writer))).catch((error: unknown) => error)
  const closed = new PassThrough()
  closed.destroy()
  const finished = new PassThrough()
  finished.end()

  it.each<readonly [string, LineWriter, string]>([
    ['throws', { write: () => throwing('no room') }, 'no room'],
    ['rejects', { write: () => Promise.reject(new Error('no room')) }, 'no room'],
    [
      'emits an error',
      new Writable({ write: (_, __, done) => done(new Error('broken pipe')) }),
      'broken pipe',
    ],
    ['was closed before', closed, 'the stream is closed'],
    ['was ended before', finished, 'the stream is closed'],
  ])('ends the run with a StorageError if it %s', async (_, writer, why) => {
    const error = await ended(writer)
    expect(error).toBeInstanceOf(StorageError)
    expect(String(error)).toContain(`the lines cannot be written: ${why}`)
  })

  it.each<readonly [string, Observable<SinkItem>]>([
    ['a line waits for room', from(items(3))],
    ['nothing is written', NEVER],
  ])('ends the run with a StorageError if it is closed while %s', async (_, item$) => {
    const stuck = new Writable({ highWaterMark: 1, write: () => undefined })
    const end = ended(stuck, item$)
    await turns()
    stuck.destroy()
    expect(String(await end)).toContain('the lines cannot be written: the stream is closed')
  })
})

const throwing = (text: string): never => {
  throw new Error(text)
}
