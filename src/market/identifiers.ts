import { BadAnswerError } from '../model/errors.js'
import { getOrAdd } from '../model/map.js'
import { type Row, readText } from '../model/row.js'
import { type RefusalCode, thresholds } from './refusal-policy.js'

/** The names that a list has for one of its entries, such as symbol, ISIN and Sid. An empty one is unknown and is not compared. */
export type Identifiers = Readonly<Record<string, string>>

/** An entry of the earlier list, and the entry of the current list that agrees with it in the most identifiers. */
interface Pair {
  readonly before: Identifiers
  readonly now: Identifiers
}

/** Compares the identifiers of two lists, independent of their order. */
export const compareIdentifiers = (earlier: readonly Identifiers[], present: readonly Identifiers[]) => {
  const index = new Map<string, Identifiers[]>()
  for (const entry of present) for (const key of listKeys(entry)) getOrAdd(index, key, () => []).push(entry)
  const matches = earlier.filter((before) => listKeys(before).length > 0).map((before) => ({ before, now: findClosest(before, index) }))
  const pairs = matches.flatMap(({ before, now }) => (now === undefined ? [] : [{ before, now }]))
  return {
    /** With at least one identifier of the earlier list. */
    pairs,
    changed: pairs.filter((pair) => findDifferences(pair).length > 0),
    /** Earlier entries of which no identifier is listed any more. */
    gone: matches.flatMap(({ before, now }) => (now === undefined ? [before] : [])),
  }
}

/** Why a master list must not replace the earlier one: too many stocks left at once, have other identifiers at once, or exchanged them. */
export const findIdentifierProblems = ({
  pairs,
  changed,
  gone,
}: ReturnType<typeof compareIdentifiers>): ReadonlyMap<RefusalCode, string> => {
  const problems = new Map<RefusalCode, string>()
  const { left, identifiers } = thresholds
  const all = pairs.length + gone.length
  if (gone.length > left.most && gone.length > all * left.share)
    problems.set('shrink', `${gone.length} of ${all} stocks are no longer listed`)
  const names = Object.keys(changed[0]?.before ?? {})
  if (changed.length > identifiers.most && changed.length > pairs.length * identifiers.share)
    problems.set(
      'identity',
      `${changed.length} of ${pairs.length} stocks have another ${joinNames(names)} at once, ${describeExamples(changed)}`,
    )
  const exchanged = changed.filter((one) => changed.some((other) => haveExchanged(one, other)))
  if (exchanged.length > 0 && !problems.has('identity'))
    problems.set('identity', `${exchanged.length} listed stocks exchanged an identifier, ${describeExamples(exchanged)}`)
  return problems
}

/** Two listed stocks that change places are an error of the list: a renamed company takes a value that no listed one gets rid of for its own. */
const haveExchanged = (one: Pair, other: Pair): boolean =>
  findDifferences(one).some((name) => one.now[name] === other.before[name] && one.before[name] === other.now[name])

const listKeys = (entry: Identifiers): readonly string[] =>
  Object.entries(entry).flatMap(([name, value]) => (value === '' ? [] : [`${name}\n${value}`]))

const findClosest = (before: Identifiers, index: ReadonlyMap<string, readonly Identifiers[]>): Identifiers | undefined => {
  const counts = new Map<Identifiers, number>()
  for (const key of listKeys(before)) for (const entry of index.get(key) ?? []) counts.set(entry, (counts.get(entry) ?? 0) + 1)
  let best: Identifiers | undefined
  for (const [entry, count] of counts) if (best === undefined || count > (counts.get(best) ?? 0)) best = entry
  return best
}

const findDifferences = ({ before, now }: Pair): readonly string[] =>
  Object.keys(before).filter((name) => before[name] !== now[name] && before[name] !== '' && now[name] !== '')

const joinNames = (names: readonly string[]): string => `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`

const MAX_SHOWN = 3

const describeExamples = (changed: readonly Pair[]): string => {
  const examples = changed.slice(0, MAX_SHOWN).map((pair) => {
    const [label = ''] = Object.values(pair.before)
    return findDifferences(pair)
      .map((name) => `${label} has ${name} ${pair.now[name]} instead of ${pair.before[name]}`)
      .join(' and ')
  })
  return `for example ${examples.join(', ')}`
}

/**
 * Returns the records if none names another ISIN; records without an ISIN pass. A wrong ISIN means that the whole answer belongs to another
 * stock, such as a late answer on a reused connection.
 *
 * @throws BadAnswerError with the reason `other-stock`
 */
export const assertSameIsin = <R extends Row>(isin: string, rows: readonly R[]): readonly R[] => {
  for (const { isin: one = isin, Isin: two = isin, ISIN: three = isin } of rows) {
    if (one === isin && two === isin && three === isin) continue
    const named = [one, two, three].map(readText).find((text) => text !== '' && text !== isin)
    if (named !== undefined) throw new BadAnswerError('other-stock', `the answer is about another stock (${named}, not ${isin})`)
  }
  return rows
}
