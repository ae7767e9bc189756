import { compareFigures, RESULT_TABLES, type RestatedFigure } from '../market/quarterly-results.js'
import { formatNumber, formatPart, groupDigits, nameFirst } from '../model/format.js'
import { groupBy } from '../model/map.js'
import { isRow, omitUndefined, type Row, readText } from '../model/row.js'
import type { Day } from '../model/trading-day.js'
import { type Finding, isMany, type Severity } from './finding.js'
import { toImpossible } from './possible-values.js'

/** A check of the recorded days of a file. It sees them one after the other, oldest first. */
export interface ListCheck {
  /** A record that a day has as the day before is the same object. */
  readonly addDay: (day: Day, records: readonly Row[]) => void
  readonly finish: () => readonly Finding[]
}

/** Recorded days before a change that show what is usual. */
const MIN_DAYS_BEFORE = 2
const MIN_DAYS_BEFORE_FADING = 5
/** The smallest usual share of records with a value: a column with fewer may be empty for a day. */
const MIN_USUAL = 0.2
const MIN_LISTED = 5
/** A column that always had a value may have been lucky, too. */
const MAX_USUAL = 0.95
/** How many fewer records have a value than usual. */
const MIN_FADED = 20
/** How likely it may be that a column is empty by chance. */
const MAX_CHANCE = 1e-6

interface ColumnDay {
  readonly day: Day
  readonly records: number
  readonly filled: ReadonlyMap<string, number>
}

/**
 * Finds columns of a list that lost their values: in all records from some day on, or in half of those that
 * usually have one.
 */
export const checkColumns = (file: string): ListCheck => {
  const days: ColumnDay[] = []
  const known = new WeakMap<Row, readonly string[]>()
  const listFilled = (record: Row): readonly string[] => {
    const columns = known.get(record) ?? [...new Set(findFilled(record))]
    known.set(record, columns)
    return columns
  }
  return {
    addDay: (day, records) => {
      const filled = new Map<string, number>()
      for (const record of records)
        for (const column of listFilled(record)) filled.set(column, (filled.get(column) ?? 0) + 1)
      if (records.length >= MIN_LISTED) days.push({ day, records: records.length, filled })
    },
    finish: () => describeLostColumns(file, days),
  }
}

const EMPTY = /^\s*(?:-|N\/?A)?\s*$/i

/** The columns of a record with a value; those of nested records as `outer.inner`. */
const findFilled = (value: unknown, name = ''): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap((element) => findFilled(element, name))
  if (isRow(value))
    return Object.entries(value).flatMap(([key, inner]) =>
      findFilled(inner, name === '' ? key : `${name}.${key}`),
    )
  return value === null || (typeof value === 'string' && EMPTY.test(value)) ? [] : [name]
}

/**
 * `usual`: the share of records with a value before, the smallest one if no record has one now, else the
 * median.
 */
type Loss = Readonly<Record<'from' | 'usual' | 'now', number>> & { readonly column: string }

/** One finding for the columns that lost their values on the same day: often they belong together. */
const describeLostColumns = (file: string, days: readonly ColumnDay[]): readonly Finding[] => {
  const columns = [...new Set(days.flatMap(({ filled }) => [...filled.keys()]))]
  const losses = columns.flatMap((column) => findLoss(column, days) ?? [])
  return [...groupBy(losses, ({ from, now }) => `${from} ${now === 0}`).values()].map((own): Finding => {
    const { from, now } = own[0] as Loss
    const usual = toPercent(Math.min(...own.map((loss) => loss.usual)))
    const [since, records] = [days[from]?.day ?? '', days.at(-1)?.records]
    const what =
      now === 0
        ? `in none of the ${formatNumber(records)} records`
        : `in ${toPercent(now)} of the ${formatNumber(records)} records`
    const share =
      now > 0 ? `${usual} on most` : usual === '100 %' ? 'all of them on each' : `${usual} or more on each`
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
  return from < MIN_DAYS_BEFORE || usual < MIN_USUAL || isByChance
    ? undefined
    : { column, from, usual, now: 0 }
}

/**
 * A column fades if from some day on, and never before, fewer than half of the usual records have a value.
 */
const findFading = (column: string, shares: readonly number[], records: number): Loss | undefined => {
  const now = shares.at(-1) ?? 1
  for (let from = MIN_DAYS_BEFORE_FADING; from < shares.length; from++) {
    const before = shares.slice(0, from)
    const usual = [...before].sort((one, other) => one - other)[Math.floor(from / 2)] ?? 0
    const isLow = (share: number): boolean => share <= usual / 2
    if (
      usual >= MIN_USUAL &&
      (usual - now) * records >= MIN_FADED &&
      !before.some(isLow) &&
      shares.slice(from).every(isLow)
    )
      return { column, from, usual, now }
  }
  return undefined
}

/** What identifies a row, the first that it has, and what names it. */
const KEY_FIELDS = ['ISIN', 'Sid', 'Symbol']
const NAME_FIELDS = ['Symbol', 'Sym']

/**
 * A member that was not in the list for days: its last day before, the first day without it, and the day on
 * which it was back.
 */
type Absence = Readonly<Record<'name', string> & Record<'last' | 'left' | 'back', Day>>

/** Finds stocks or indices that left a list and came back. */
export const checkMembers = (file: string, severity: Severity): ListCheck => {
  const lastSeen = new Map<string, number>()
  const days: Day[] = []
  const absences: Absence[] = []
  let largest = 0
  const create = ({ last, left, back }: Absence, who: string, symbol?: string): Finding =>
    omitUndefined({
      check: 'blinking-members' as const,
      severity,
      symbol,
      day: back,
      file,
      detail: `${who} last in the list on ${last}, not from ${left}, and again from ${back}`,
    })
  const describe = (own: readonly Absence[]): readonly Finding[] => {
    const [first] = own
    if (first !== undefined && isMany(own.length, largest))
      return [create(first, `${own.length} members, ${nameFirst(own.map(({ name }) => name))}, were`)]
    return own.map((absence) => create(absence, 'it was', absence.name))
  }
  return {
    addDay: (day, records) => {
      const index = days.push(day) - 1
      largest = Math.max(largest, records.length)
      for (const record of records) {
        const key = readFirst(record, KEY_FIELDS)
        const last = lastSeen.get(key) ?? index
        if (last < index - 1)
          absences.push({
            name: readFirst(record, NAME_FIELDS),
            last: days[last] as Day,
            left: days[last + 1] as Day,
            back: day,
          })
        lastSeen.set(key, index)
      }
    },
    finish: () => [...groupBy(absences, ({ left, back }) => `${left} ${back}`).values()].flatMap(describe),
  }
}

const readFirst = (record: Row, names: readonly string[]): string =>
  names.map((name) => readText(record[name])).find((text) => text !== '') ?? ''

/**
 * Finds stocks with another name of the company, though symbol and ISIN stayed. A name that only is written
 * in another way begins with the same word.
 */
export const checkCompanyNames = (file: string): ListCheck => {
  const last = new Map<string, { readonly name: string; readonly day: Day }>()
  const found: Finding[] = []
  const compare = (record: Row, day: Day): readonly Finding[] => {
    const [symbol = '', isin, name = ''] = [record.Symbol, record.ISIN, record.Name].map(readText)
    if (name === '') return []
    const key = `${symbol} ${isin}`
    const { name: before, day: since } = last.get(key) ?? { name, day }
    last.set(key, { name, day })
    if (readFirstWord(before) === readFirstWord(name)) return []
    const detail = `its name was ${before} on ${since} and is ${name} on ${day}; symbol and ISIN are the same`
    return [{ ...toImpossible(file, detail, symbol), day }]
  }
  return {
    addDay: (day, records) => {
      const renamed = records.flatMap((record) => compare(record, day))
      found.push(...mergeMany(renamed, records.length, 'have another name'))
    },
    finish: () => found,
  }
}

const readFirstWord = (name: string): string | undefined => /[a-z0-9&]+/.exec(name.toLowerCase())?.[0]

/** A smaller change of a figure is good to know. */
const MIN_WARNING = 0.1

const MAX_FIGURES = 2

/** Finds quarterly figures that differ from those of the recorded day before, by stock and quarter. */
export const checkFigures = (file: string): ListCheck => {
  const last = new Map<string, { readonly record: Row; readonly day: Day }>()
  const found: Finding[] = []
  const compare = (record: Row, day: Day): readonly Finding[] => {
    const isin = readText(record.ISIN)
    const earlier = last.get(isin)
    last.set(isin, { record, day })
    if (earlier === undefined || earlier.record === record) return []
    const figures = RESULT_TABLES.flatMap((name) => compareFigures(record[name], earlier.record[name]))
    if (figures.length === 0) return []
    const texts = figures.map(
      ({ name, from, to }) =>
        `${name} was ${groupDigits(from)} on ${earlier.day} and is ${groupDigits(to)} on ${day}`,
    )
    const severity = figures.some(isLargeRestatement) ? 'warning' : 'info'
    return [
      {
        check: 'restated-figures',
        severity,
        symbol: readText(record.Symbol),
        day,
        file,
        detail: nameFirst(texts, MAX_FIGURES),
      },
    ]
  }
  return {
    addDay: (day, records) => {
      const restated = records.flatMap((record) => compare(record, day))
      found.push(...mergeMany(restated, records.length, 'are restated'))
    },
    finish: () => found,
  }
}

/** One finding about the day if there are many: then the provider may have changed a unit. */
const mergeMany = (findings: readonly Finding[], stocks: number, what: string): readonly Finding[] => {
  const [first] = findings
  if (first === undefined || !isMany(findings.length, stocks)) return findings
  const { symbol: name, detail, ...about } = first
  const severity = findings.some((finding) => finding.severity === 'warning') ? 'warning' : 'info'
  const symbols = nameFirst(findings.map(({ symbol = '' }) => symbol))
  return [
    {
      ...about,
      severity,
      detail: `${formatPart(findings.length, stocks, 'stock')} ${what}, ${symbols}; ${name}: ${detail}`,
    },
  ]
}

const isLargeRestatement = ({ from, to }: RestatedFigure): boolean =>
  Math.abs(Number(to) - Number(from)) > MIN_WARNING * Math.abs(Number(from))

/** Sessions in a row without a change that are reported of a list that changed on each one before. */
const MIN_UNCHANGED = 3
/** Changes before that show that a list normally changes. */
const MIN_CHANGES = 5

/** What a list was on a session; texts of the same content are equal. */
export interface ContentDay {
  readonly day: Day
  readonly content: string
}

/**
 * Finds out whether a list has stopped to change. A list may stand still three times as long as it did
 * before, and each list for 3 sessions, so that lists such as price bands and surveillance are not reported.
 *
 * @param sessions oldest first; other days are left out, because nothing changes on them
 */
export const findUnchanged = (file: string, sessions: readonly ContentDay[]): readonly Finding[] => {
  const [last] = sessions.slice(-1)
  const from = sessions.findLastIndex(({ content }) => content !== last?.content) + 1
  const unchanged = sessions.length - from - 1
  const { changes, longest } = countChanges(sessions.slice(0, from + 1))
  const limit = MIN_UNCHANGED * (longest + 1)
  const since = sessions[from]?.day
  if (unchanged < limit || changes < MIN_CHANGES || since === undefined) return []
  const before = `it changed on ${changes} of the ${from} recorded sessions since ${sessions[0]?.day}`
  const detail = `the same on ${unchanged + 1} recorded sessions, from ${since} to ${last?.day}; before that, ${before}`
  return [{ check: 'unchanged-lists', severity: 'warning', day: since, file, detail }]
}

/** The sessions that changed the list, and the most in a row that did not. */
const countChanges = (
  sessions: readonly ContentDay[],
): { readonly changes: number; readonly longest: number } => {
  let [changes, longest, unchanged] = [0, 0, 0]
  sessions.slice(1).forEach(({ content }, index) => {
    const isChanged = content !== sessions[index]?.content
    unchanged = isChanged ? 0 : unchanged + 1
    longest = Math.max(longest, unchanged)
    if (isChanged) changes++
  })
  return { changes, longest }
}
