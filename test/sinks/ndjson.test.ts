import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { from, lastValueFrom, map, Subject, throwError, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { ndjson } from '../../sinks/ndjson.js'
import type { Settled } from '../../src/model/outcome.js'
import type { Kept } from '../../src/pipeline/journal.js'
import { settled } from './support.js'

const kept = (one: Settled): Kept => ({ settled: one, files: {} })

const written = async (items: readonly Settled[]): Promise<{ readonly lines: string; readonly passed: unknown }> => {
  const out = new PassThrough()
  const lines = text(out)
  const passed = await lastValueFrom(from(items).pipe(map(kept), ndjson(out), toArray()))
  expect(out.writableEnded).toBe(false)
  out.end()
  return { lines: await lines, passed }
}

describe('the ndjson sink', () => {
  it.each([
    { count: 0, rows: 0 },
    { count: 1, rows: 1 },
    { count: 50, rows: 3 },
  ])('writes each of $rows records of $count items as a line, hands on each item and does not end the stream', async ({ count, rows }) => {
    const items = Array.from({ length: count }, (_, rank) =>
      settled(
        rank,
        Array.from({ length: rows }, (__, place) => ({ place, text: '₹\n' })),
      ),
    )
    const { lines, passed } = await written(items)
    const expected = items
      .flatMap(({ item, rows: all }) => Array.from(all, (row) => `${JSON.stringify({ item: item.key, row })}\n`))
      .join('')
    expect(lines).toBe(expected)
    expect(passed).toEqual(items.map(kept))
  })

  it('writes nothing for items that are lost or empty', async () => {
    const items = [settled(0, []), settled(1, [], 'error'), settled(2, [], 'skipped')]
    const { lines, passed } = await written(items)
    expect(lines).toBe('')
    expect(passed).toEqual(items.map(kept))
  })

  it('writes a record as soon as its item is settled', async () => {
    const out = new PassThrough()
    const item$ = new Subject<Kept>()
    const subscription = ndjson(out)(item$).subscribe()
    item$.next(kept(settled(0, [{ a: 1 }])))
    const [line] = await new Promise<readonly unknown[]>((resolve) => out.once('data', (...all: readonly unknown[]) => resolve(all)))
    expect(String(line)).toBe('{"item":"S0","row":{"a":1}}\n')
    subscription.unsubscribe()
  })

  it('hands on an error', async () => {
    await expect(lastValueFrom(ndjson(new PassThrough())(throwError(() => new Error('broken'))))).rejects.toThrow('broken')
  })
})
