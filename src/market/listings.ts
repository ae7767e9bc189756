import { map, type Observable, of } from 'rxjs'
import { BadAnswerError } from '../model/errors.js'
import { formatPart, joinWords } from '../model/format.js'
import { groupBy } from '../model/map.js'
import { isRow, type Row, readText } from '../model/row.js'
import {
  isSameCompany,
  isSuccessor,
  type Stock,
  toFormerName,
  toStockItems,
  toStocks,
} from '../model/stock.js'
import type { Stored } from '../model/stored.js'
import type { Day } from '../model/trading-day.js'
import { catchItemFailure } from '../operators/catch-item-failure.js'
import { type RefusalCode, thresholds } from './refusal-policy.js'

/** The file of the master list that every other script uses. */
export const MASTER_MAP = 'master_isin_map.json'
/** The file of the master list as answered, with its figures. */
export const MASTER_FIGURES = 'master_data_response.json'

/** The records of a stored list; none if it is missing or unreadable. */
export const readStoredRows = (stored: Stored, file: string): Observable<readonly Row[]> =>
  stored.document(file).pipe(
    map((rows) => (Array.isArray(rows) ? rows : []).filter(isRow)),
    catchItemFailure(() => of([])),
  )

export const readStoredStocks = (stored: Stored): Observable<readonly Stock[]> =>
  readStoredRows(stored, MASTER_MAP).pipe(
    map((rows) =>
      toStocks(
        rows.map(({ Symbol: Sym, ISIN, Name, Sid, FnoFlag }) => ({
          Sym,
          Isin: ISIN,
          DispSym: Name,
          Sid,
          FnoFlag,
        })),
      ),
    ),
  )

interface MasterEntry {
  readonly stock: Omit<Stock, 'FnoFlag'>
  readonly fileName: string
}

/** A stock as it was listed last, with the last day on which it was. */
export interface FormerEntry extends MasterEntry {
  readonly until: Day
}

interface Pair {
  readonly before: MasterEntry
  readonly now: MasterEntry
}

/**
 * What a new master list means for what is stored. `moves`: files whose name belongs to another stock now,
 * and the name under which they stay; a stock that is back gets its own again. `left`: the stocks that are
 * not listed any more as they were. `former`: those that left earlier lists, whose files are still there.
 */
export const planListings = (
  before: readonly Stock[],
  now: readonly Stock[],
  former: readonly FormerEntry[],
) => {
  const present = toListings(now)
  const matches = matchListings(toListings(before), present)
  const same = new Set(matches.same.map((pair) => pair.before))
  // It may have another ISIN than when it lost them.
  const findLost = (now: MasterEntry) =>
    former.findLast(({ fileName, stock }) => fileName === now.fileName && isSameCompany(stock, now.stock)) ??
    now
  return {
    left: matches.earlier.filter((entry) => !same.has(entry)),
    moves: findTaken(former, present, matches).flatMap((pair) => [
      [pair.before.fileName, toFormerName(pair.before)] as const,
      [toFormerName(findLost(pair.now)), pair.now.fileName] as const,
    ]),
  }
}

type Matches = ReturnType<typeof matchListings>

/** The stocks whose files have the name that those of another stock had. */
const findTaken = (
  former: readonly FormerEntry[],
  present: readonly MasterEntry[],
  { earlier, same, renamed, reissued }: Matches,
): readonly Pair[] => {
  const owners = new Map([...former, ...earlier].map((listing) => [listing.fileName, listing]))
  const origins = new Map([...same, ...renamed, ...reissued].map(({ before, now }) => [now, before]))
  const isOwner = (before: MasterEntry, now: MasterEntry) => {
    const origin = origins.get(now)
    if (before === origin || earlier.includes(before)) return before === origin
    // A stock that is back, after days without it.
    return (
      before.stock.ISIN === now.stock.ISIN || (origin === undefined && isSameCompany(before.stock, now.stock))
    )
  }
  return present.flatMap((now) => {
    const before = owners.get(now.fileName)
    return before === undefined || isOwner(before, now) ? [] : [{ before, now }]
  })
}

/**
 * How a new master list affects stored files and records, one sentence per kind of change: stocks with
 * another symbol or ISIN, files whose name changes because several stocks share a symbol, stocks that are no
 * longer listed. Independent of the order of both lists.
 */
export const listingWarnings = (
  before: readonly Stock[],
  now: readonly Stock[],
  former: readonly FormerEntry[] = [],
): readonly string[] => {
  const present = toListings(now)
  const matches = matchListings(toListings(before), present)
  return [
    ...formatSentence(
      'renamed',
      matches.renamed.map(({ before, now }) => `${formatLabel(before)} is now ${formatLabel(now)}`),
      'files under the old symbol stay as they are; the new symbol starts with new files',
    ),
    ...formatSentence(
      'another ISIN',
      matches.reissued.map(
        ({ before, now }) => `${now.stock.Symbol} has ${now.stock.ISIN} instead of ${before.stock.ISIN}`,
      ),
      'their files continue under the symbol',
    ),
    ...formatSentence(
      'file names',
      describeFileChanges(former, present, matches),
      'files under earlier names stay as they are',
    ),
    ...formatSentence(
      'no longer listed',
      matches.gone.map(({ stock, fileName }) =>
        fileName === stock.Symbol
          ? formatName({ stock, fileName })
          : `${stock.Symbol} (${stock.ISIN}, files ${fileName})`,
      ),
      'their own files stay; their records are removed from files over all stocks',
    ),
  ]
}

const toListings = (stocks: readonly Stock[]): readonly MasterEntry[] =>
  toStockItems(stocks)
    .map(({ value: stock, fileName }) => ({ stock, fileName }))
    .sort((one, other) => (getKey(one) < getKey(other) ? -1 : 1))

const getKey = ({ stock }: MasterEntry): string => `${stock.Symbol}\n${stock.ISIN}`

/**
 * How the stocks of the earlier list match those of the current one: by symbol and ISIN, else by ISIN, else
 * by symbol or by security, if both are one company.
 */
const matchListings = (earlier: readonly MasterEntry[], present: readonly MasterEntry[]) => {
  const [gone, added] = [new Set(earlier), new Set(present)]
  /** Takes out the stocks of both lists with the same key, if exactly one stock of each list has it. */
  const takePairs = (
    of: (listing: MasterEntry) => string,
    isOne: typeof isSuccessor = () => true,
  ): readonly Pair[] => {
    const are = groupBy(added, of)
    const pairs = [...groupBy(gone, of)].flatMap(([key, [before, otherBefore]]): readonly Pair[] => {
      const [now, otherNow] = are.get(key) ?? []
      const isPair = before && now && !otherBefore && !otherNow && isOne(before.stock, now.stock)
      return isPair ? [{ before, now }] : []
    })
    for (const { before, now } of pairs) {
      gone.delete(before)
      added.delete(now)
    }
    return pairs
  }
  const same = takePairs(getKey)
  const renamed = takePairs(({ stock }) => stock.ISIN)
  const reissued = takePairs(({ stock }) => stock.Symbol, isSuccessor)
  const both = takePairs(({ stock }) => stock.Sid, isSuccessor)
  return { earlier, same, renamed: [...renamed, ...both], reissued, gone: [...gone] }
}

/** Stocks that share a symbol, whose file name changed, or whose file name belonged to another stock. */
const describeFileChanges = (
  former: readonly FormerEntry[],
  present: readonly MasterEntry[],
  matches: Matches,
): readonly string[] => {
  const sharing = groupBy(present, ({ stock }) => stock.Symbol)
  const matched = new Map([...matches.same, ...matches.reissued].map(({ before, now }) => [now, before]))
  const taken = new Map(findTaken(former, present, matches).map(({ before, now }) => [now, before]))
  return present.flatMap((now) => {
    const [before, owner] = [matched.get(now), taken.get(now)]
    const isMoved = before !== undefined && before.fileName !== now.fileName
    if (!isMoved && !owner && sharing.get(now.stock.Symbol)?.length === 1) return []
    const was = isMoved ? `, was ${before.fileName}` : ''
    const of = owner
      ? `, which belonged to ${formatName(owner)}, whose files are now ${toFormerName(owner)}`
      : ''
    return [`${formatName(now)} is ${now.fileName}${was}${of}`]
  })
}

const formatName = ({ stock }: MasterEntry): string => `${stock.Symbol} (${stock.ISIN})`
/** With the name of its files, if that is not its symbol. */
const formatLabel = ({ stock, fileName }: MasterEntry): string =>
  fileName === stock.Symbol ? stock.Symbol : `${stock.Symbol} (files ${fileName})`
const MAX_CHANGES_NAMED = 10

/** One sentence about several entries; it names the first ten. */
export const formatSentence = (
  kind: string,
  entries: readonly string[],
  consequence: string,
): readonly string[] => {
  if (entries.length === 0) return []
  const more = entries.length > MAX_CHANGES_NAMED ? `, and ${entries.length - MAX_CHANGES_NAMED} more` : ''
  return [`${kind}: ${entries.slice(0, MAX_CHANGES_NAMED).join(', ')}${more}; ${consequence}`]
}

/**
 * The names that a list has for one of its entries, such as symbol, ISIN and Sid. An empty one is unknown and
 * is not compared.
 */
export type Identifiers = Readonly<Record<string, string>>

/**
 * An entry of the earlier list, and the entry of the current list that agrees with it in the most
 * identifiers.
 */
interface ListingMatch {
  readonly before: Identifiers
  readonly now: Identifiers
}

/** Compares the identifiers of two lists, independent of their order. */
export const compareIdentifiers = (earlier: readonly Identifiers[], present: readonly Identifiers[]) => {
  const keyed = present.flatMap((entry) => listIdentifiers(entry).map((key) => ({ key, entry })))
  const index = groupBy(keyed, ({ key }) => key)
  const matches = earlier
    .filter((before) => listIdentifiers(before).length > 0)
    .map((before) => ({ before, now: findBestMatch(before, index) }))
  const pairs = matches.flatMap(({ before, now }) => (now === undefined ? [] : [{ before, now }]))
  return {
    /** With at least one identifier of the earlier list. */
    pairs,
    changed: pairs.filter((pair) => findChangedIdentifiers(pair).length > 0),
    /** Earlier entries of which no identifier is listed any more. */
    gone: matches.flatMap(({ before, now }) => (now === undefined ? [before] : [])),
  }
}

/**
 * Why a master list must not replace the earlier one: too many stocks left at once, have other identifiers at
 * once, or exchanged them.
 */
export const findIdentifierProblems = ({
  pairs,
  changed,
  gone,
}: ReturnType<typeof compareIdentifiers>): ReadonlyMap<RefusalCode, string> => {
  const problems = new Map<RefusalCode, string>()
  const { left, identifiers } = thresholds
  const all = pairs.length + gone.length
  if (gone.length > left.most && gone.length > all * left.share)
    problems.set('shrink', `${formatPart(gone.length, all, 'stock')} are no longer listed`)
  const names = Object.keys(changed[0]?.before ?? {})
  if (changed.length > identifiers.most && changed.length > pairs.length * identifiers.share)
    problems.set(
      'identity',
      `${formatPart(changed.length, pairs.length, 'stock')} have another ${joinWords(names, 'or')} at once, ${describeExamples(changed)}`,
    )
  const exchanged = changed.filter((one) => changed.some((other) => haveExchanged(one, other)))
  if (exchanged.length > 0 && !problems.has('identity'))
    problems.set(
      'identity',
      `${exchanged.length} listed stocks exchanged an identifier, ${describeExamples(exchanged)}`,
    )
  return problems
}

/**
 * Two listed stocks that change places are an error of the list: a renamed company takes a value that no
 * listed one gets rid of for its own.
 */
const haveExchanged = (one: ListingMatch, other: ListingMatch): boolean =>
  findChangedIdentifiers(one).some(
    (name) => one.now[name] === other.before[name] && one.before[name] === other.now[name],
  )

const listIdentifiers = (entry: Identifiers): readonly string[] =>
  Object.entries(entry).flatMap(([name, value]) => (value === '' ? [] : [`${name}\n${value}`]))

const findBestMatch = (
  before: Identifiers,
  index: ReadonlyMap<string, readonly { readonly entry: Identifiers }[]>,
): Identifiers | undefined => {
  const counts = new Map<Identifiers, number>()
  for (const key of listIdentifiers(before))
    for (const { entry } of index.get(key) ?? []) counts.set(entry, (counts.get(entry) ?? 0) + 1)
  let best: Identifiers | undefined
  for (const [entry, count] of counts) if (best === undefined || count > (counts.get(best) ?? 0)) best = entry
  return best
}

const findChangedIdentifiers = ({ before, now }: ListingMatch): readonly string[] =>
  Object.keys(before).filter((name) => before[name] !== now[name] && before[name] !== '' && now[name] !== '')

const MAX_EXAMPLES = 3

const describeExamples = (changed: readonly ListingMatch[]): string => {
  const examples = changed.slice(0, MAX_EXAMPLES).map((pair) => {
    const [label = ''] = Object.values(pair.before)
    return findChangedIdentifiers(pair)
      .map((name) => `${label} has ${name} ${pair.now[name]} instead of ${pair.before[name]}`)
      .join(' and ')
  })
  return `for example ${examples.join(', ')}`
}

/**
 * Returns the records if none names another ISIN; records without an ISIN pass, and those with an earlier
 * ISIN of the stock. A wrong ISIN means that the whole answer belongs to another stock, such as a late answer
 * on a reused connection.
 *
 * @throws BadAnswerError with the reason `other-stock`
 */
export const assertSameIsin = <R extends Row>(
  isin: string,
  rows: readonly R[],
  earlierIsins: readonly string[] = [],
): readonly R[] => {
  for (const { isin: one = isin, Isin: two = isin, ISIN: three = isin } of rows) {
    if (one === isin && two === isin && three === isin) continue
    const named = [one, two, three]
      .map(readText)
      .find((text) => text !== '' && text !== isin && !earlierIsins.includes(text))
    if (named !== undefined)
      throw new BadAnswerError('other-stock', `the answer is about another stock (${named}, not ${isin})`)
  }
  return rows
}
