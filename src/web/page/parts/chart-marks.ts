import type { SeriesMarker } from 'lightweight-charts'
import { groupBy } from '../../../model/map.js'
import type { StockEvent } from '../../../show/answers.js'

/**
 * Filings and news would cover the candles of more sessions; splits, dividends and deals are always marked.
 */
const MAX_SESSIONS_WITH_ALL_MARKS = 300
const RARE_MARKS = ['D', 'S', 'B']

/**
 * The first session from a day on: what comes on a holiday moves the price of the next session. Undefined if
 * it lies ahead.
 */
export const findSession = (days: readonly string[], day: string): string | undefined => {
  let [from, to] = [0, days.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((days[middle] as string) < day) from = middle + 1
    else to = middle
  }
  return days[from]
}

/** The events of each session. */
export const groupBySession = (
  days: readonly string[],
  events: readonly StockEvent[],
): ReadonlyMap<string, readonly StockEvent[]> => {
  const [first = '', last = ''] = [days[0], days.at(-1)]
  const shown = events.filter(({ day }) => day >= first && day <= last)
  return groupBy(shown, ({ day }) => findSession(days, day) ?? '')
}

/**
 * Letters of sessions that are closer would cover each other and the candles: then a dot says that something
 * happened.
 */
const MIN_PIXELS_FOR_LETTERS = 9

interface MarkOptions {
  /** How many sessions are in view, on a chart of this width. */
  readonly visible: number
  readonly width: number
  readonly day?: string | undefined
  /** The letters that the reader has switched off. */
  readonly hidden?: string
  /** The colours of rare and of other marks. */
  readonly accent: string
  readonly soft: string
}

/** One mark for each session: the letters of its events. */
export const toMarkers = (
  sessions: ReadonlyMap<string, readonly StockEvent[]>,
  { visible, width, day, hidden = '', accent, soft }: MarkOptions,
): SeriesMarker<string>[] =>
  [...sessions]
    .flatMap(([time, events]): SeriesMarker<string>[] => {
      const letters = [...new Set(events.map(({ mark }) => mark))]
        .filter(
          (mark) =>
            !hidden.includes(mark) && (visible <= MAX_SESSIONS_WITH_ALL_MARKS || RARE_MARKS.includes(mark)),
        )
        .sort()
      if (letters.length === 0) return []
      const hasLetters = width / Math.max(1, visible) >= MIN_PIXELS_FOR_LETTERS
      const isRare = letters.some((mark) => RARE_MARKS.includes(mark))
      return [
        {
          time,
          position: 'aboveBar',
          shape: 'circle',
          size: time === day ? 1 : isRare ? 0.4 : 0,
          color: isRare || time === day ? accent : soft,
          text:
            letters.filter((mark) => hasLetters || time === day || RARE_MARKS.includes(mark)).join('') || '•',
        },
      ]
    })
    .sort((one, other) => (one.time < other.time ? -1 : 1))
