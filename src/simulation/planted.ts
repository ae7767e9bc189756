import type { Change } from '../analysis/diff/change.js'
import type { PlantedEvent } from '../model/market.js'
import type { Day } from '../model/trading-day.js'
import type { Scenario } from './scenario.js'

type StockEvent = Extract<PlantedEvent, { readonly symbol: string }>

/** The section and the kind of the change that shows an event; undefined: only candles show it. */
const CHANGE_OF_EVENT: Readonly<Partial<Record<PlantedEvent['kind'], readonly [Change['section'], Change['change']]>>> = {
  split: ['actions', 'new'],
  bonus: ['actions', 'new'],
  rename: ['renames', 'renamed'],
  'isin-change': ['renames', 'changed'],
  listing: ['listings', 'new'],
  delisting: ['listings', 'left'],
  'restated-quarter': ['results', 'changed'],
  'late-filing': ['filings', 'new'],
  'backdated-filing': ['filings', 'new'],
  'surveillance-entry': ['surveillance', 'entered'],
  'surveillance-exit': ['surveillance', 'left'],
}

const isWeekend = (day: Day): boolean => new Date(`${day}T00:00:00Z`).getUTCDay() % 6 === 0

/** Whether the changes of a session show an event. A run on a weekend requests nothing: it has the session before. */
export const isShownOn = (event: PlantedEvent, session: number, { sessions }: Scenario): boolean => {
  const day = 'announcedOn' in event ? event.announcedOn : event.day
  const [today, before] = [sessions[session] as Day, sessions[session - 1]]
  if (session === 0 || isWeekend(today)) return false
  return day === today || (before !== undefined && isWeekend(before) && day === before)
}

/** What is wrong with how the changes show an event: nothing if one of them does. */
export const checkPlantedEvent = (event: PlantedEvent, changes: readonly string[]): readonly string[] => {
  const [section, kind] = CHANGE_OF_EVENT[event.kind] ?? []
  if (section === undefined) return []
  const { symbol, ...more } = event as StockEvent
  const now = 'newSymbol' in more ? more.newSymbol : symbol
  const found = changes
    .map((change) => JSON.parse(change) as Change)
    .filter((change) => change.section === section && change.change === kind && [symbol, now].includes(change.symbol))
    .filter(({ detail }) => section !== 'actions' || detail.startsWith(event.kind))
  return found.length === 1 ? [] : [`${event.kind} of ${symbol} is in diff ${found.length} times`]
}
