import { createHash } from 'node:crypto'
import { z } from 'zod'
import { NothingAnsweredError } from './errors.js'
import { groupBy } from './map.js'
import type { Item } from './outcome.js'
import { type Row, readText } from './row.js'
import { type BuiltRowOf, column, row, textColumn } from './row-schema.js'

const ownFields = () => ({
  Symbol: textColumn('trading symbol', 'symbol'),
  ISIN: textColumn('ISIN of the stock', 'isin'),
})

/** An element of `master_isin_map.json`: exactly these fields, in this order. */
export const Stock = row({
  ...ownFields(),
  Name: textColumn('name of the company', 'name'),
  /** Always text; requests for candles and indicators use it. */
  Sid: textColumn("the provider's id of the security", 'sid'),
  FnoFlag: column(z.int(), { about: '1 where futures and options are traded on it', sql: 'fno' }),
})
export interface Stock extends BuiltRowOf<typeof Stock> {}

/**
 * The stocks of the master list's rows, in their order. Rows without symbol or ISIN, and duplicates, are
 * skipped.
 */
export const toStocks = (rows: readonly Row[]): readonly Stock[] => {
  const seen = new Set<string>()
  return rows.flatMap((row) => {
    const stock = toStock(row)
    const key = `${stock.Symbol}\n${stock.ISIN}`
    if (stock.Symbol === '' || stock.ISIN === '' || seen.has(key)) return []
    seen.add(key)
    return [stock]
  })
}

const toStock = (row: Row): Stock => ({
  Symbol: readText(row.Sym),
  ISIN: readText(row.Isin),
  Name: readText(row.DispSym),
  Sid: readText(row.Sid),
  FnoFlag: Number(readText(row.FnoFlag)) || 0,
})

/** The stocks as work items, each with its file name. */
export const toStockItems = (stocks: readonly Stock[]): readonly Item<Stock>[] => {
  const names = createFileNames(stocks.map((stock) => ({ key: stock.Symbol, id: stock.ISIN })))
  return stocks.map((stock, rank) => ({
    key: stock.Symbol,
    rank,
    fileName: names[rank] as string,
    value: stock,
  }))
}

/**
 * The security id of a stock, which requests for indicators and candles need. @throws NothingAnsweredError if
 * the master list has none
 */
export const requireSid = ({ Sid }: Stock): string => {
  if (Sid === '') throw new NothingAnsweredError('the master list has no Sid for this stock')
  return Sid
}

/**
 * The characters of an ISIN that name its issuer. Two shares of one issuer, such as partly paid ones, have
 * them in common, so they say nothing without the symbol.
 */
export const ISSUER_LENGTH = 7

export const haveSameIssuer = (one: string, other: string): boolean =>
  one.slice(0, ISSUER_LENGTH) === other.slice(0, ISSUER_LENGTH)

/**
 * Whether two stocks that had one symbol, one after the other, are one company. A split, a new face value or
 * a capital reduction changes the ISIN, but not its issuer; a scheme of arrangement may change the issuer,
 * but not the security. With another issuer and another security, the exchange gave the symbol away.
 */
export const isSameCompany = (
  one: Pick<Stock, 'ISIN' | 'Sid'>,
  other: Pick<Stock, 'ISIN' | 'Sid'>,
): boolean => haveSameIssuer(one.ISIN, other.ISIN) || (one.Sid !== '' && one.Sid === other.Sid)

/**
 * Whether two stocks of different days are one that has another symbol or ISIN now, or both: days without a
 * run may have had a change of each. Records of old lists may lack the id of the security.
 */
export const isSuccessor = (one: NamedSecurity, other: NamedSecurity): boolean =>
  one.Symbol === other.Symbol
    ? isSameCompany(one, other)
    : Boolean(one.Sid) && one.Sid === other.Sid && haveSameIssuer(one.ISIN, other.ISIN)

type NamedSecurity = Pick<Stock, 'Symbol' | 'ISIN' | 'Sid'>

/**
 * The check digit of ISO 6166: letters become 10 to 35, then Luhn over all digits; the last digit is doubled.
 */
export const computeCheckDigit = (body: string): number => {
  const digits = [...body].map((character) => Number.parseInt(character, 36)).join('')
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const weighted = Number(digit) * (index % 2 === 0 ? 2 : 1)
    return total + (weighted > 9 ? weighted - 9 : weighted)
  }, 0)
  return (10 - (sum % 10)) % 10
}

export const isIsin = (text: string): boolean =>
  /^[A-Z]{2}[A-Z\d]{9}\d$/.test(text) && computeCheckDigit(text.slice(0, -1)) === Number(text.at(-1))

/** The name of the files of a stock that lost its symbol, as that of a stock which shares it. */
export const toFormerName = ({
  fileName,
  stock,
}: {
  readonly fileName: string
  readonly stock: Pick<Stock, 'ISIN'>
}): string => (fileName.endsWith(`~${stock.ISIN}`) ? fileName : `${fileName}~${stock.ISIN}`)

/** The fields that every record starts with in a file over many stocks. */
export const StockRecord = row(ownFields())
export interface StockRecord extends BuiltRowOf<typeof StockRecord> {}

/**
 * A record for a file over many stocks: symbol and ISIN first, then the record as answered. `R` lists fields
 * that such records have; they are not checked.
 */
export const toStockRecord = <R extends Row = Row>(
  stock: Pick<Stock, 'Symbol' | 'ISIN'>,
  record: Row,
): R & StockRecord => {
  const own: Record<string, unknown> = { Symbol: stock.Symbol, ISIN: stock.ISIN, ...record }
  own.Symbol = stock.Symbol
  own.ISIN = stock.ISIN
  return own as R & StockRecord
}

/** An entry that needs a file name. `id` (an ISIN, a security id) distinguishes entries with the same key. */
export interface NamedEntry {
  readonly key: string
  readonly id: string
}

const MAX_LENGTH = 100
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d) *(\.|$)/i
const fold = (name: string): string => name.normalize('NFC').toLowerCase()

/**
 * A file name for each entry, in the same order. Names are safe on every common file system and unique even
 * if case is ignored.
 *
 * A safe and unique key is the name. Any other key (a path, a device name, empty, too long, shared) becomes
 * `key~id`, or `key~~hash` if that is not safe or unique either. With `mayReplace` (index names) every
 * character other than letters, digits, space, `&`, `.`, `_`, `-` is first replaced by `_`.
 */
export const createFileNames = (
  entries: readonly NamedEntry[],
  { mayReplace = false } = {},
): readonly string[] => {
  const plain = entries.map(({ key }) => toPortableName(key, mayReplace))
  const withId = entries.map(({ key, id }) =>
    /^[A-Z0-9]{1,20}$/.test(id) ? `${toSafeName(key)}~${id}` : undefined,
  )
  const plainOwners = findOwners(plain, entries)
  const idOwners = findOwners(withId, [])
  return entries.map((entry, index) => {
    const own = plainOwners.has(index) ? plain[index] : idOwners.has(index) ? withId[index] : undefined
    return own ?? `${toSafeName(entry.key)}~~${hashEntry(entry)}`
  })
}

/**
 * The indices whose form is unique. If several share a form, the one whose key is that form in capitals, if
 * there is just one.
 */
const findOwners = (
  forms: readonly (string | undefined)[],
  entries: readonly NamedEntry[],
): ReadonlySet<number> => {
  const indices = forms.flatMap((form, index) => (form === undefined ? [] : [index]))
  const owners = [...groupBy(indices, (index) => fold(forms[index] ?? '')).values()].flatMap((sharing) => {
    if (sharing.length === 1) return sharing
    const inCapitals = sharing.filter(
      (index) => entries[index]?.key === forms[index] && forms[index] === forms[index]?.toUpperCase(),
    )
    return inCapitals.length === 1 ? inCapitals : []
  })
  return new Set(owners)
}

const toPortableName = (key: string, mayReplace: boolean): string | undefined => {
  const name = toSafeName(key)
  const isKept = mayReplace ? key.length <= MAX_LENGTH : name === key
  return isKept && name !== '' && !/^[. ]|[. ]$/.test(name) ? name : undefined
}

const toSafeName = (key: string): string => {
  const name = replaceUnsafe(key)
  return DEVICE.test(name) ? `_${name}` : name
}

const replaceUnsafe = (key: string): string =>
  key
    .replace(/[^A-Za-z0-9 &._-]/g, '_')
    .slice(0, MAX_LENGTH)
    .replace(/^[. ]+|[. ]+$/g, '_')

// Hash the JSON: in plain UTF-8 all lone surrogates become the same character.
const hashEntry = ({ key, id }: NamedEntry): string =>
  createHash('sha256')
    .update(JSON.stringify([key, id]))
    .digest('hex')
    .slice(0, 16)
