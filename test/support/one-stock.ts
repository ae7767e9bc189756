import { map, type Observable, of } from 'rxjs'
import type { HttpReply } from '../../src/http/transport.js'
import type { RunReport } from '../../src/model/report.js'
import type { TestSettings } from './limits.js'
import type { Context } from './marbles.js'
import { row, type TinyCollector, tiny, tinyCollector } from './tiny.js'

/** A short text for the items of `news`: `partial, 1 http_503, 3 requests, 2 retries`. */
export const summarizeRun = map(({ outcome, scripts: { news } }: RunReport) => {
  const items = Object.entries(news?.items ?? {}).filter(([, count]) => count > 0)
  return [
    outcome,
    ...items.map(([name, count]) => `${count} ${name}`),
    `${news?.requests} requests`,
    `${news?.retries} retries`,
  ].join(', ')
})

/** One stock and one stream, `news`, with always the same answer. */
export const oneStock = (
  m: Context,
  answer: Observable<HttpReply>,
  settings: TestSettings = {},
): TinyCollector =>
  tinyCollector(m, { stocks: ['A'], streams: [tiny('news')], answers: () => answer, settings })

/** Answers one after another; the last one repeats. */
export const answerInTurn = (...replies: readonly HttpReply[]): (() => Observable<HttpReply>) => {
  let requests = 0
  return () => of(replies[Math.min(requests++, replies.length - 1)] ?? row)
}
