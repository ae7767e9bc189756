import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { EMPTY, lastValueFrom, take, toArray } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { createCollector } from '../../src/collector.js'
import type { Transport } from '../../src/http/transport.js'
import { serveSimulator } from '../../src/simulator/index.js'
import { streams } from '../../streams/registry.js'

describe('a collector in another app', () => {
  it('receives the candles of a stock as rows', async () => {
    const simulator = await serveSimulator({
      endpoints: streams.flatMap(({ endpoints }) => endpoints),
      stocks: 2,
    })
    onTestFinished(() => simulator.close())
    const items = await lastValueFrom(
      createCollector({ settings: simulator.settings }).stream('all-ohlcv').pipe(toArray()),
    )
    expect(items).toHaveLength(2)
    for (const { rows } of items) {
      expect(rows.length).toBeGreaterThan(100)
      expect(rows.at(-1)).toHaveLength(6)
      expect(rows.flat().every(Number.isFinite)).toBe(true)
    }
  })

  it('sends no request if the first event stops it', async () => {
    const requests: string[] = []
    const transport: Transport = ({ url }) => {
      requests.push(url)
      return EMPTY
    }
    const collector = createCollector({
      settings: { urls: { analytics: 'http://127.0.0.1:9' } },
      storage: memory(),
      transport,
    })
    const [first] = await lastValueFrom(collector.events({ only: ['all-indices'] }).pipe(take(1), toArray()))
    expect(first?.type).toBe('run-started')
    expect(requests).toEqual([])
  })

  it('leaves no connection open when its run has ended', async () => {
    const open = new Set<Socket>()
    const server = createServer({ keepAliveTimeout: 600_000 }, (_, response) =>
      response.end('{"data":[{"Sym":"NIFTY","Sid":13}]}'),
    )
    server.on('connection', (socket) => {
      open.add(socket)
      socket.on('close', () => open.delete(socket))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const collector = createCollector({ settings: { urls: { analytics: url } }, storage: memory() })
    expect((await lastValueFrom(collector.run({ only: ['all-indices'] }))).outcome).toBe('complete')
    expect(open.size).toBeLessThanOrEqual(1)
    await Promise.all([...open].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
    expect(open.size).toBe(0)
  })
})
