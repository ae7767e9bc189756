import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { createCollector } from 'scripstream'
import { type Fault, type Simulator, serveSimulator } from 'scripstream/simulator'
import { streams } from 'scripstream/streams'
import { expect, it, onTestFinished } from 'vitest'
import { newsRoute } from '../../src/examples/05-watchlist-server.js'
import { until } from '../support/until.js'

const host = async (
  faults: readonly Fault[] = [],
  everyMs = 60_000,
): Promise<{ provider: Simulator; url: string }> => {
  const provider = await serveSimulator({
    endpoints: streams.flatMap(({ endpoints }) => endpoints),
    stocks: 20,
    faults,
  })
  const server = createServer(newsRoute(createCollector({ settings: provider.settings }), everyMs))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.close()
    server.closeAllConnections()
    await provider.close()
  })
  return { provider, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const read = (url: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => get(url, resolve).on('error', reject))

/** The first events, as `name: data`; then the reader disconnects. */
const eventsOf = async (url: string, count: number): Promise<readonly string[]> => {
  const response = await read(url)
  expect(response.headers['content-type']).toBe('text/event-stream')
  const events: string[] = []
  let name = ''
  for await (const line of createInterface({ input: response })) {
    if (line.startsWith('event: ')) name = line.slice('event: '.length)
    if (line.startsWith('data: ')) events.push(`${name}: ${line.slice('data: '.length)}`)
    if (events.length === count) break
  }
  response.destroy()
  return events
}

it('sends the news of the requested stocks, and requests no others', async () => {
  const { provider, url } = await host()
  const events = await eventsOf(`${url}/news?symbols=M%26M,360ONE`, 3)
  for (const event of events)
    expect(event).toMatch(/^news: \{"symbol":"(M&M|360ONE)","Title":".+","PublishDate":\d+/)
  expect(new Set(events).size).toBe(3)
  expect(provider.stats().endpoints.news?.requests).toBeLessThanOrEqual(2)
})

it('reports what is wrong with a watchlist, and ends', async () => {
  const { url } = await host()
  const [event] = await eventsOf(`${url}/news?symbols=NOSUCH`, 1)
  expect(event).toMatch(/^problem: .*NOSUCH/)
})

it('stops its requests when its reader disconnects', async () => {
  const { provider, url } = await host([{ on: 'news', mode: 'hang' }])
  const news = () => provider.stats().endpoints.news
  const response = await read(`${url}/news?symbols=M%26M`)
  await until('a request that hangs', () => news()?.inFlight === 1)
  response.destroy()
  await until('its end', () => news()?.inFlight === 0)
  expect(news()).toMatchObject({ requests: 1, statuses: { closed: 1 } })
})
