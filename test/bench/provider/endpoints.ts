import type { AnyEndpoint } from '../../../src/http/endpoint.js'
import type { SampleMarket } from '../../../src/model/market.js'
import { createBodies, isShared } from './bodies.js'
import { createBenchTimeline, FIRST_RUN_AT } from './conditions.js'

const VARIANTS = 64
export const CANDLES = 2_500
/** Number of stocks that are searched for histories of that length. */
const POOL = 1_500

/** The Sids of stocks with `CANDLES` days up to the benchmark's day, each with the first of them. */
const findWholeHistories = (): readonly { readonly sid: string; readonly since: number }[] => {
  const { stocks, candles, asOf } = createBenchTimeline(POOL)(Date.parse(FIRST_RUN_AT))
  const found: { sid: string; since: number }[] = []
  for (const { Sid, split } of stocks) {
    const since = split === undefined ? candles(Sid, 1, asOf / 1_000).Time.at(-CANDLES) : undefined
    if (since !== undefined) found.push({ sid: Sid, since })
    if (found.length === VARIANTS) return found
  }
  throw new Error(`only ${found.length} stocks have ${CANDLES} candles`)
}

interface CandleInput {
  readonly SEC_ID: string
  readonly START: number
  readonly END: number
}

/** Answers with the candles of a few stocks, each text made once. */
/** Not the bytes of another stock with the same text, which a run refuses. */
const ofOne = (text: string | undefined, rank = 0): string | undefined =>
  text === undefined ? undefined : text + '\n'.repeat(rank)

const WHOLE_HISTORY = 5_000

/** The same of candles, whose fast reader takes no line ends: the first one begins some seconds earlier. */
const withOwnStart = (text: string, rank: number): string =>
  text.length < WHOLE_HISTORY
    ? text
    : text.replace(/"Time":\[(\d+)/, (_, first: string) => `"Time":[${Number(first) - rank}`)

const createCandleAnswers = (rankOf: (sid: string) => number | undefined) => {
  const histories = findWholeHistories()
  const pool = rememberByMarket((market) => createBenchTimeline(POOL)(market.asOf))
  const texts = rememberByMarket(() => new Map<string, string>())
  return ({ SEC_ID, START, END }: CandleInput, market: SampleMarket) => {
    const rank = rankOf(SEC_ID)
    const history = rank === undefined ? undefined : histories[rank % VARIANTS]
    if (history === undefined) return undefined
    const { sid, since } = history
    const key = `${sid} ${START} ${END}`
    const known = texts(market)
    const data = () => pool(market).candles(sid, Math.max(START, since), END)
    const text = known.get(key) ?? JSON.stringify({ success: true, data: data() })
    known.set(key, text)
    return rank === undefined ? text : withOwnStart(text, rank)
  }
}

/** What is made once for each market. */
const rememberByMarket = <T>(make: (market: SampleMarket) => T): ((market: SampleMarket) => T) => {
  const made = new WeakMap<SampleMarket, T>()
  return (market) => {
    const value = made.get(market) ?? make(market)
    made.set(market, value)
    return value
  }
}

/**
 * The endpoints of the streams with prepared samples, in a few microseconds: full-size answers about stocks,
 * `CANDLES` candles, and lists that are written once.
 */
export const createPreparedEndpoints = (
  endpoints: readonly AnyEndpoint[],
  stocks: number,
): readonly AnyEndpoint[] => {
  const market = createBenchTimeline(stocks)(Date.parse(FIRST_RUN_AT))
  const ranks = new Map(market.stocks.map(({ ISIN }, rank) => [ISIN, rank]))
  const instruments = new Map(
    [...market.stocks, ...market.indices].map(({ Sid }, rank) => [String(Sid), rank]),
  )
  const bodies = createBodies(endpoints)
  const candles = createCandleAnswers((sid) => instruments.get(sid))
  return endpoints.map((endpoint): AnyEndpoint => {
    const { name, sample } = endpoint
    if (name === 'ohlcv' || name === 'index_ohlcv')
      return { ...endpoint, type: 'application/json', sample: candles }
    if (!isShared(name)) return { ...endpoint, ...prepareList(endpoint, sample) }
    return {
      ...endpoint,
      type: 'application/json',
      sample: (input, { asOf }) => {
        const isin = /"(IN[A-Z0-9]{10})"/.exec(JSON.stringify(input))?.[1] ?? ''
        const rank = ranks.get(isin)
        if (rank === undefined) return undefined
        return ofOne(bodies(name, { rank, isin }, asOf > Date.parse(FIRST_RUN_AT)), rank)
      },
    }
  })
}

/** Makes an answer large but valid: a text of `bytes` bytes in addition to the rows. */
export const addPadding = (text: string, bytes: number): string =>
  `${text.slice(0, -1)},"padding":"${'x'.repeat(bytes)}"}`

/** A list is written once for each market and input. */
const prepareList = (
  { type }: AnyEndpoint,
  sample: AnyEndpoint['sample'],
): Pick<AnyEndpoint, 'sample' | 'type'> => {
  const texts = rememberByMarket(() => new Map<string, unknown>())
  return {
    type: type ?? 'application/json',
    sample: (input, market) => {
      const [known, key] = [texts(market), JSON.stringify(input)]
      if (!known.has(key)) known.set(key, toText(sample?.(input, market)))
      return known.get(key)
    },
  }
}

const toText = (value: unknown): unknown =>
  value === undefined || typeof value === 'string' ? value : JSON.stringify(value)
