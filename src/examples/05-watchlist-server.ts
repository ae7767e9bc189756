/** A route of a server: the news of a watchlist as server-sent events, with `node:http` or Express. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { distinct, exhaustMap, mergeMap, timer } from 'rxjs'
import type { Collector } from 'scripstream'
import type { NewsItem } from 'scripstream/streams'

/**
 * A route that sends the news of a watchlist as server-sent events, `GET /news?symbols=INFY,TCS`: each item
 * once, new ones every minute. It works with `createServer` of `node:http` as well as `app.get('/news', …)`
 * of Express.
 */
export const newsRoute =
  (collector: Pick<Collector<{ readonly 'market-news': NewsItem }>, 'stream'>, everyMs = 60_000) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    const symbols = new URL(request.url ?? '/', 'http://host').searchParams.get('symbols')?.split(',') ?? []
    const send = (event: string, data: unknown): void =>
      void response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)

    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.flushHeaders() // the reader is connected before there is any news
    const watching = timer(0, everyMs)
      .pipe(
        exhaustMap(() => collector.stream('market-news', { symbols })),
        // If the news of a stock could not be fetched, it has no rows and its `status` is the reason.
        mergeMap(({ item, rows }) => rows.map((news) => ({ symbol: item.key, ...news }))),
        distinct(({ symbol, PublishDate, Title }) => `${symbol} ${PublishDate} ${Title}`),
      )
      .subscribe({
        next: (news) => send('news', news),
        error: ({ message }: Error) => {
          send('problem', { message })
          response.end()
        },
      })
    response.on('close', () => watching.unsubscribe()) // nobody reads any more: what is in flight is aborted, nothing else is asked
  }
