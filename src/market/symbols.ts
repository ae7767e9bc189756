import { UsageError } from '../model/errors.js'
import { groupBy } from '../model/map.js'
import type { WrongSymbol } from '../model/report.js'
import { omitUndefined } from '../model/row.js'
import { haveSameIssuer, type Stock } from '../model/stock.js'
import { findNearMatch } from '../model/text.js'

export type NamedStock = Pick<Stock, 'Symbol' | 'ISIN' | 'Name'>

/**
 * Finds the stock that each text means: a symbol (also `NSE:TCS`, `TCS.NS` and `TCS.BO`), an ISIN, a symbol
 * or an ISIN that the stock had earlier, or the name of the company or its beginning, if that is unique. Case
 * does not matter. A symbol goes before an earlier one, and both before a name.
 */
export const resolveSymbols = (
  texts: readonly string[],
  stocks: readonly NamedStock[],
  earlier: readonly NamedStock[] = [],
) => {
  const find = createSymbolFinder(stocks, earlier)
  const suggest = createSuggester(stocks)
  const found = new Set<string>()
  const unknown = new Set<string>()
  /** Texts that mean no listed stock, or one that has another symbol now. */
  const wrong: WrongSymbol[] = []
  /** Names of companies that were not given in full, and what they were taken for. */
  const guesses: string[] = []
  for (const text of texts) {
    const { stock, by } = find(text)
    if (stock === undefined) {
      const symbol = toBareSymbol(text)
      if (!unknown.has(symbol)) wrong.push({ given: text, near: suggest(symbol) })
      unknown.add(symbol)
      continue
    }
    found.add(stock.Symbol)
    if (by === 'earlier') wrong.push({ given: text, now: stock.Symbol })
    if (by === 'beginning') guesses.push(`${text} is ${stock.Symbol} (${stock.Name})`)
  }
  // The symbols of the listed stocks, each once, and then the texts that mean none, in capitals.
  return { symbols: [...found, ...unknown], wrong, guesses }
}

export const describeWrongSymbol = ({ given, now, near = [] }: WrongSymbol): string => {
  if (now !== undefined) return `${given} is now ${now}`
  return near.length === 0 ? given : `${given} (did you mean ${near.join(' or ')}?)`
}

const MAX_SUGGESTED = 10

/** What is wrong with the first ten symbols, and how many more there are. */
export const listWrongSymbols = (wrong: readonly WrongSymbol[]): readonly string[] => [
  ...wrong.slice(0, MAX_SUGGESTED).map(describeWrongSymbol),
  ...(wrong.length > MAX_SUGGESTED ? [`and ${wrong.length - MAX_SUGGESTED} more`] : []),
]

export const createUnknownSymbolsError = (wrong: readonly WrongSymbol[]): UsageError =>
  new UsageError(
    `unknown ${wrong.length === 1 ? 'symbol' : 'symbols'}: ${listWrongSymbols(wrong).join(', ')}; known symbols are in master_isin_map.json`,
    {
      issues: wrong.map(({ given, now, near = [] }) =>
        omitUndefined({
          path: 'symbols',
          message: `unknown symbol: ${given}`,
          suggestion: now ?? near[0],
        }),
      ),
    },
  )

interface Match {
  readonly stock?: NamedStock | undefined
  readonly by?: 'identifier' | 'earlier' | 'name' | 'beginning'
}

const createSymbolFinder = (
  stocks: readonly NamedStock[],
  earlier: readonly NamedStock[],
): ((text: string) => Match) => {
  const listed = indexIdentifiers(stocks)
  const former = indexIdentifiers(earlier)
  const plain = stocks.map((stock) => [toComparableName(stock.Name), stock] as const)
  const names = groupBy(plain, ([name]) => name)
  const findReissued = ({ Symbol: symbol, ISIN }: NamedStock) => {
    const stock = listed.get(symbol.toUpperCase())
    return stock && haveSameIssuer(stock.ISIN, ISIN) ? stock : undefined
  }
  return (text) => {
    const [given, bare] = [text.toUpperCase(), toBareSymbol(text)]
    const stock = listed.get(given) ?? listed.get(bare)
    if (stock) return { stock, by: 'identifier' }
    const before = former.get(given) ?? former.get(bare)
    const present = before && (listed.get(before.ISIN) ?? findReissued(before))
    if (present) return { stock: present, by: bare === before.ISIN ? 'identifier' : 'earlier' }
    const name = toComparableName(text)
    const [named, another] = names.get(name) ?? []
    if (named) return another ? {} : { stock: named[1], by: 'name' }
    const [begun, other] = name.length < MIN_BEGINNING ? [] : plain.filter(([one]) => one.startsWith(name))
    return begun === undefined || other !== undefined ? {} : { stock: begun[1], by: 'beginning' }
  }
}

/** A symbol in capitals, without the exchange of `NSE:TCS`, `TCS.NS` or `TCS.BO`. */
const toBareSymbol = (text: string): string => text.toUpperCase().replace(/^(?:NSE|BSE):|\.(?:NS|BO)$/g, '')

/** Fewer letters are a mistyped symbol rather than a name. */
const MIN_BEGINNING = 3

/** Stocks by symbol in capitals, and by ISIN. The first one goes before others with the same symbol. */
const indexIdentifiers = (stocks: readonly NamedStock[]): ReadonlyMap<string, NamedStock> => {
  const index = new Map<string, NamedStock>()
  for (const stock of stocks)
    for (const key of [stock.Symbol.toUpperCase(), stock.ISIN.toUpperCase()])
      if (!index.has(key)) index.set(key, stock)
  return index
}

/** A name in small letters, without `Ltd` and repeated blanks. */
const toComparableName = (name: string): string =>
  name
    .trim()
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .replace(/ (?:ltd|limited)\.?$/, '')

/** Guessing helps against typing errors, not if a long list is wrong as a whole. */
const MAX_GUESSES = 10
const MAX_SUGGESTIONS = 3

/** The symbols that a text may mean: a similar one, else those of companies with the text in their name. */
const createSuggester = (stocks: readonly NamedStock[]): ((text: string) => readonly string[]) => {
  const symbols = stocks.map(({ Symbol: symbol }) => symbol)
  let left = MAX_GUESSES
  return (text) => {
    if (left-- <= 0) return []
    const near = findNearMatch(text, symbols)
    if (near !== undefined) return [near]
    const name = toComparableName(text)
    const alike =
      name.length < MIN_BEGINNING ? [] : stocks.filter(({ Name }) => toComparableName(Name).includes(name))
    return alike.slice(0, MAX_SUGGESTIONS).map(({ Symbol: symbol }) => symbol)
  }
}
