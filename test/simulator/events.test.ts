import { createHash } from 'node:crypto'
import { lastValueFrom, of } from 'rxjs'
import { beforeAll, describe, expect, it } from 'vitest'
import { memory } from '../../sinks/memory.js'
import type { Transport } from '../../src/http/transport.js'
import { groupBy } from '../../src/model/map.js'
import type { PlantedEvent, SampleMarket } from '../../src/model/market.js'
import { isRow, type Row, readText } from '../../src/model/row.js'
import { addDays, toDay, toInstant } from '../../src/model/trading-day.js'
import { buildAnswer } from '../../src/simulator/answers.js'
import { createTimeline, toSheetOptions } from '../../src/simulator/market.js'
import { createRouter, type IncomingRequest } from '../../src/simulator/router.js'
import { streams } from '../../streams/registry.js'
import { SETTINGS } from '../streams/support.js'
import { createQuickCollector } from '../support/limits.js'

const route = createRouter(streams.flatMap(({ endpoints }) => endpoints))

/** The simulator's answer to a request. */
const send = (request: IncomingRequest, market: SampleMarket) => {
  const routed = route(request)
  if (routed.kind !== 'accepted') throw new Error(`${request.method} ${request.url} is ${routed.kind}`)
  return { name: routed.endpoint.name, ...buildAnswer(routed.endpoint, routed.input, market) }
}

/** The requests of a whole run, with their answers. */
const collectAnswers = async (market: SampleMarket) => {
  const answers: { readonly name: string; readonly request: IncomingRequest; readonly text: string }[] = []
  const transport: Transport = ({ method, url, headers, body = '' }) => {
    const { hostname, pathname, search } = new URL(url)
    const request = { method, url: `/${hostname}${pathname}${search}`, headers, body }
    const answer = send(request, market)
    answers.push({ name: answer.name, request, text: `${answer.status} ${answer.body}` })
    return of(answer)
  }
  const settings = { ...SETTINGS, options: toSheetOptions(market.sheet) }
  const collector = createQuickCollector({
    settings,
    storage: memory(new Map()),
    transport,
    clock: () => market.asOf,
    random: () => 0.5,
  })
  expect((await lastValueFrom(collector.run())).outcome).toBe('complete')
  return answers
}

const options = {
  seed: 1,
  stocks: 60,
  asOf: toInstant('2026-02-13', '20:30'),
  exchange: 'NSE',
  candleDays: 40,
}
const YEAR = ['2026-01-01', '2026-12-31'] as const

/** The endpoints of the built-in streams: another stream does not change their answers. */
const BUILT_IN =
  'master fundamental listing_dates corporate_actions sheet circuit deal eq_band_changes sec_list indices index_ohlcv company_filings lodr announcements indicator news ohlcv'

it('leaves the market as it was without events', async () => {
  const answers = await collectAnswers(createTimeline(options)(options.asOf))
  const texts = answers
    .filter(({ name }) => BUILT_IN.split(' ').includes(name))
    .map(({ name, request, text }) => `${name} ${request.url} ${request.body} ${text}`)
    .toSorted()
  // The same on every machine and version of Node. It changes with the samples and with the requests of these
  // streams.
  expect(createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 16)).toBe('03ee10417a1c24b9')
})

/** What one session's answers say about a stock. */
interface SeenStock {
  readonly symbol: string
  readonly isin: string
  readonly candles: ReadonlyMap<string, { readonly close: number; readonly volume: number }>
  readonly profits: ReadonlyMap<string, number>
  readonly filings: ReadonlyMap<string, string>
  /** The surveillance lists that it is on. */
  readonly lists: readonly string[]
  readonly splits: readonly string[]
}

type Ask = (name: string, change?: (body: Row) => Row) => readonly (Row | string)[]

const rowsOf = (document: Row | string | undefined): readonly Row[] => {
  const data = isRow(document) ? document.data : []
  return (Array.isArray(data) ? data : [data]).filter(isRow)
}

const readStock = (
  ask: Ask,
  isin: string,
  sid: string,
  asOf: number,
): Pick<SeenStock, 'candles' | 'profits' | 'filings'> => {
  const [candles] = ask('ohlcv', (body) => ({ ...body, SEC_ID: sid, START: 1, END: asOf / 1_000 }))
  const { Time, c, v } = (candles as { readonly data: Record<string, number[]> }).data
  const [{ incomeStat_cq = {} } = {}] = ask('fundamental', () => ({ data: { isin } })).flatMap(rowsOf)
  const { YEAR: quarters, NET_PROFIT } = incomeStat_cq as Record<string, string>
  const profits = NET_PROFIT?.split('|').map(Number) ?? []
  const filings = ask('lodr', () => ({ data: { isin, pg_no: 1, count: 100 } })).flatMap(rowsOf)
  return {
    candles: new Map(Time?.map((at, i) => [toDay(at * 1_000), { close: c?.[i] ?? 0, volume: v?.[i] ?? 0 }])),
    profits: new Map(quarters?.split('|').map((quarter, i) => [quarter, profits[i] ?? 0])),
    filings: new Map(
      filings.map(({ news_id = 'none', news_date, caption }) => [
        `${news_id} ${news_date} ${caption}`,
        readText(news_date),
      ]),
    ),
  }
}

/** What one session's answers say, by the Sid of the stock. */
const readSession = (ask: Ask, asOf: number): ReadonlyMap<string, SeenStock> => {
  const lists = ask('sheet').map((text) => (/"rows":.*/.exec(String(text))?.[0] ?? '').split('"'))
  const actions = ['GT', 'LT'].flatMap((op) =>
    ask('corporate_actions', (body) => {
      const data = body.data as Row
      return { data: { ...data, filters: [{ field: 'CorpAct.ActDate', op, val: '2026-07-01' }] } }
    }).slice(0, 1),
  )
  const splits = actions
    .flatMap(rowsOf)
    .flatMap(({ Sym, CorpAct }) =>
      (CorpAct as readonly Row[]).flatMap(({ ActType, ExDate, Note }) =>
        ['SPLIT', 'BONUS'].includes(String(ActType)) ? [{ Sym, text: `${ActType} ${ExDate} ${Note}` }] : [],
      ),
    )
  return new Map(
    rowsOf(ask('master')[0]).map(({ Sid, Sym, Isin }) => {
      const [symbol, isin] = [readText(Sym), readText(Isin)]
      const seen = {
        symbol,
        isin,
        lists: ['asm', 'gsm'].filter((_, place) => lists[place]?.includes(symbol)),
        splits: splits.flatMap(({ Sym, text }) => (Sym === symbol ? [text] : [])),
      }
      return [readText(Sid), { ...seen, ...readStock(ask, isin, readText(Sid), asOf) }]
    }),
  )
}

type Seen = readonly (readonly [kind: string, text: string])[]

/** Changes of the candles that both answers have, and a fall on the newest day that a split explains. */
const compareCandles = (before: SeenStock, now: SeenStock, day: string): Seen => {
  const changed = [...before.candles].flatMap(([time, was]) => {
    const is = now.candles.get(time)
    return is && is.close === was.close && is.volume === was.volume
      ? []
      : [{ time, was, is: is ?? { close: 0, volume: 0 } }]
  })
  const [first, last] = [changed[0], changed.at(-1)]
  const closes = [...now.candles.values()].map(({ close }) => close)
  const fall = (closes.at(-2) ?? 0) / (closes.at(-1) ?? 0)
  const gap: Seen =
    now.candles.has(day) && fall > 1.6 ? [['gap', `${day} ${now.symbol} ${Math.round(fall)}`]] : []
  if (first === undefined || last === undefined) return gap
  const factor = last.is.volume / last.was.volume
  if (first.time === [...before.candles.keys()][0] && factor !== 1)
    return [...gap, ['adjustment', `${day} ${now.symbol} ${factor}`]]
  const ratio = changed.reduce((sum, { was, is }) => sum + is.close / was.close, 0) / changed.length
  return [
    ...gap,
    ['rewritten-history', `${day} ${now.symbol} ${first.time} ${last.time} ${ratio.toFixed(2)}`],
  ]
}

const compareStock = (before: SeenStock, now: SeenStock, day: string, previous: string): Seen => {
  const found: (readonly [string, string])[] = [...compareCandles(before, now, day)]
  if (now.symbol !== before.symbol) found.push(['rename', `${day} ${before.symbol} ${now.symbol}`])
  if (now.isin !== before.isin) found.push(['isin-change', `${day} ${before.isin} ${now.isin}`])
  for (const [quarter, profit] of now.profits) {
    const ratio = profit / (before.profits.get(quarter) ?? profit)
    if (ratio !== 1) found.push(['restated-quarter', `${day} ${now.symbol} ${quarter} ${ratio.toFixed(2)}`])
  }
  for (const [filing, filedAt] of now.filings) {
    if (before.filings.has(filing) || filedAt > `${previous} 20:30:00`) continue
    const kind = filedAt < addDays(day, -20) ? 'backdated-filing' : 'late-filing'
    found.push([kind, `${day} ${now.symbol} ${filing.split(' ', 1)[0]} ${filedAt}`])
  }
  for (const list of now.lists)
    if (!before.lists.includes(list)) found.push(['surveillance-entry', `${day} ${now.symbol} ${list}`])
  for (const list of before.lists)
    if (!now.lists.includes(list)) found.push(['surveillance-exit', `${day} ${now.symbol} ${list}`])
  for (const split of now.splits)
    if (!before.splits.includes(split)) found.push(['announcement', `${day} ${now.symbol} ${split}`])
  return found
}

/** The same for the plan. */
const describeEvent = (event: PlantedEvent): Seen => {
  const { day } = event
  switch (event.kind) {
    case 'split':
    case 'bonus': {
      const { symbol, factor, adjusted, adjustedOn } = event
      const gap = adjusted === 'at-once' ? [] : ([['gap', `${day} ${symbol} ${factor}`]] as const)
      const adjustment =
        adjustedOn === undefined ? [] : ([['adjustment', `${adjustedOn} ${symbol} ${factor}`]] as const)
      const terms = event.kind === 'bonus' ? `${factor - 1}:1` : `1:${factor}`
      const announced = `${event.announcedOn} ${symbol} ${event.kind.toUpperCase()} ${day} ${terms}`
      return [['announcement', announced], ...gap, ...adjustment]
    }
    case 'rename':
      return [[event.kind, `${day} ${event.symbol} ${event.newSymbol}`]]
    case 'isin-change':
      return [[event.kind, `${day} ${event.isin} ${event.newIsin}`]]
    case 'restated-quarter':
      return [[event.kind, `${day} ${event.symbol} ${event.quarter} ${event.factor.toFixed(2)}`]]
    case 'late-filing':
    case 'backdated-filing':
      return [[event.kind, `${day} ${event.symbol} ${event.newsId} ${event.filedAt}`]]
    case 'surveillance-entry':
    case 'surveillance-exit':
      return [[event.kind, `${day} ${event.symbol} ${event.list}`]]
    case 'rewritten-history':
      return [[event.kind, `${day} ${event.symbol} ${event.from} ${event.to} ${event.factor.toFixed(2)}`]]
    case 'frozen-provider':
      return [...new Set([day, event.until])].map((frozen) => [event.kind, frozen])
    case 'holiday':
    case 'weekend-session':
      return [[event.kind, day]]
    default:
      return [[event.kind, `${day} ${event.symbol} ${event.isin}`]]
  }
}

describe('the answers of a year with events', () => {
  const marketAt = createTimeline({ ...options, stocks: 20, events: true })
  const plan = marketAt.plan(...YEAR)
  const seen: (readonly [kind: string, text: string])[] = []

  let askOn: (day: string) => Ask

  beforeAll(async () => {
    const requests = await collectAnswers(marketAt(toInstant('2026-01-02', '20:30')))
    const createAsk =
      (market: SampleMarket): Ask =>
      (name, change) => {
        const sent = requests.filter((one) => one.name === name)
        return (change ? sent.slice(0, 1) : sent).map(({ request }) => {
          const body = change ? JSON.stringify(change(JSON.parse(request.body))) : request.body
          const { type, body: bytes } = send({ ...request, body }, market)
          return type === 'application/json' ? (JSON.parse(bytes.toString()) as Row) : bytes.toString()
        })
      }
    askOn = (day) => createAsk(marketAt(toInstant(day, '20:30')))
    const days = marketAt(toInstant('2027-01-01')).tradingDays(...YEAR)
    let [previous = ''] = days
    const at = (day: string) => toInstant(day, '20:30')
    let before = readSession(askOn(previous), at(previous))
    for (const day of days.slice(1)) {
      const now = readSession(askOn(day), at(day))
      const isFrozen = [...now.values()].every(({ candles }) => !candles.has(day))
      if (isFrozen) seen.push(['frozen-provider', day])
      for (const [sid, stock] of now) {
        const earlier = before.get(sid)
        seen.push(
          ...(earlier
            ? compareStock(earlier, stock, day, previous)
            : [['listing', `${day} ${stock.symbol} ${stock.isin}`] as const]),
        )
      }
      for (const [sid, stock] of before)
        if (!now.has(sid)) seen.push(['delisting', `${day} ${stock.symbol} ${stock.isin}`])
      before = now
      previous = day
    }
    const traded = new Set([...before.values()].flatMap(({ candles }) => [...candles.keys()]))
    for (let day: string = YEAR[0]; day <= YEAR[1]; day = addDays(day, 1)) {
      const isWeekend = [0, 6].includes(new Date(day).getUTCDay())
      if (traded.has(day) === isWeekend) seen.push([isWeekend ? 'weekend-session' : 'holiday', day])
    }
  })

  const planned = plan.flatMap(describeEvent)
  const kinds = [...new Set(planned.map(([kind]) => kind))]
  const listOf = (all: Seen, kind: string) =>
    all.flatMap(([one, text]) => (one === kind ? [text] : [])).toSorted()

  it.each(kinds)('show each planned event on its day: %s', (kind) => {
    expect(listOf(planned, kind).length).toBeGreaterThan(1)
    expect(listOf(seen, kind)).toEqual(listOf(planned, kind))
  })

  it.each(['deal', 'sec_list', 'eq_band_changes'])(
    'do not change the past, whatever is listed later: %s',
    (name) => {
      const first = askOn('2026-01-02')(name)
      expect(first.length).toBeGreaterThan(0)
      expect(askOn('2026-12-31')(name)).toEqual(first)
    },
  )

  it('are on a holiday those of the session before', () => {
    const { day = '' } = plan.find(({ kind, day }) => kind === 'holiday' && day > '2026-02') ?? {}
    const candles = (on: string) =>
      askOn(on)('ohlcv', (body) => ({ ...body, START: 1, END: toInstant(day, '20:30') / 1_000 }))
    expect(candles(day)).toEqual(candles(addDays(day, -1)))
    expect(candles(day)).not.toEqual(candles(addDays(day, -2)))
  })

  it('show nothing else', () => {
    expect([...new Set(seen.map(([kind]) => kind))].toSorted()).toEqual(kinds.toSorted())
  })
})

describe('the plan of events', () => {
  const countBy = <T>(list: readonly T[], keyOf: (one: T) => string) =>
    new Map([...groupBy(list, keyOf)].map(([key, group]) => [key, group.length]))
  const planOf = (seed: number, stocks = 60) =>
    createTimeline({ ...options, seed, stocks, events: true }).plan(...YEAR)

  it.each([1, 2, 3, 4, 5])(
    'has at least two events of each kind in a year, and a few in a session: seed %i',
    (seed) => {
      const plan = planOf(seed)
      const counts = countBy(plan, ({ kind }) => kind)
      expect(counts.size).toBe(15)
      expect([...counts].filter(([, count]) => count < 2)).toEqual([])
      expect(Math.max(...countBy(plan, ({ day }) => day).values())).toBeLessThan(5)
      const adjusted = plan.flatMap((event) => ('adjusted' in event ? [event.adjusted] : []))
      expect([...countBy(adjusted, (text) => text).keys()].toSorted()).toEqual(['at-once', 'late', 'never'])
    },
  )

  it('is the same in whatever order it is requested, and continues after the year', () => {
    const marketAt = createTimeline({ ...options, events: true })
    const late = marketAt(toInstant('2027-06-30')).stocks
    expect(marketAt(toInstant('2026-01-01', '20:30')).stocks.map(({ ISIN }) => ISIN)).toEqual(
      createTimeline(options)(options.asOf).stocks.map(({ ISIN }) => ISIN),
    )
    expect(marketAt.plan(...YEAR)).toEqual(planOf(1))
    expect(marketAt.plan(YEAR[0], '2027-06-30').slice(0, planOf(1).length)).toEqual(planOf(1))
    expect(createTimeline({ ...options, events: true })(toInstant('2027-06-30')).stocks).toEqual(late)
    expect(planOf(2)).not.toEqual(planOf(1))
  })

  it('has the requested kinds only, with the kind that they follow, at the requested rate', () => {
    const plan = createTimeline({
      ...options,
      events: { kinds: ['rename', 'surveillance-exit'], perSession: 0.5 },
    }).plan(...YEAR)
    const counts = countBy(plan, ({ kind }) => kind)
    expect([...counts.keys()].toSorted()).toEqual(['rename', 'surveillance-entry', 'surveillance-exit'])
    expect(plan.length).toBeGreaterThan(150)
    const splits = createTimeline({ ...options, events: { kinds: ['split'] } }).plan(...YEAR)
    expect([...countBy(splits, ({ kind }) => kind).keys()]).toEqual(['split'])
    expect(createTimeline(options).plan(...YEAR)).toEqual([])
  })

  it('has at most twice as many events in a session as requested on average', () => {
    const kinds = [
      'rename',
      'listing',
      'delisting',
      'restated-quarter',
      'late-filing',
      'backdated-filing',
      'rewritten-history',
    ] as const
    const plan = createTimeline({ ...options, stocks: 600, events: { kinds, perSession: 2 } }).plan(...YEAR)
    expect(Math.max(...countBy(plan, ({ day }) => day).values())).toBe(4)
  })

  it('never gives a stock the symbol or ISIN of another one', () => {
    const events = { kinds: ['rename', 'isin-change'] as const, perSession: 2 }
    const { stocks } = createTimeline({ ...options, stocks: 600, events })(toInstant('2026-12-31'))
    const changed = stocks.filter((stock) => /NEW\d*$/.test(stock.Symbol))
    expect(changed.length).toBeGreaterThan(100)
    expect(changed.filter((stock) => /\d$/.test(stock.Symbol)).length).toBeGreaterThan(0)
    expect(new Set(stocks.flatMap((stock) => [stock.Symbol, stock.ISIN])).size).toBe(2 * stocks.length)
  })

  it('shows no event of a stock in a session with frozen candles', () => {
    const plan = [1, 2, 3, 4, 5].flatMap((seed) => planOf(seed).map((event) => ({ ...event, seed })))
    const frozen = plan.flatMap((event) => (event.kind === 'frozen-provider' ? [event] : []))
    const days = plan.flatMap((event) => {
      const { day, seed } = event
      return 'symbol' in event
        ? [
            { day, seed },
            { day: ('adjustedOn' in event && event.adjustedOn) || day, seed },
          ]
        : []
    })
    expect(
      frozen.filter(({ day, until, seed }) =>
        days.some((one) => one.seed === seed && one.day >= day && one.day <= until),
      ),
    ).toEqual([])
  })
})
