import { groupBy } from '../../../model/map.js'
import { omitUndefined } from '../../../model/row.js'
import type { Day } from '../../../model/trading-day.js'
import type { Paths, SplitRow } from '../../../storage/history/row-facts.js'
import type { Finding, Severity } from '../finding.js'
import { isMany, type ListCheck, nameFirst, readToken } from './list-check.js'

/** What identifies a row, the first that it has, and what names it. */
const KEYS = ['ISIN', 'Sid', 'Symbol']
const NAMES = ['Symbol', 'Sym']

interface Member {
  readonly paths: Paths
  readonly parts: ReadonlyMap<number, string>
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
  const members: Member[] = []
  const lastSeen = new Map<string, number>()
  const days: Day[] = []
  const absences: Absence[] = []
  let largest = 0

  return {
    find: (row) => members.push(readMember(row)) - 1,
    change: (fact, values) => {
      const { parts, paths } = members[fact] as Member
      if (![...parts.keys()].some((place) => values.has(place))) return fact
      const now = new Map([...parts].map(([place, text]) => [place, values.get(place) ?? text]))
      return members.push(toMember(paths, now)) - 1
    },
    addDay: (day, facts) => {
      const index = days.push(day) - 1
      largest = Math.max(largest, facts.length)
      for (const fact of facts) {
        const { key, name } = members[fact] as Member
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

const readMember = ({ parts, paths }: SplitRow): Member => {
  const own = paths.flatMap((path, place) => (path !== undefined && [...KEYS, ...NAMES].includes(path) ? [place] : []))
  return toMember(paths, new Map(own.map((place) => [place, parts[place] as string])))
}

const toMember = (paths: Paths, parts: Member['parts']): Member => {
  const texts = new Map([...parts].map(([place, part]) => [paths[place] ?? '', readToken(part)]))
  const firstOf = (names: readonly string[]): string => names.map((name) => texts.get(name)).find((text) => text !== undefined) ?? ''
  return { paths, parts, key: firstOf(KEYS), name: firstOf(NAMES) }
}
