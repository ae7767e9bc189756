import { groupBy } from '../../../model/map.js'
import { omitUndefined, type Row, readText } from '../../../model/row.js'
import type { Day } from '../../../model/trading-day.js'
import type { Finding, Severity } from '../finding.js'
import { isMany, type ListCheck, nameFirst } from './list-check.js'

/** What identifies a row, the first that it has, and what names it. */
const KEYS = ['ISIN', 'Sid', 'Symbol']
const NAMES = ['Symbol', 'Sym']

interface Member {
  readonly key: string
  readonly name: string
}

/** A member that was not in the list for days. */
interface Absence {
  readonly name: string
  readonly last: Day
  readonly left: Day
  readonly back: Day
}

/** Finds stocks or indices that left a list and came back. */
export const checkMembers = (file: string, severity: Severity): ListCheck => {
  const lastSeen = new Map<string, number>()
  const days: Day[] = []
  const absences: Absence[] = []
  let largest = 0

  return {
    addDay: (day, records) => {
      const index = days.push(day) - 1
      largest = Math.max(largest, records.length)
      for (const { key, name } of records.map(readMember)) {
        const last = lastSeen.get(key) ?? index
        if (last < index - 1) absences.push({ name, last: days[last] as Day, left: days[last + 1] as Day, back: day })
        lastSeen.set(key, index)
      }
    },
    finish: () => [...groupBy(absences, ({ left, back }) => `${left} ${back}`).values()].flatMap((own) => describe(own, largest)),
  }

  function describe(own: readonly Absence[], total: number): readonly Finding[] {
    const create = ({ last, left, back }: Absence, symbol: string | undefined, who: string): Finding =>
      omitUndefined({
        ...{ check: 'blinking-members' as const, severity, symbol, day: back, file },
        detail: `${who} last in the list on ${last}, not from ${left}, and again from ${back}`,
      })
    const [first] = own
    if (first !== undefined && isMany(own.length, total))
      return [create(first, undefined, `${own.length} members, ${nameFirst(own.map(({ name }) => name))}, were`)]
    return own.map((absence) => create(absence, absence.name, 'it was'))
  }
}

const readMember = (record: Row): Member => {
  const firstOf = (names: readonly string[]): string => names.map((name) => readText(record[name])).find((text) => text !== '') ?? ''
  return { key: firstOf(KEYS), name: firstOf(NAMES) }
}
