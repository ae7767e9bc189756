import { createHash } from 'node:crypto'
import { lastValueFrom, of } from 'rxjs'
import { expect, it } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { createCollector } from '../../src/collector.js'
import type { Transport } from '../../src/http/transport.js'
import type { SampleMarket } from '../../src/model/market.js'
import { toInstant } from '../../src/model/trading-day.js'
import { createAnswerCache } from '../../src/simulator/answers.js'
import { createTimeline } from '../../src/simulator/market.js'
import { createRouter } from '../../src/simulator/router.js'
import { streams } from '../../streams/registry.js'
import { SETTINGS } from '../streams/support.js'

const route = createRouter(streams.flatMap(({ endpoints }) => endpoints))

/** All answers of the market to a whole run, by request. */
const collectAnswers = async (market: SampleMarket): Promise<ReadonlyMap<string, string>> => {
  const answers = new Map<string, string>()
  const findAnswer = createAnswerCache(0)
  const transport: Transport = ({ method, url, headers, body = '' }) => {
    const { hostname, pathname, search } = new URL(url)
    const routed = route({ method, url: `/${hostname}${pathname}${search}`, headers, body })
    if (routed.kind !== 'accepted') throw new Error(`${method} ${url} is ${routed.kind}`)
    const answer = findAnswer(routed.endpoint, routed.key, routed.input, market)
    answers.set(`${routed.endpoint.name} ${url} ${body}`, `${answer.status} ${answer.body}`)
    return of(answer)
  }
  const { id, asmTabId, gsmTabId } = market.sheet
  const settings = { ...SETTINGS, sheetId: id, asmTabId, gsmTabId }
  const collector = createCollector({ settings, storage: memory(new Map()), transport, clock: () => market.asOf, random: () => 0.5 })
  expect((await lastValueFrom(collector.run())).outcome).toBe('complete')
  return answers
}

it('leaves the market as it was without events', async () => {
  const asOf = toInstant('2026-02-13', '20:30')
  const market = createTimeline({ seed: 1, stocks: 60, asOf, exchange: 'NSE', candleDays: 40 })(asOf)
  const answers = [...(await collectAnswers(market))].toSorted().join('\n')
  expect(createHash('sha256').update(answers).digest('hex').slice(0, 16)).toBe('efcd7de317b7f05d')
})
