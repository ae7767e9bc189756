import { formatMinute, formatSecond, toDay } from './trading-day.js'

const MONTH_NAMES = [
  'Jan',
  'Feb',
  'Mar',
  'Apr',
  'May',
  'Jun',
  'Jul',
  'Aug',
  'Sep',
  'Oct',
  'Nov',
  'Dec',
] as const

/** What is shown where a value is missing. */
export const MISSING = '–'

const isNumber = (value: number | null | undefined): value is number =>
  typeof value === 'number' && Number.isFinite(value)

/**
 * `2,775`, `-1,234,567.5`: the digits before the point by thousands. Without `Intl`, which takes 11 ms to
 * load.
 */
export const groupDigits = (digits: number | string): string =>
  String(digits).replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(?:\d{3})+$)/g, ','))

/** The same, rounded to a fixed number of decimals. */
export const formatNumber = (value: number | null | undefined, decimals = 0): string => {
  if (!isNumber(value)) return MISSING
  const digits = value.toFixed(decimals)
  return groupDigits(/[1-9]/.test(digits) ? digits : digits.replace('-', ''))
}

/** `1 file`, `2,775 files`. */
export const formatQuantity = (value: number, noun: string, plural = `${noun}s`): string =>
  `${formatNumber(value)} ${value === 1 ? noun : plural}`

/** `3 of 2,775 stocks`. */
export const formatPart = (part: number, whole: number, noun: string): string =>
  `${formatNumber(part)} of ${formatQuantity(whole, noun)}`

/** `a, b or c`. */
export const joinWords = (words: readonly string[], last: 'and' | 'or'): string =>
  words.join(', ').replace(/, ([^,]*)$/, ` ${last} $1`)

/** `A, B, C and 4 more`. */
export const nameFirst = (names: readonly string[], max = 3): string =>
  names.length > max
    ? `${names.slice(0, max).join(', ')} and ${formatNumber(names.length - max)} more`
    : names.join(', ')

/** `+1.2`, `-3`: with its sign. */
export const formatSigned = (value: number | undefined, decimals = 1): string => {
  const text = formatNumber(value, decimals)
  return value !== undefined && value > 0 && /[1-9]/.test(text) ? `+${text}` : text
}

/** `₹ 7.88 crore`, `₹ 1,171 crore`: money that is counted in crore, ten million rupees. */
export const formatCrore = (value: number | null | undefined): string =>
  isNumber(value) ? `₹ ${formatNumber(value, Math.abs(value) < 9.995 ? 2 : 0)} crore` : MISSING

/** `₹ 1,412.30`. */
export const formatPrice = (value: number | null | undefined): string =>
  isNumber(value) ? `₹ ${formatNumber(value, 2)}` : MISSING

/** `38 %`, or with decimals `1.2 %`. */
export const formatPercent = (value: number | null | undefined, decimals = 1): string =>
  isNumber(value) ? `${formatNumber(value, decimals)} %` : MISSING

/** `12 Feb 2026`, of a day `2026-02-12`. Anything else stays as it is. */
export const formatDay = (day: string | null | undefined): string => {
  const [, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)/.exec(day ?? '') ?? []
  const name = MONTH_NAMES[Number(month) - 1]
  return name === undefined ? (day ?? MISSING) : `${Number(date)} ${name} ${year}`
}

/** A sentence of the server with its days as people write them. The name of a file stays as it is. */
export const formatDaysIn = (text: string): string =>
  text.replace(/(?<![\w/.-])\d{4}-\d\d-\d\d(?![\w/-]|\.\w)/g, formatDay)

/** The day in India of an instant: `12 Feb 2026`. */
export const formatDayOf = (at: number): string => formatDay(toDay(at))

/** The time in India of an instant: `20:00:41 IST`. */
export const formatTime = (at: number): string => `${formatSecond(at).slice(11)} IST`

/** `12 Feb 2026, 20:00 IST`. */
export const formatInstant = (at: number): string => `${formatDayOf(at)}, ${formatMinute(at).slice(11)}`

/** How long something took: `3.1 s`, `12.0 s`, `3 min 05 s`, `1 h 02 min`. */
export const formatDuration = (ms: number | null | undefined): string => {
  if (!isNumber(ms)) return MISSING
  const tenths = Math.round(Math.max(0, ms) / 100)
  return tenths < 600 ? `${(tenths / 10).toFixed(1)} s` : formatMinutes(Math.round(ms / 1_000))
}

/** A time that is still running or to come, in whole seconds: `1 s` at least. */
export const formatCountdown = (ms: number): string => formatMinutes(Math.max(1, Math.ceil(ms / 1_000)))

const formatMinutes = (seconds: number): string => {
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${toTwoDigits(seconds % 60)} s`
  return `${formatNumber(Math.floor(minutes / 60))} h ${toTwoDigits(minutes % 60)} min`
}

export const toTwoDigits = (value: number): string => String(value).padStart(2, '0')

/** `3 min ago`; `just now` below a minute. */
export const formatAgo = (at: number, now: number): string => {
  const minutes = Math.floor((now - at) / 60_000)
  if (minutes < 1) return 'just now'
  if (minutes < 60) return `${minutes} min ago`
  const hours = Math.floor(minutes / 60)
  return hours < 24
    ? `${hours} h ago`
    : `${formatNumber(Math.floor(hours / 24))} ${hours < 48 ? 'day' : 'days'} ago`
}

const BYTE_UNITS = ['kB', 'MB', 'GB', 'TB'] as const

/** `512 B`, `1.2 kB`, `31 MB`, in steps of a thousand. */
export const formatBytes = (bytes: number | null | undefined): string => {
  if (!isNumber(bytes)) return MISSING
  if (bytes < 1_000) return `${Math.round(bytes)} B`
  const step = Math.min(BYTE_UNITS.length, Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1_000 ** step
  if (value >= 999.5 && step < BYTE_UNITS.length) return `1.0 ${BYTE_UNITS[step] ?? ''}`
  return `${formatNumber(value, value < 9.95 ? 1 : 0)} ${BYTE_UNITS[step - 1] ?? ''}`
}

/** Rounds to two decimals. */
export const toCents = (value: number): number => Math.round(value * 100) / 100
