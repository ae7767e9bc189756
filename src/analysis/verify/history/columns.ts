import { groupBy } from '../../../model/map.js'
import { isRow } from '../../../model/row.js'
import type { Day } from '../../../model/trading-day.js'
import type { Finding } from '../finding.js'
import { type ListCheck, memoize, nameFirst } from './list-check.js'

/** Recorded days before a change that show what is usual. */
const MIN_DAYS_BEFORE = 2
const MIN_DAYS_BEFORE_FADING = 5
/** The smallest usual share of records with a value: a column with fewer may be empty for a day. */
const MIN_USUAL = 0.2
const MIN_RECORDS = 5
/** A column that always had a value may have been lucky, too. */
const MAX_USUAL = 0.95
/** How many fewer records have a value than usual. */
const MIN_FADED = 20
/** How likely it may be that a column is empty by chance. */
const MAX_CHANCE = 1e-6

interface ColumnDay {
  readonly day: Day
  readonly records: number
  /** Records with a value, by column. */
  readonly filled: ReadonlyMap<string, number>
}

/** Finds columns of a list that lost their values: in all records from some day on, or in half of those that usually have one. */
export const checkColumns = (file: string): ListCheck => {
  const days: ColumnDay[] = []
  const listFilled = memoize((record) => [...new Set(findFilled(record))])
  return {
    addDay: (day, records) => {
      const filled = new Map<string, number>()
      for (const record of records) for (const column of listFilled(record)) filled.set(column, (filled.get(column) ?? 0) + 1)
      if (records.length >= MIN_RECORDS) days.push({ day, records: records.length, filled })
    },
    finish: () => describeLosses(file, days),
  }
}

const EMPTY = /^\s*(?:-|N\/?A)?\s*$/i

/** The columns of a record with a value; those of nested records as `outer.inner`. */
const findFilled = (value: unknown, name = ''): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap((element) => findFilled(element, name))
  if (isRow(value)) return Object.entries(value).flatMap(([key, inner]) => findFilled(inner, name === '' ? key : `${name}.${key}`))
  return value === null || (typeof value === 'string' && EMPTY.test(value)) ? [] : [name]
}

interface Loss {
  readonly column: string
  /** The number of the first day with fewer values. */
  readonly from: number
  /** The share of records with a value before: the smallest one if no record has one now, else the median. */
  readonly usual: number
  readonly now: number
}

/** One finding for the columns that lost their values on the same day: often they belong together. */
const describeLosses = (file: string, days: readonly ColumnDay[]): readonly Finding[] => {
  const columns = [...new Set(days.flatMap(({ filled }) => [...filled.keys()]))]
  const losses = columns.flatMap((column) => findLoss(column, days) ?? [])
  return [...groupBy(losses, ({ from, now }) => `${from} ${now === 0}`).values()].map((own): Finding => {
    const { from, now } = own[0] as Loss
    const usual = toPercent(Math.min(...own.map((loss) => loss.usual)))
    const [since, records] = [days[from]?.day ?? '', days.at(-1)?.records]
    const what = now === 0 ? `in none of the ${records} records` : `in ${toPercent(now)} of the ${records} records`
    const share = now > 0 ? `${usual} on most` : usual === '100 %' ? 'all of them on each' : `${usual} or more on each`
    const before = `in ${share} of the ${from} recorded days from ${days[0]?.day} to ${days[from - 1]?.day}`
    return {
      check: 'dead-columns',
      severity: now === 0 ? 'error' : 'warning',
      day: since,
      file,
      detail: `${nameFirst(own.map(({ column }) => column))}: a value ${what} since ${since}, ${before}`,
    }
  })
}

const toPercent = (share: number): string => `${Math.round(share * 100)} %`

const findLoss = (column: string, days: readonly ColumnDay[]): Loss | undefined => {
  const shares = days.map(({ filled, records }) => (filled.get(column) ?? 0) / records)
  const [now = 1, records = 0] = [shares.at(-1), days.at(-1)?.records]
  return now === 0 ? findDeath(column, shares, records) : findFading(column, shares, records)
}

const findDeath = (column: string, shares: readonly number[], records: number): Loss | undefined => {
  const from = shares.findLastIndex((share) => share > 0) + 1
  const usual = Math.min(...shares.slice(0, from))
  const isByChance = (1 - Math.min(usual, MAX_USUAL)) ** records > MAX_CHANCE
  return from < MIN_DAYS_BEFORE || usual < MIN_USUAL || isByChance ? undefined : { column, from, usual, now: 0 }
}

/** A column fades if from some day on, and never before, fewer than half of the usual records have a value. */
const findFading = (column: string, shares: readonly number[], records: number): Loss | undefined => {
  const now = shares.at(-1) ?? 1
  for (let from = MIN_DAYS_BEFORE_FADING; from < shares.length; from++) {
    const before = shares.slice(0, from)
    const usual = [...before].sort((one, other) => one - other)[Math.floor(from / 2)] ?? 0
    const isLow = (share: number): boolean => share <= usual / 2
    if (usual >= MIN_USUAL && (usual - now) * records >= MIN_FADED && !before.some(isLow) && shares.slice(from).every(isLow))
      return { column, from, usual, now }
  }
  return undefined
}
