import { lastValueFrom, of } from 'rxjs'
import { memory } from '../../sinks/memory.js'
import type { AnyEndpoint } from '../../src/http/endpoint.js'
import type { Transport } from '../../src/http/transport.js'
import { buildAnswer } from '../../src/simulator/answers.js'
import { createMarket, toSheetOptions } from '../../src/simulator/market.js'
import { createRouter } from '../../src/simulator/router.js'
import { streams } from '../../streams/registry.js'
import { EVENING, SETTINGS } from '../streams/support.js'
import { createQuickCollector } from '../support/limits.js'

/** A stream's request and the simulator's answer. */
export interface Golden {
  readonly endpoint: AnyEndpoint
  readonly input: unknown
  readonly text: string
}

const NOT_LONG = 4_000

const market = createMarket({ seed: 1, stocks: 8, asOf: EVENING, exchange: 'NSE', candleDays: 5 })

/** Collects every whole answer of a run in which the named endpoints fail. */
const answersWithout = async (failing: readonly string[]): Promise<readonly Golden[]> => {
  const route = createRouter(streams.flatMap(({ endpoints }) => endpoints))
  const golden: Golden[] = []
  const transport: Transport = ({ method, url, headers, body = '' }) => {
    const { hostname, pathname, search } = new URL(url)
    const routed = route({ method, url: `/${hostname}${pathname}${search}`, headers, body })
    if (routed.kind !== 'accepted') throw new Error(`${method} ${url} is ${routed.kind}`)
    const { endpoint, input } = routed
    const reply = buildAnswer(endpoint, input, market)
    const status = failing.includes(endpoint.name) ? 404 : reply.status
    if (status === 200) golden.push({ endpoint, input, text: reply.body.toString() })
    return of({ status, body: reply.body })
  }
  const optional = streams.filter((stream) => stream.optional).map(({ name }) => name)
  const settings = { ...SETTINGS, options: toSheetOptions(market.sheet), with: optional }
  const collector = createQuickCollector({
    settings,
    storage: memory(),
    transport,
    clock: () => EVENING,
    random: () => 0.5,
  })
  await lastValueFrom(collector.run({ asOf: EVENING }))
  return golden
}

/**
 * For each endpoint of each stream the shortest answer with content, and a second short one; all fallback
 * tiers included.
 */
export const goldenAnswers = async (): Promise<readonly Golden[]> => {
  const runs = await Promise.all(
    [[], ['circuit', 'sheet'], ['circuit', 'sheet', 'web_data']].map(answersWithout),
  )
  const byCall = new Map<string, Golden[]>()
  for (const golden of runs
    .flat()
    .filter(({ text }) => !/"data":(null|\[\])|"latest_news":\[\]/.test(text))) {
    const call = `${golden.endpoint.name} ${streams.findIndex(({ endpoints }) => endpoints.includes(golden.endpoint))}`
    byCall.set(call, [...(byCall.get(call) ?? []), golden])
  }
  return [...byCall.values()].flatMap((answers) => {
    const [shortest, next] = answers.sort((one, other) => one.text.length - other.text.length)
    return [shortest, next]
      .filter((one) => one !== undefined)
      .filter((one) => one === shortest || one.text.length < NOT_LONG)
  })
}
