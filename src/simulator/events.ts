import type { PlannedStockEvent, PlantedEvent, Random, SampleStock } from '../model/market.js'
import { addDays, type Day, SESSION_END, toInstant } from '../model/trading-day.js'
import { lowerBound, type TradingCalendar } from './calendar.js'
import { createRandom } from './random.js'
import { listPublishedPeriods } from './results.js'
import { createNextIsin, createStocks, MAX_COMPANIES } from './stocks.js'

/** Kinds of events that the plan starts by itself, one of each in every period. */
const ownKinds = [
  'split',
  'bonus',
  'rename',
  'listing',
  'delisting',
  'restated-quarter',
  'late-filing',
  'backdated-filing',
  'surveillance-entry',
  'rewritten-history',
] as readonly OwnKind[]
type OwnKind = Exclude<PlannedStockEvent['kind'], 'isin-change' | 'surveillance-exit'>

/** Kinds of events that follow another one. */
const followers: Partial<Record<PlannedStockEvent['kind'], PlannedStockEvent['kind']>> = {
  split: 'isin-change',
  'surveillance-entry': 'surveillance-exit',
}

export const eventKinds = [
  ...ownKinds,
  ...(['isin-change', 'surveillance-exit', 'holiday', 'weekend-session', 'frozen-provider'] as const),
] as readonly PlantedEvent['kind'][]

/** Which events happen in a market, and how many. */
export interface EventOptions {
  /**
   * All kinds if absent. An ISIN change comes with its split, and the exit from surveillance with its entry.
   */
  readonly kinds?: readonly PlantedEvent['kind'][] | undefined
  /**
   * Events of stocks in a session on average, up to 10; 0.2 if absent, which is five of each kind in a year.
   */
  readonly perSession?: number | undefined
}

/** The stocks of the market after the opening of a session. */
interface Listed {
  readonly stocks: readonly SampleStock[]
  readonly byIsin: ReadonlyMap<string, SampleStock>
  readonly bySid: ReadonlyMap<string, SampleStock>
}

interface PlanOptions {
  readonly seed: number
  readonly calendar: TradingCalendar
  /** The index of the session before the first one with events. */
  readonly anchor: number
  readonly stocks: readonly SampleStock[]
  readonly events?: EventOptions | undefined
}

/** An event that is to happen in a session from `from` on, to a certain stock if it follows another event. */
interface Due {
  readonly kind: PlannedStockEvent['kind']
  readonly from: number
  readonly rank?: number | undefined
}

/**
 * A stock has no other event for this many sessions, except one that follows, and none in twice as many
 * sessions after its listing.
 */
const QUIET_SESSIONS = 15
const DEFAULT_PER_SESSION = 0.2
const MIN_FREEZE_PERIOD = 20

/**
 * The events of a market, planned session by session from the seed alone: the same options give the same plan
 * in every process, whatever was requested before. No event of a stock becomes visible while the provider is
 * frozen.
 */
export const createEventPlan = ({ seed, calendar, anchor, stocks, events }: PlanOptions) => {
  const { kinds = eventKinds, perSession = DEFAULT_PER_SESSION } = events ?? { kinds: [] }
  const own = ownKinds.filter((kind) =>
    [kind, followers[kind]].some((one) => one !== undefined && kinds.includes(one)),
  )
  const period = Math.max(1, Math.round(own.length / perSession))
  const days = calendar.days
  const freezePeriod = kinds.includes('frozen-provider') ? Math.max(MIN_FREEZE_PERIOD, period) : 0
  const findFreeze = createFreezes(seed, anchor, freezePeriod)
  const planter = createPlanter({ seed, days, count: stocks.length, kinds, findFreeze })
  const sessions = [toListed(stocks)]
  let waiting: readonly Due[] = []
  const planSession = (session: number, before: Listed) => {
    const since = session - anchor
    const isDue = (kind: OwnKind) =>
      createRandom(seed, 'event', kind, Math.floor(since / period)).int(0, period - 1) === since % period
    waiting = [...waiting, ...own.filter(isDue).map((kind) => ({ kind, from: session }))]
    const ready = findFreeze(session) === undefined ? waiting.filter(({ from }) => from <= session) : []
    const now = ready.slice(0, Math.max(3, Math.ceil(2 * perSession)))
    if (now.length === 0) return before
    waiting = waiting.filter((due) => !now.includes(due))
    let listed = before.stocks
    for (const due of now) {
      const { stocks: after, follower } = planter.plant(due, session, listed)
      listed = after
      if (follower) waiting = [...waiting, follower]
    }
    return toListed(listed)
  }
  const listedAt = (session: number) => {
    const place = own.length === 0 ? 0 : Math.max(0, session - anchor)
    while (sessions.length <= place)
      sessions.push(planSession(anchor + sessions.length, sessions.at(-1) as Listed))
    return sessions[place] as Listed
  }
  return {
    /** The listed stocks as of the session with this index in the calendar. */
    listedAt,
    /** The instant as of which the candles are answered. */
    candlesAsOf: (asOf: number) => {
      const freeze = findFreeze(calendar.lastOpened(asOf))
      return freeze ? toInstant(days[freeze.first - 1] ?? '', SESSION_END) : asOf
    },
    /** The first ISIN of the company that has this one now; another text is returned as it is. */
    toFirstIsin: planter.toFirstIsin,
    /** The events of the days from `from` to `to`, oldest first. */
    plan: (from: Day, to: Day): readonly PlantedEvent[] => {
      const [start, end] = [lowerBound(days, from), lowerBound(days, `${to}~`)]
      listedAt(end - 1)
      const freezes = days.slice(start, end).flatMap((day, place) => {
        const { first, last } = findFreeze(start + place) ?? {}
        if (first !== start + place || last === undefined) return []
        return [{ kind: 'frozen-provider' as const, day, until: days[last] ?? '' }]
      })
      const closed = listCalendarEvents(calendar, from, to).filter(({ kind }) => kinds.includes(kind))
      const planted = planter.planted.filter(({ day }) => day >= from && day <= to)
      return [...closed, ...freezes, ...planted].sort((a, b) => (a.day < b.day ? -1 : a.day > b.day ? 1 : 0))
    },
  }
}

interface PlanterOptions {
  readonly seed: number
  readonly days: readonly Day[]
  readonly count: number
  readonly kinds: readonly PlantedEvent['kind'][]
  readonly findFreeze: ReturnType<typeof createFreezes>
}

/** Chooses the stock and the numbers of each event, and changes the stocks. */
const createPlanter = ({ seed, days, count, kinds, findFreeze }: PlanterOptions) => {
  const nextLive = (session: number): number =>
    findFreeze(session) === undefined ? session : nextLive(session + 1)
  const planted: PlannedStockEvent[] = []
  const firstIsins = new Map<string, string>()
  const quietUntil = new Map<number, number>()
  const details = createDetails(days, nextLive)
  const nextListing = createListings(seed, count)

  const chooseStock = (
    { kind, rank }: Due,
    session: number,
    stocks: readonly SampleStock[],
  ): SampleStock | undefined => {
    if (kind === 'listing') return nextListing(days[session] ?? '')
    if (rank !== undefined) return stocks.find((stock) => stock.rank === rank)
    const old = days[Math.max(0, session - 2 * QUIET_SESSIONS)] ?? ''
    const isQuiet = ({ rank = 0 }: SampleStock) => (quietUntil.get(rank) ?? 0) < session
    const candidates = stocks.filter(
      (stock) => stock.listedOn <= old && isQuiet(stock) && isEligible(kind, stock),
    )
    return candidates[createRandom(seed, 'event-stock', kind, session).int(0, candidates.length - 1)]
  }
  const findFollower = (event: PlannedStockEvent, session: number, rank: number): Due | undefined => {
    const kind = followers[event.kind]
    if (kind === undefined || !kinds.includes(kind)) return undefined
    const wait = createRandom(seed, 'event-follower', kind, session)
    return {
      kind,
      from:
        kind === 'isin-change' ? lowerBound(days, event.day) + wait.int(0, 2) : session + wait.int(20, 60),
      rank,
    }
  }
  return {
    planted: planted as readonly PlannedStockEvent[],
    toFirstIsin: <T extends string | number>(text: T): T | string => firstIsins.get(String(text)) ?? text,
    plant: (due: Due, session: number, stocks: readonly SampleStock[]) => {
      const stock = chooseStock(due, session, stocks)
      if (stock?.rank === undefined) return { stocks }
      const base = { kind: due.kind, day: days[session] ?? '', symbol: stock.Symbol, isin: stock.ISIN }
      const random = createRandom(seed, 'event-details', due.kind, session)
      const isTaken = (text: string) =>
        firstIsins.has(text) || stocks.some((one) => one.ISIN === text || one.Symbol === text)
      const event = {
        ...base,
        ...details(due.kind, { stock, session, random, isTaken }),
      } as PlannedStockEvent
      planted.push(event)
      const end = lowerBound(days, 'adjustedOn' in event && event.adjustedOn ? event.adjustedOn : event.day)
      if (due.rank === undefined) quietUntil.set(stock.rank, end + QUIET_SESSIONS)
      const isin = firstIsins.get(stock.ISIN) ?? stock.ISIN
      if (event.kind === 'isin-change') firstIsins.set(isin, isin).set(event.newIsin, isin)
      return {
        stocks: applyToStocks(event, stock, stocks),
        follower: findFollower(event, session, stock.rank),
      }
    },
  }
}

const toListed = (stocks: readonly SampleStock[]): Listed => ({
  stocks,
  byIsin: new Map(stocks.map((stock) => [stock.ISIN, stock])),
  bySid: new Map(stocks.map((stock) => [stock.Sid, stock])),
})

/** One span of one or two sessions in every period of sessions after the anchor; none if the period is 0. */
const createFreezes =
  (seed: number, anchor: number, period: number) =>
  (session: number): { readonly first: number; readonly last: number } | undefined => {
    if (period === 0 || session <= anchor) return undefined
    const block = Math.floor((session - anchor) / period)
    const random = createRandom(seed, 'freeze', block)
    const first = anchor + block * period + random.int(2, period - 3)
    const last = first + random.int(0, 1)
    return session >= first && session <= last ? { first, last } : undefined
  }

/** Creates the next stocks of the market, each one at its listing. */
const createListings = (seed: number, count: number) => {
  let rank = count
  let created: readonly SampleStock[] = []
  return (listedOn: Day): SampleStock | undefined => {
    // Many at a time: a list of stocks is created from its first one on.
    if (rank >= created.length) created = createStocks(seed, Math.min(rank + 100, MAX_COMPANIES), () => '')
    const stock = created[rank]
    if (stock === undefined) return undefined
    const { split: _, watched: __, limitPlace: ___, ...rest } = stock
    return { ...rest, listedOn, rank: rank++ }
  }
}

/** Stocks that are always under surveillance stay: its lists are never empty, and no stock is on both. */
const isEligible = (kind: PlannedStockEvent['kind'], { watched, events = [] }: SampleStock): boolean => {
  const isWatched =
    events.filter(({ kind }) => kind.startsWith('surveillance-')).at(-1)?.kind === 'surveillance-entry'
  return (kind !== 'delisting' && kind !== 'surveillance-entry') || (watched === undefined && !isWatched)
}

const applyToStocks = (
  event: PlannedStockEvent,
  stock: SampleStock,
  stocks: readonly SampleStock[],
): readonly SampleStock[] => {
  if (event.kind === 'delisting') return stocks.filter((one) => one !== stock)
  const changed = {
    ...stock,
    ...(event.kind === 'rename' && { Symbol: event.newSymbol }),
    ...(event.kind === 'isin-change' && { ISIN: event.newIsin }),
    events: [...(stock.events ?? []), event],
  }
  return event.kind === 'listing'
    ? [...stocks, changed]
    : stocks.map((one) => (one === stock ? changed : one))
}

interface DetailOptions {
  readonly stock: SampleStock
  readonly session: number
  readonly random: Random
  /** Whether another stock has or had this ISIN, or has this symbol. */
  readonly isTaken: (text: string) => boolean
}

/** The numbers of an event; the day only if it is not the current session. */
type Details = Readonly<Record<string, unknown>>

const createDetails = (days: readonly Day[], nextLive: (session: number) => number) => {
  const counts = new Map<string, number>()
  const dayAt = (session: number) => days[Math.max(0, session)] ?? ''
  const createSplit = (factor: number, random: Random, session: number, count: number): Details => {
    const ex = nextLive(session + random.int(5, 10))
    const adjusted = (['at-once', 'late', 'never'] as const)[count % 3] ?? 'never'
    const adjustedOn = {
      'at-once': dayAt(ex),
      late: dayAt(nextLive(ex + random.int(1, 4))),
      never: undefined,
    }[adjusted]
    return {
      day: dayAt(ex),
      factor,
      announcedOn: dayAt(session),
      adjusted,
      ...(adjustedOn && { adjustedOn }),
    }
  }
  const createRewrite = (
    { listedOn }: SampleStock,
    random: Random,
    session: number,
    count: number,
  ): Details => {
    const to = session - random.int(6, 10)
    const from = dayAt(count % 2 === 0 ? 0 : to - random.int(3, 12))
    return { from: from > listedOn ? from : listedOn, to: dayAt(to), factor: random.decimal(1.05, 1.2) }
  }
  const createFiling = (kind: string, isin: string, session: number, age: number): Details => ({
    filedAt: `${dayAt(session - age)} 18:30:00`,
    newsId: `${isin.toLowerCase()}-${kind}-${dayAt(session)}`,
  })
  return (kind: PlannedStockEvent['kind'], { stock, session, random, isTaken }: DetailOptions) => {
    const count = counts.get(kind) ?? 0
    counts.set(kind, count + 1)
    const details: Readonly<Record<PlannedStockEvent['kind'], () => Details>> = {
      split: () => createSplit(random.pick([2, 5, 10]), random, session, count),
      bonus: () => createSplit(2, random, session, count + 1),
      rename: () => ({ newSymbol: createNewSymbol(stock.Symbol, isTaken) }),
      'isin-change': () => ({ newIsin: createNextIsin(stock.ISIN, isTaken) }),
      listing: () => ({}),
      delisting: () => ({}),
      'restated-quarter': () => ({
        quarter: listPublishedPeriods(dayAt(session), 3)[random.int(0, 2)],
        factor: random.decimal(0.8, 0.95),
      }),
      'late-filing': () => createFiling(kind, stock.ISIN, session, random.int(2, 5)),
      'backdated-filing': () => createFiling(kind, stock.ISIN, session, random.int(25, 60)),
      'surveillance-entry': () => ({ list: count % 2 === 0 ? 'asm' : 'gsm' }),
      'surveillance-exit': () => ({
        list: stock.events?.flatMap((event) => ('list' in event ? event.list : [])).at(-1),
      }),
      'rewritten-history': () => createRewrite(stock, random, session, count),
    }
    return details[kind]()
  }
}

const createNewSymbol = (symbol: string, isTaken: (symbol: string) => boolean): string => {
  const stem = `${symbol.replace(/\W/g, '').slice(0, 8)}NEW`
  let next = stem
  for (let number = 2; isTaken(next); number++) next = `${stem}${number}`
  return next
}

const listCalendarEvents = ({ days }: TradingCalendar, from: Day, to: Day): readonly PlantedEvent[] => {
  const found: PlantedEvent[] = []
  for (let day = from; day <= to; day = addDays(day, 1)) {
    const isWeekend = new Date(day).getUTCDay() % 6 === 0
    const isSession = days[lowerBound(days, day)] === day
    if (isSession === isWeekend) found.push({ kind: isWeekend ? 'weekend-session' : 'holiday', day })
  }
  return found
}
