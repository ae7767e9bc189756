import { type Bundle, defineBundle, type Session } from './bundle.js'
import type { Export, ExportOptions } from './export.js'

/** Adjusted prices and volume; `factor` is the adjusted price for one rupee of that day. */
const FIELDS: Readonly<Record<string, (session: Session) => number | undefined>> = {
  open: ({ prices }) => prices[0],
  high: ({ prices }) => prices[1],
  low: ({ prices }) => prices[2],
  close: ({ prices }) => prices[3],
  volume: ({ volume }) => volume,
  factor: ({ then }) => 1 / then,
}

/** Floats of 32 bits, little-endian: the place of the first session in the calendar, then a value for each session, NaN without a candle. */
const encode = (field: (session: Session) => number | undefined, sessions: readonly Session[], days: readonly string[]): Buffer => {
  const first = days.indexOf(sessions[0]?.day ?? '')
  const length = days.indexOf(sessions.at(-1)?.day ?? '') - first + 1
  const floats = new Float32Array(length + 1).fill(Number.NaN)
  floats[0] = first
  let place = first
  for (const session of sessions) {
    while (days[place] !== session.day) place++
    floats[place - first + 1] = field(session) ?? Number.NaN
  }
  const bytes = Buffer.alloc(floats.length * 4)
  for (const [index, value] of floats.entries()) bytes.writeFloatLE(value, index * 4)
  return bytes
}

const BUNDLE: Bundle = {
  ofStock: (symbol, sessions, days) =>
    Object.fromEntries(
      Object.entries(FIELDS).map(([name, field]) => [`features/${symbol.toLowerCase()}/${name}.day.bin`, encode(field, sessions, days)]),
    ),
  ofAll: (stocks, days) => ({
    'calendars/day.txt': Buffer.from(days.map((day) => `${day}\n`).join('')),
    'instruments/all.txt': Buffer.from(stocks.map((stock) => `${stock.join('\t')}\n`).join('')),
  }),
}

/**
 * Exports the candles as a data folder of qlib, with prices and volume across splits and bonuses.
 *
 * @throws UsageError for a selection of tables
 * @example qlib('./qlib', { streams }).write('./data').subscribe()
 */
export const qlib = (dir: string, options: ExportOptions): Export => defineBundle(dir, BUNDLE, options)
