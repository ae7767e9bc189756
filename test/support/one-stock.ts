import { map, type Observable, of } from 'rxjs'
import type { RunReport } from '../../src/model/report.js'
import type { SettingsInput } from '../../src/model/settings.js'
import type { HttpReply } from '../../src/provider/transport.js'
import type { Context } from './marbles.js'
import { row, type TinyCollector, tiny, tinyCollector } from './tiny.js'

/** What became of the items of `news`, in a few words: `partial, 1 http_503, 3 asked, 2 again`. */
export const ended = map(({ outcome, scripts: { news } }: RunReport) => {
  const items = Object.entries(news?.items ?? {}).filter(([, count]) => count > 0)
  return [outcome, ...items.map(([name, count]) => `${count} ${name}`), `${news?.requests} asked`, `${news?.retries} again`].join(', ')
})

/** One stock and one stream, `news`, which is always answered the same. */
export const oneStock = (m: Context, answer: Observable<HttpReply>, settings: Partial<SettingsInput> = {}): TinyCollector =>
  tinyCollector(m, { stocks: ['A'], streams: [tiny('news')], answers: () => answer, settings })

/** Answers in turn; with the last one for good. */
export const inTurn = (...replies: readonly HttpReply[]): (() => Observable<HttpReply>) => {
  let asked = 0
  return () => of(replies[Math.min(asked++, replies.length - 1)] ?? row)
}
