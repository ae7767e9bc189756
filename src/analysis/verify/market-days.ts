import { dayToNumber } from '../../market/candle-file.js'
import type { Day } from '../../model/trading-day.js'
import type { MarketCalendar } from './calendar.js'
import type { CheckName, Finding } from './finding.js'

/** If so many stocks have the same finding on one day, it is a finding about the day. */
const MIN_STOCKS = 5
const MIN_SHARE = 0.05
/** Half of the market never really moves by 30 % in one session. */
const ERROR_SHARE = 0.5

/** How a finding about the market describes what the stocks have on that day. */
const DESCRIPTIONS: Partial<Readonly<Record<CheckName, string>>> = {
  'large-moves': 'have a close more than 30 % from the previous one on',
  volumes: 'have an impossible volume on',
  'missing-sessions': 'lack the session of',
  'newest-sessions': 'have no candle since',
  'stale-symbols': 'have no candle after',
}

/** Checks that find wrong candles. Those that find missing candles are never an error of the whole market: the next run may bring them. */
const OF_CANDLES: readonly CheckName[] = ['large-moves', 'volumes']

/** Replaces the findings that many stocks have on the same day by one about the day. */
export const mergeMarketDays = (findings: readonly Finding[], calendar: MarketCalendar): readonly Finding[] => {
  const merged: Finding[] = []
  const groups = new Map<string, { readonly check: CheckName; readonly day: Day; readonly group: Finding[] }>()
  for (const finding of findings) {
    const { check, day } = finding
    const key = `${check} ${day}`
    if (day === undefined || !(check in DESCRIPTIONS)) merged.push(finding)
    else if (groups.has(key)) groups.get(key)?.group.push(finding)
    else groups.set(key, { check, day, group: [finding] })
  }
  for (const { check, day, group } of groups.values()) {
    const found = createMarketFinding(group, { check, day, calendar })
    merged.push(...(found === undefined ? group : [found]))
  }
  return merged
}

const createMarketFinding = (
  group: readonly Finding[],
  { check, day, calendar }: { readonly check: CheckName; readonly day: Day; readonly calendar: MarketCalendar },
): Finding | undefined => {
  const symbols = [...new Set(group.map(({ symbol }) => symbol))]
  const listed = calendar.countListed(dayToNumber(day))
  const all = check === 'newest-sessions' ? listed + symbols.length : listed
  if (symbols.length < MIN_STOCKS || symbols.length < MIN_SHARE * all) return undefined
  const named = symbols.slice(0, 3).join(', ')
  return {
    check: 'odd-days',
    severity: OF_CANDLES.includes(check) && symbols.length >= ERROR_SHARE * all ? 'error' : 'warning',
    day,
    detail: `${symbols.length} of ${all} stocks ${DESCRIPTIONS[check]} ${day}, such as ${named}`,
  }
}
