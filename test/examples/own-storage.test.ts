import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { lastValueFrom, of, Subject } from 'rxjs'
import { createCollector } from 'scripstream'
import { StorageError } from 'scripstream/errors'
import { serveSimulator } from 'scripstream/simulator'
import { marketNews, masterData, streams } from 'scripstream/streams'
import { createScriptedProvider, scriptedUrls } from 'scripstream/testing'
import { expect, it, onTestFinished } from 'vitest'
import { type Post, postTo, webhook } from '../../src/examples/04-own-storage.js'

/** A webhook that answers with a status and records the posts. */
const hook = async (
  status = 200,
): Promise<{ url: string; posted: { file: string; item: string; rows: object[] }[]; most: () => number }> => {
  const posted: { file: string; item: string; rows: object[] }[] = []
  let [open, most] = [0, 0]
  const server = createServer((request, response) => {
    open += 1
    most = Math.max(most, open)
    void text(request).then((body) => {
      posted.push(JSON.parse(body))
      open -= 1
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, posted, most: () => most }
}

const provider = async () => {
  const simulator = await serveSimulator({
    endpoints: streams.flatMap(({ endpoints }) => endpoints),
    stocks: 20,
  })
  onTestFinished(() => simulator.close())
  return simulator
}

it('posts every item once, one after the other, and counts it in the report', async () => {
  const [{ settings }, { url, posted, most }] = [await provider(), await hook()]
  const collector = createCollector({
    settings,
    streams: [masterData, marketNews],
    storage: webhook(postTo(url)),
  })
  const { outcome, scripts } = await lastValueFrom(collector.run())
  expect(outcome).toBe('complete')
  const news = posted.filter(({ file }) => file.startsWith('market_news/'))
  expect(new Set(news.map(({ item }) => item)).size).toBe(news.length)
  expect(news.length).toBe(scripts['market-news']?.items.success)
  expect(scripts['market-news']?.files).toBe(news.length)
  expect(most()).toBeLessThanOrEqual(2) // one of each output: the master list has two
})

it('ends the run with the reason when the hook refuses', async () => {
  const [{ settings }, { url }] = [await provider(), await hook(503)]
  const run$ = createCollector({ settings, streams: [masterData], storage: webhook(postTo(url)) }).run()
  await expect(lastValueFrom(run$)).rejects.toThrow(StorageError)
  await expect(lastValueFrom(run$)).rejects.toThrow(/answered 503/)
})

it('slows the stream down while the hook is slow', () => {
  const stocks = Array.from({ length: 200 }, (_, place) => ({
    Sym: `S${place}`,
    Isin: `INE${String(place).padStart(9, '0')}`,
    DispSym: `S${place} Limited`,
    Sid: place + 1,
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
  const taken$ = new Subject<void>()
  const slow: Post = (body) => (body.includes('market_news/') ? taken$ : of(0))
  const collector = createCollector({
    settings: { urls: scriptedUrls },
    streams: [masterData, marketNews],
    storage: webhook(slow),
    transport,
  })
  const watching = collector.run().subscribe()
  const news = () => asked.filter(({ host }) => host === 'news').length
  const before = news()
  expect(before).toBeGreaterThan(0)
  expect(before).toBeLessThan(50)
  taken$.next()
  expect(news()).toBe(before + 1)
  watching.unsubscribe()
})
