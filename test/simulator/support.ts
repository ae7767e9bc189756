import { request } from 'undici'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { get, post } from '../../src/http/endpoint.js'
import type { SampleMarket } from '../../src/model/market.js'
import { toInstant } from '../../src/model/trading-day.js'
import { type Simulator, type SimulatorOptions, serveSimulator } from '../../src/simulator/index.js'

const read = (text: string) => text

export const note = post({
  name: 'note',
  host: 'static',
  path: '/notes',
  input: z.strictObject({ data: z.strictObject({ isin: z.string(), count: z.int().default(1) }) }),
  read,
  sample: ({ data }: { data: { isin: string } }, market: SampleMarket) =>
    market.stockByIsin(data.isin) && {
      isin: data.isin,
      day: market.tradingDays('2026-01-01', '2030-01-01').at(-1),
    },
})

const scan = <Which extends string>(name: string, which: Which, headers: 'usual' | 'origin' = 'usual') =>
  post({
    name,
    host: 'analytics',
    path: '/scan',
    headers,
    input: z.strictObject({ which: z.literal(which), count: z.literal(5), page: z.literal(1) }),
    read,
    sample: () => ({ scanned: name }),
  })

const Values = z.strictObject({ key: z.string() })
const table = get({
  name: 'table',
  host: 'archive',
  path: '/content/list_{date}.csv',
  headers: 'browser',
  input: z.strictObject({ date: z.string() }),
  read,
  sample: ({ date }: { date: string }) => (date === '12022026' ? 'A,B\n1,2\n3,4\n' : undefined),
  type: 'text/csv',
})
const page = get({
  name: 'page',
  host: 'web',
  path: '/{key}/',
  input: Values,
  read,
  sample: ({ key }: { key: string }) => `page ${key}`,
  type: 'text/html',
})
const start = get({
  name: 'start',
  host: 'web',
  path: '/start/',
  input: z.strictObject({}),
  read,
  sample: () => 'start',
})
const sheet = get({
  name: 'sheet',
  host: 'sheet',
  path: '/d/{id}/tq?tqx=out:json&gid={tab}',
  input: z.strictObject({ id: z.string(), tab: z.string() }),
  read,
  sample: ({ id, tab }: { id: string; tab: string }) => `${id}/${tab}`,
})
const broken = get({
  name: 'broken',
  host: 'news',
  path: '/broken',
  input: z.strictObject({}),
  read,
  sample: () => {
    throw new Error('a bug')
  },
})

export const endpoints = [
  note,
  scan('scan-a', 'a', 'origin'),
  scan('scan-b', 'b'),
  page,
  start,
  table,
  sheet,
  broken,
]

/** A simulator that is closed after the test; its "now" is 20:00 on 12 February 2026. */
export const serve = async (options: Partial<SimulatorOptions> = {}): Promise<Simulator> => {
  const simulator = await serveSimulator({
    endpoints,
    stocks: 20,
    asOf: toInstant('2026-02-12', '20:00'),
    ...options,
  })
  onTestFinished(() => simulator.close())
  return simulator
}

interface SeenAnswer {
  readonly status: number
  readonly type: string
  readonly length: string
  readonly retryAfter: unknown
  readonly text: string
}

export const sendRequest = async (
  address: string,
  init: Parameters<typeof request>[1] = {},
): Promise<SeenAnswer> => {
  const { statusCode, headers, body } = await request(address, init)
  return {
    status: statusCode,
    type: String(headers['content-type']),
    length: String(headers['content-length']),
    retryAfter: headers['retry-after'],
    text: await body.text(),
  }
}

export const sendPost = (address: string, body: unknown, headers: Record<string, string> = {}) =>
  sendRequest(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

/** Requests the note of the stock at a rank. */
export const requestNote = ({ settings, market }: Simulator, rank = 0) =>
  sendPost(`${settings.urls.static}/notes`, { data: { isin: market.stocks[rank]?.ISIN } })
