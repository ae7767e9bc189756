import { closeSync, fdatasync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import { Pool } from 'undici'
import { createDriftWatch } from '../../../src/http/drift.js'
import type { Endpoint } from '../../../src/http/endpoint.js'
import { createRequiredFields } from '../../../src/http/required-fields.js'
import { Limiter } from '../../../src/limiter/limiter.js'
import { createLimitPolicy } from '../../../src/limiter/limiter-registry.js'
import { thresholds } from '../../../src/market/refusal-policy.js'
import type { Candles } from '../../../src/model/candle.js'
import { type Row, readText } from '../../../src/model/row.js'
import { Settings } from '../../../src/model/settings.js'
import type { Stock } from '../../../src/model/stock.js'
import { streams } from '../../../streams/registry.js'
import { createBenchTimeline, FIRST_RUN_AT } from '../provider/conditions.js'

/**
 * The floor: the per-stock part of a run as one loop, with the product's limiter, readers and drift check, a
 * journal line per item and files that replace others only when they are on the disk. No retry, resume,
 * report or statistics. Its files have the product's bytes.
 */
const [out = '', count = '', journalName = ''] = process.argv.slice(2)
const market = createBenchTimeline(Number(count))(Date.parse(FIRST_RUN_AT))
/** In the order of the master list. */
const stocks = [...market.stocks].sort((one, other) => other.Mcap - one.Mcap)
const HEADER = Buffer.from('Timestamp,Open,High,Low,Close,Volume\n')
const END = Date.parse(FIRST_RUN_AT) / 1_000

const limiterOptions = {
  name: 'floor',
  settings: createLimitPolicy(Settings.parse({})),
  now: () => performance.now(),
  onChange: () => {},
}
const host = new Limiter(limiterOptions)
const drift = createDriftWatch(createRequiredFields(thresholds.fields, () => {}))
const utf8 = new TextDecoder('utf-8', { fatal: true })
const baseOf = (name: string): URL => new URL(process.env[`SCRIPSTREAM_${name.toUpperCase()}_URL`] ?? '')
const pool = new Pool(baseOf('static').origin, { connections: 160, pipelining: 1 })
const headers = { 'content-type': 'application/json' }

/** Sends one request through both limiters; returns the answer, read and checked as by the product. */
const createCall = (name: string) => {
  const stream = streams.find(({ endpoints }) => endpoints.some((one) => one.name === name))
  const endpoint = stream?.endpoints.find((one) => one.name === name) as Endpoint<unknown, unknown>
  const watch = drift.forStream(stream?.name ?? '')(endpoint)
  const limiter = new Limiter(limiterOptions)
  const path = baseOf(endpoint.host).pathname + endpoint.path
  const end = { signal: { kind: 'answered' }, item: '', isOneItemEnough: false } as const
  const read = (body: Buffer, input: unknown, item: string): unknown => {
    const answer = endpoint.readBytes?.(body)
    if (answer === undefined) return endpoint.read(utf8.decode(body), input, watch?.forItem(item))
    watch?.countAsExpected()
    return answer
  }
  return (input: unknown, item: string) =>
    new Promise<unknown>((resolve, reject) => {
      const send = (...permits: readonly Parameters<typeof host.release>[0][]): void => {
        const chunks: Buffer[] = []
        pool.dispatch(
          { path, method: 'POST', headers, body: JSON.stringify(input) },
          {
            onRequestStart: () => {},
            onResponseStart: (_, status) =>
              status === 200 ? undefined : reject(new Error(`${path}: ${status}`)),
            onResponseData: (_, chunk) => void chunks.push(chunk),
            onResponseEnd: () => {
              limiter.release(permits[0] as (typeof permits)[number], end)
              host.release(permits[1] as (typeof permits)[number], end)
              resolve(read(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks), input, item))
            },
            onResponseError: (_, error) => reject(error),
          },
        )
      }
      const queued = { failFast: false, mayStart: () => true, reject }
      limiter.acquire({
        ...queued,
        start: (own) => host.acquire({ ...queued, start: (shared) => send(own, shared) }),
      })
    })
}

/** Writes a file beside its name, and renames it once its data is on the disk. */
const store = (file: string, content: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    const temporary = `${out}/${file}.tmp`
    const descriptor = openSync(temporary, 'wx')
    const bytes = Buffer.from(content)
    for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at)
    fdatasync(descriptor, (error) => {
      closeSync(descriptor)
      if (error) return reject(error)
      renameSync(temporary, `${out}/${file}`)
      resolve()
    })
  })

const journal = openSync(`${out}/${journalName}`, 'w')

/** Works on all items, `workers` at a time; writes a journal line after each. */
const forAll = async (
  stream: string,
  workers: number,
  work: (stock: Stock, place: number) => Promise<unknown>,
): Promise<void> => {
  let next = 0
  const loop = async (): Promise<void> => {
    for (let place = next++; place < stocks.length; place = next++) {
      const stock = stocks[place] as Stock
      await work(stock, place)
      writeSync(journal, `{"stream":"${stream}","item":"${stock.Symbol}","status":"success"}\n`)
    }
  }
  await Promise.all(Array.from({ length: workers }, loop))
}

/** A list of rows as one file, one row per line. */
const storeRows = (file: string, rows: readonly Row[]): Promise<void> =>
  store(file, `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`)

for (const folder of ['company_filings', 'market_news', 'ohlcv_data']) mkdirSync(`${out}/${folder}`)
const calls = {
  fundamental: createCall('fundamental'),
  legacy: createCall('company_filings'),
  lodr: createCall('lodr'),
  announcements: createCall('announcements'),
  indicator: createCall('indicator'),
  news: createCall('news'),
  candles: createCall('ohlcv'),
} as const

/** Requests a list of rows for each stock; stores all in one file, in the order of the stocks. */
const fetchRows = async (
  name: 'fundamental' | 'announcements' | 'indicator',
  workers: number,
  file: string,
): Promise<void> => {
  const rows: Row[][] = []
  await forAll(name, workers, async ({ Symbol: symbol, ISIN, Sid }, place) => {
    const flat = { exchange: 'NSE', segment: 'E', security_id: Sid, isin: ISIN, symbol, minute: 'D' }
    const answer = (await calls[name](
      name === 'indicator' ? flat : { data: { isin: ISIN } },
      symbol,
    )) as readonly Row[]
    rows[place] = answer.map((row) => ({ Symbol: symbol, ISIN, ...row }))
  })
  const all = rows.flat()
  const day = ({ date }: Row): string => readText(date)
  await storeRows(
    file,
    name === 'announcements'
      ? all.sort((one, other) => (day(one) < day(other) ? 1 : day(one) > day(other) ? -1 : 0))
      : all,
  )
}

const fetchFilings = async ({ Symbol: symbol, ISIN }: Stock): Promise<void> => {
  const input = { data: { isin: ISIN, pg_no: 1, count: 100 } }
  const lists = (await Promise.all([
    calls.legacy(input, symbol),
    calls.lodr(input, symbol),
  ])) as (readonly Row[])[]
  const filings = new Map<string, Row>()
  for (const row of lists.flat()) {
    const key = readText(row.news_id) || `${row.news_date}_${row.caption || row.descriptor || 'Unknown'}`
    const known = filings.get(key)
    if (known === undefined || (row.file_url && !known.file_url)) filings.set(key, row)
  }
  const at = ({ news_date }: Row): string => readText(news_date) || '1900-01-01'
  const data = [...filings.values()].sort((one, other) =>
    at(one) < at(other) ? 1 : at(one) > at(other) ? -1 : 0,
  )
  if (data.length > 0)
    await store(`company_filings/${symbol}_filings.json`, `${JSON.stringify({ code: 0, data })}\n`)
}

const LATEST = {
  categories: ['ALL'],
  page_no: 0,
  limit: 50,
  first_news_timeStamp: 0,
  last_news_timeStamp: 0,
  news_feed_type: 'live',
}

const fetchNews = async ({ Symbol: symbol, ISIN }: Stock): Promise<void> => {
  const rows = (await calls.news({ ...LATEST, stock_list: [ISIN], entity_id: '' }, symbol)) as readonly Row[]
  const News = rows.map(({ news_object, publish_date, category }) => {
    const { title, text, overall_sentiment } = news_object as Row
    return {
      Title: title,
      Summary: text,
      Sentiment: overall_sentiment,
      PublishDate: publish_date,
      Source: category,
    }
  })
  if (News.length > 0)
    await store(`market_news/${symbol}_news.json`, `${JSON.stringify({ Symbol: symbol, ISIN, News })}\n`)
}

const fetchCandles = async ({ Symbol: symbol, Sid }: Stock): Promise<void> => {
  const instrument = { EXCH: 'NSE', SYM: symbol, SEG: 'E', INST: 'EQUITY', SEC_ID: Sid }
  const { csv } = (await calls.candles(
    { ...instrument, EXPCODE: 0, INTERVAL: 'D', START: 215_634_600, END },
    symbol,
  )) as Candles
  await store(`ohlcv_data/${symbol}.csv`, Buffer.concat([HEADER, csv as Uint8Array]))
}

await fetchRows('fundamental', 20, 'fundamental_data.json')
await Promise.all([
  forAll('filings', 20, fetchFilings),
  forAll('news', 15, fetchNews),
  forAll('candles', 15, fetchCandles),
  fetchRows('announcements', 40, 'all_company_announcements.json'),
  fetchRows('indicator', 50, 'advanced_indicator_data.json'),
])
await pool.close()
process.exit(0)
