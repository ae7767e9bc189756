import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { lastValueFrom, map, switchMap } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { perStock, type StreamDefinition } from '../../src/engine/define-stream.js'
import { createResult } from '../../src/model/outcome.js'
import { createQuickCollector } from '../support/limits.js'
import { createCall, tiny, tinyMaster } from '../support/tiny.js'

const STOCKS = ['A', 'B', 'C', 'D', 'E', 'F']
const MASTER = { data: STOCKS.map((Sym) => ({ Sym, Isin: `IN${Sym}`, DispSym: Sym, Sid: Sym })) }

interface Answer {
  readonly status?: number
  readonly body: string
}

/** A run over real connections; `answer` returns the answer to the nth request of a call. */
const run = async (stream: StreamDefinition, answer: (call: string, nth: number) => Answer) => {
  const requests: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      const call = `${request.url?.slice(1)} ${(JSON.parse(body) as { readonly of: string }).of}`
      requests.push(call)
      const given = call.startsWith('master')
        ? { body: JSON.stringify(MASTER) }
        : answer(call, requests.filter((one) => one === call).length)
      response.writeHead(given.status ?? 200).end(given.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const settings = {
    urls: { static: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    backoffMs: 5,
    throttleMs: 50,
    downMs: 300_000,
  }
  const report = await lastValueFrom(
    createQuickCollector({ settings, streams: [tinyMaster, stream], storage: memory() }).run(),
  )
  return { outcome: report.outcome, script: report.scripts[stream.name], requests: requests.slice(1) }
}

const ROW = { body: '{"data":[{"a":1}]}' }
const PAGE = { body: '<html>Sorry</html>' }

it('the limiter of the host learns of a refusal before the worker requests the next stock', async () => {
  const { outcome, script, requests } = await run(tiny('news', { workers: 1 }), (call, nth) =>
    call === 'news A' && nth === 1 ? { status: 429, body: '' } : ROW,
  )
  expect(outcome).toBe('complete')
  expect(script?.rateLimited).toBe(1)
  expect(requests.slice(0, 3)).toEqual(['news A', 'news A', 'news B'])
})

it('retries a bad answer that many stocks share, because the waiting stocks free a worker', async () => {
  const work = perStock((stock, { ask, shared }) =>
    shared('token', () => ask(createCall('token'), { of: 'all' })).pipe(
      switchMap(() => ask(createCall('news'), { of: stock.Symbol })),
      map((rows) => createResult(rows)),
    ),
  )
  const stream = tiny('news', { workers: 2, endpoints: [createCall('news'), createCall('token')], work })
  const { outcome, requests } = await run(stream, (call, nth) =>
    call === 'token all' && nth === 1 ? PAGE : ROW,
  )
  expect(outcome).toBe('complete')
  expect(requests.filter((call) => call === 'token all')).toHaveLength(2)
  expect(new Set(requests)).toEqual(new Set(['token all', ...STOCKS.map((stock) => `news ${stock}`)]))
})
