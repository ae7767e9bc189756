import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { lastValueFrom } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { createCollector } from '../../src/collector.js'
import { hosts } from '../../src/model/settings.js'
import type { Telemetry } from '../../src/pipeline/telemetry.js'

const STOCKS = 60

const master = Array.from({ length: STOCKS }, (_, rank) => ({
  Sym: `S${rank}`,
  Isin: `INE${String(rank).padStart(9, '0')}`,
  DispSym: `Stock ${rank}`,
  Sid: `${rank}`,
}))
const rows = Array.from({ length: 100 }, (_, place) => ({
  news_id: `id-${place}`,
  caption: `Filing ${place}`,
  news_body: `${place} `.padEnd(1_000, 'Intimation under the listing obligations. '),
  news_date: `2026-01-01 10:22:${10 + (place % 50)}`,
}))

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void

/**
 * Bytes in use once young memory was collected twice: what nothing holds is gone, unless something old holds it that is garbage itself,
 * and whatever waits now is old.
 */
const inUse = (): { readonly heap: number; readonly buffers: number } => {
  for (let time = 0; time < 2; time += 1) collect({ type: 'minor' })
  return { heap: getHeapStatistics().used_heap_size, buffers: process.memoryUsage().arrayBuffers }
}

/** Collects a stream, one item at a time; how much memory grew, and the bytes that passed. All looks are taken between two items. */
const grownBy = async (only: string, data: unknown, requestsPerItem: number) => {
  const list = JSON.stringify({ data: master })
  const answer = JSON.stringify({ code: 0, data })
  const most = { heap: 0, buffers: 0 }
  let waiting: (() => void)[] = []
  let [begun, stored] = [0, 0]
  const goOn = (): void => {
    if (waiting.length < requestsPerItem || stored < begun) return
    const now = inUse()
    most.heap = Math.max(most.heap, now.heap)
    most.buffers = Math.max(most.buffers, now.buffers)
    begun += 1
    for (const respond of waiting) respond()
    waiting = []
  }
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      if (request.url?.includes('fetchdt')) return response.end(list)
      waiting.push(() => response.end(answer))
      return goOn()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const telemetry: Telemetry = () => ({
    event: (event) => {
      if (event.type !== 'stored' || event.stream !== only) return
      stored += 1
      // An item is done with once the journal has it, which is written at the end of a turn.
      setImmediate(() => setImmediate(goOn))
    },
    request: () => undefined,
  })
  const out = mkdtempSync(join(tmpdir(), 'scripstream-short-lived-'))
  onTestFinished(() => rmSync(out, { recursive: true, force: true }))
  const settings = { urls: Object.fromEntries(hosts.map((host) => [host, url])), workers: { [only]: 1 } }
  const collector = createCollector({ settings, telemetry, storage: folder(out) })
  collect()
  const before = inUse()
  const { scripts } = await lastValueFrom(collector.run({ only: [only] }))
  expect(scripts[only]?.items.success).toBe(STOCKS)
  return {
    heap: most.heap - before.heap,
    buffers: most.buffers - before.buffers,
    passed: STOCKS * requestsPerItem * answer.length,
  }
}

describe('what was asked for leaves next to nothing to the great collections, though what waited for it was old by then', () => {
  const news = { latest_news: rows.map((row) => ({ publish_date: 1, category: 'stocks', news_object: row })) }
  const days = Array.from({ length: 5_000 }, (_, day) => 1_000_000_000 + day * 86_400)
  const candles = { Time: days, ...Object.fromEntries(['o', 'h', 'l', 'c', 'v'].map((column) => [column, days.map((day) => day % 1_000)])) }
  it.each([
    { only: 'company-filings', data: rows, requests: 2 },
    { only: 'market-news', data: news, requests: 1 },
    { only: 'all-ohlcv', data: candles, requests: 1 },
  ])(
    '$only',
    async ({ only, data, requests }) => {
      // The first time, code is compiled and packages are loaded.
      await grownBy(only, data, requests)
      const { heap, buffers, passed } = await grownBy(only, data, requests)
      expect(heap).toBeLessThan(passed / 2)
      expect(buffers).toBeLessThan(passed / 2)
    },
    60_000,
  )
})
