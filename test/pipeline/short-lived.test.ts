import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { lastValueFrom } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
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
 * Bytes of buffers in use once young memory was collected twice: what nothing holds is gone, unless something old holds it that is
 * garbage itself, and whatever waits now is old.
 */
const inUse = (): number => {
  for (let time = 0; time < 2; time += 1) collect({ type: 'minor' })
  return process.memoryUsage().arrayBuffers
}

/** Collects a stream, one item at a time; how many bytes of buffers grew, and passed. All looks are taken between two items. */
const grownBy = async (only: string, data: unknown) => {
  const list = JSON.stringify({ data: master })
  const answer = JSON.stringify({ code: 0, data })
  let most = 0
  let waiting: (() => void) | undefined
  let [begun, stored] = [0, 0]
  const goOn = (): void => {
    if (waiting === undefined || stored < begun) return
    most = Math.max(most, inUse())
    begun += 1
    waiting()
    waiting = undefined
  }
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      if (request.url?.includes('fetchdt')) return response.end(list)
      waiting = () => response.end(answer)
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
  return { buffers: most - before, passed: STOCKS * answer.length }
}

it('an answer leaves next to nothing to the great collections, though what waited for it was old by then', async () => {
  const news = { latest_news: rows.map((row) => ({ publish_date: 1, category: 'stocks', news_object: row })) }
  // The first time, code is compiled and packages are loaded.
  await grownBy('market-news', news)
  const { buffers, passed } = await grownBy('market-news', news)
  expect(buffers).toBeLessThan(passed / 2)
}, 60_000)
