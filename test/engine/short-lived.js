// Collects a few streams into a folder, one item at a time, and prints how much memory what was asked for
// left to the great collections.
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import { lastValueFrom } from 'rxjs'
import { folder } from '../../dist/sinks/folder.js'
import { createCollector } from '../../dist/src/index.js'
import { builtInHosts } from '../../dist/src/model/settings.js'

const STOCKS = 120

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
const newsOf = ({ caption, news_body }) => ({
  publish_date: 1_770_000_000_000,
  category: 'stocks',
  news_object: { title: caption, text: news_body, overall_sentiment: 'neutral' },
})
const news = { latest_news: rows.map(newsOf) }
const days = Array.from({ length: 5_000 }, (_, day) => 1_000_000_000 + day * 86_400)
const candles = {
  Time: days,
  ...Object.fromEntries(['o', 'h', 'l', 'c', 'v'].map((column) => [column, days.map((day) => day % 1_000)])),
}

/**
 * Bytes in use once young memory was collected twice: what nothing holds is gone, unless something old holds
 * it that is garbage itself, and whatever waits now is old.
 */
const inUse = () => {
  for (let time = 0; time < 2; time += 1) globalThis.gc({ type: 'minor' })
  return { heap: getHeapStatistics().used_heap_size, buffers: process.memoryUsage().arrayBuffers }
}

/**
 * Collects a stream; how much memory grew, and the bytes that passed. All looks are taken between two items.
 */
const grownBy = async ({ only, data, requests }) => {
  const list = JSON.stringify({ data: master })
  const answer = JSON.stringify({ code: 0, data })
  const most = { heap: 0, buffers: 0 }
  let waiting = []
  let [begun, stored, answered] = [0, 0, 0]
  const goOn = () => {
    if (waiting.length < requests || stored < begun) return
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
      if (request.url.includes('fetchdt')) return response.end(list)
      // Not the same bytes for two items, which a run refuses.
      answered += 1
      const lines = '\n'.repeat(answered)
      waiting.push(() => {
        response.write(answer)
        response.end(lines)
      })
      return goOn()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${server.address().port}`
  const telemetry = () => ({
    event: (event) => {
      if (event.type !== 'stored' || event.stream !== only) return
      stored += 1
      // An item is done with once the journal has it, which is written at the end of a turn.
      setImmediate(() => setImmediate(goOn))
    },
    request: () => undefined,
  })
  const out = mkdtempSync(join(process.argv[2], 'out-'))
  const settings = {
    urls: Object.fromEntries(builtInHosts.map((host) => [host, url])),
    workers: { [only]: 1 },
  }
  globalThis.gc()
  const before = inUse()
  try {
    const { scripts } = await lastValueFrom(
      createCollector({ settings, telemetry, storage: folder(out) }).run({ only: [only] }),
    )
    const { success } = scripts[only].items
    return {
      items: success,
      heap: most.heap - before.heap,
      buffers: most.buffers - before.buffers,
      passed: success * requests * answer.length,
    }
  } finally {
    server.close()
  }
}

const grown = {}
for (const stream of [
  { only: 'company-filings', data: rows, requests: 2 },
  { only: 'market-news', data: news, requests: 1 },
  { only: 'all-ohlcv', data: candles, requests: 1 },
]) {
  // The first time, code is compiled and packages are loaded.
  await grownBy(stream)
  grown[stream.only] = await grownBy(stream)
}
console.log(JSON.stringify(grown))
