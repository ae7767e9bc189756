/**
 * The one reader of what a corporate action is and says. Its patterns are read by JavaScript and by DuckDB,
 * so they use what both have: no look-ahead.
 */

/** The same action with the same terms within this many days is one that moved. */
export const MOVED_DAYS = 31

/** The list has an action until this many months after its day. */
export const LISTED_MONTHS = 24

export type ActionKind = (typeof KINDS)[number]['kind']

interface KindFacts {
  readonly kind: string
  readonly sign: string
  /** The factors by which it may divide earlier prices, the usual reading first: see `PARTS`. */
  readonly factors?: readonly (readonly [dividend: keyof typeof PARTS, divisor: keyof typeof PARTS])[]
  /** Which factors are possible: a consolidation raises the price, a bonus lowers it. */
  readonly range?: readonly [above: number, below: number]
  /** Terms with this word are of two actions in one text: it is unknown to which of them numbers belong. */
  readonly second?: string
  /** Whether its terms are a ratio only: numbers with `to` between them are something else. */
  readonly isRatio?: true
}

/** Of terms `a:b`; a face value that changes from b to a is one, too. */
const PARTS = {
  a: (a: number, _b: number) => a,
  b: (_a: number, b: number) => b,
  'a + b': (a: number, b: number) => a + b,
}

const NEW_FOR_OLD = [
  ['a + b', 'b'],
  ['a + b', 'a'],
] as const

/** What is given, but is no equity: preference shares and debentures. Their actions move no price. */
const NO_EQUITY =
  '\\b(?:NCRPS|RPS|CRPS|CCPS|OCPS|OCRPS|NCDS?|CCDS?|OCDS?|PREF)\\b|preference|debenture|\\bbonds?\\b'

/** What may be, or is decided at a meeting, has not happened. */
const PLAN = '\\bto consider\\b|\\bproposal\\b'
/** The type of an event whose note may name an action. */
const EVENT = '\\bboard\\b|\\begm\\b|extra-?ordinary|\\bresults?\\b'
/** Of these and of no equity it is known that they are no actions of the share. */
const NO_ACTION = `${NO_EQUITY}|${PLAN}|${EVENT}|\\bagm\\b|annual general|^\\s*$`
/** What a trust pays in percent is not a part of its face value. */
const INTEREST = '\\binterest\\b'

const SPLIT = 'spli?t|sub[ -]*di?v|face value change|change (?:in|of) face value'

/** The first sign that is found decides: in the type of the action, or else in its note. */
const KINDS = [
  {
    kind: 'consolidation',
    sign: 'consolidat|reverse[ -]*(?:stock[ -]*)?split',
    factors: [
      ['b', 'a'],
      ['a', 'b'],
    ],
    range: [0, 1],
    second: 'bonus',
  },
  {
    kind: 'split',
    sign: SPLIT,
    second: 'bonus',
    // New face value to old; some are written the other way round.
    factors: [
      ['b', 'a'],
      ['a', 'b'],
    ],
  },
  // In India new shares to held ones. Elsewhere the order is the opposite, or all shares to held ones.
  {
    kind: 'bonus',
    sign: 'bonus',
    factors: [...NEW_FOR_OLD, ['a', 'b']],
    range: [1, 1e9],
    second: `${SPLIT}|consolidat`,
    isRatio: true,
  },
  { kind: 'rights', sign: '\\bright', factors: NEW_FOR_OLD, range: [1, 1e9], isRatio: true },
  // Most schemes of arrangement are demergers.
  { kind: 'demerger', sign: 'de-?merge|spin|hive[ -]*off|arrangement' },
  {
    kind: 'capital reduction',
    sign: 'reduction',
    factors: [
      ['b', 'a'],
      ['a', 'b'],
    ],
    range: [0, 1],
  },
  { kind: 'merger', sign: 'merge|amalgamation' },
  { kind: 'buyback', sign: 'buy[ -]*back' },
  // A trust pays interest and returns capital: for whoever holds its units that is money, like a dividend.
  {
    kind: 'dividend',
    sign: `dividend|div\\b|distribution|${INTEREST}|(?:return|repayment|payment) of (?:capital|debt)|capital repayment`,
  },
] as const satisfies readonly KindFacts[]

/** A factor beyond is an error. */
const ANY_FACTOR = [0, 1e9] as const
const READ_KINDS: readonly KindFacts[] = KINDS

const PRINTED_NUMBER = '([0-9][0-9,]*(?:\\.[0-9]+)?|\\.[0-9]+)'
const RUPEES = '(?:\\b(?:rs|re|inr)\\.?|₹)[ ]*'
/** The face value in a text about a dividend. */
const FACE_VALUE = `(?:shares? of|(?:face value|par value|f\\.?v\\.?)(?: of)?|\\bper|\\bon)[ :-]*${RUPEES}[0-9.,]+`

/** What terms look like, in the order in which they are tried. */
const TERMS = {
  /** `From Rs 10/- Per Share To Rs 2/- Per Share`. */
  change: `(?:${RUPEES})?${PRINTED_NUMBER}[^0-9]{0,60}?\\bto\\b[ ]*(?:${RUPEES})?${PRINTED_NUMBER}`,
  /** `1:10`, `1 for 10`. */
  ratio: `${PRINTED_NUMBER}[ ]*(?::|for(?: every)?)[ ]*${PRINTED_NUMBER}`,
  percent: `${PRINTED_NUMBER}[ ]*(?:%|per ?cent)`,
  /** The dividend in a text about another action, too. */
  beside: `dividend[^0-9:/&;,]{0,16}?${RUPEES}${PRINTED_NUMBER}`,
  paise: `${PRINTED_NUMBER}[ ]*(?:paise|ps?\\b)`,
  rupees: `${RUPEES}${PRINTED_NUMBER}`,
  /** The number of a year, such as FY26. */
  label: '[A-Za-z][0-9]',
  /** The only number of the text: `12/-`, `2.5`. */
  only: `^[^0-9.:%$]*\\.??[^0-9.:%$]*?${PRINTED_NUMBER}[^0-9:%]*$`,
}

const RATIOS = `${TERMS.change}|${TERMS.ratio}`
/** In a text about another action: a dividend, too. */
const BESIDE = 'dividend'
/** Rupees in a text about these are no price of theirs. */
const WITHOUT_PRICE: readonly ActionKind[] = ['bonus', 'split', 'consolidation']

const has = (text: string, pattern: string): boolean => find(pattern, text).length > 0
const find = (pattern: string, text: string): readonly string[] => new RegExp(pattern, 'i').exec(text) ?? []
const readTermNumber = (text = ''): number => (text === '' ? Number.NaN : Number(text.replaceAll(',', '')))

/** What a corporate action is and says. */
export interface ActionTerms {
  readonly kind: ActionKind
  /** By which it may divide earlier prices, the usual reading first; empty if that is not known. */
  readonly factors: readonly number[]
  /** A dividend, rupees a share. */
  readonly amount?: number | undefined
  /** A dividend in percent of the face value. */
  readonly percent?: number | undefined
  /** A dividend in the same text, rupees a share; null if that is not known. */
  readonly beside?: number | null
  /** Whether its terms say what its kind needs. */
  readonly isReadable: boolean
}

/** Reads the kind and the terms of an action; undefined for what is no action of the share. */
export const readTerms = (type: string, note: string): ActionTerms | undefined => {
  const all = `${type} ${note}`
  if (has(all, `${NO_EQUITY}|${PLAN}`)) return undefined
  const findKind = (text: string) => READ_KINDS.find(({ sign }) => has(text, sign))
  const own = findKind(type) ?? (has(type, EVENT) ? undefined : findKind(note))
  const text = has(note, '[0-9]') ? note : type
  // A ratio is not that of the dividend.
  const facts = own?.kind === 'dividend' && has(text, RATIOS) ? findKind(all) : own
  if (facts === undefined) return undefined
  const kind = facts.kind as ActionKind
  const factors = readFactors(facts, text)
  if (kind === 'dividend') {
    const dividend = readDividend(text, has(all, INTEREST))
    return { kind, factors, ...dividend, isReadable: Object.keys(dividend).length > 0 }
  }
  // The price follows from its terms, except that of a rights issue, which is unknown.
  const isReadable = facts.factors === undefined || kind === 'rights' || factors.length > 0
  if (!has(all, BESIDE)) return { kind, factors, isReadable }
  const beside = readBeside(kind, all) ?? null
  return { kind, factors, beside, isReadable: isReadable && beside !== null }
}

/** Whether nobody knows what an action is: neither one of the share nor an event such as a meeting. */
export const isUnknownAction = (type: string, note: string): boolean =>
  readTerms(type, note) === undefined && !has(`${type} ${note}`.trim(), NO_ACTION)

const readFactors = (
  { factors = [], range: [above, below] = ANY_FACTOR, second, isRatio }: KindFacts,
  note: string,
) => {
  if (second !== undefined && has(note, second)) return []
  const [, from, to] = isRatio ? [] : find(TERMS.change, note)
  const [, one, other] = find(TERMS.ratio, note)
  const [a, b] =
    from === undefined
      ? [readTermNumber(one), readTermNumber(other)]
      : [readTermNumber(to), readTermNumber(from)]
  return (from === undefined ? factors : factors.slice(0, 1))
    .map(([dividend, divisor]) => PARTS[dividend](a, b) / PARTS[divisor](a, b))
    .filter((factor) => factor > above && factor < below && factor !== 1)
}

const readDividend = (note: string, isInterest: boolean): Pick<ActionTerms, 'amount' | 'percent'> => {
  const amount = readAmount(note)
  const percent = isInterest ? Number.NaN : readTermNumber(find(TERMS.percent, note)[1])
  return amount === undefined ? (percent >= 0 ? { percent } : {}) : { amount }
}

/** The rupees of a dividend in a text about another action, which may have a price of its own. */
const readBeside = (kind: ActionKind, all: string): number | undefined => {
  const text = all.replace(new RegExp(FACE_VALUE, 'gi'), '').replace(new RegExp(TERMS.change, 'gi'), '')
  const read = (pattern: string): readonly number[] =>
    [...text.matchAll(new RegExp(pattern, 'gi'))].map(([, amount]) => readTermNumber(amount))
  const named = read(TERMS.beside)
  const amounts = named.length > 0 || !WITHOUT_PRICE.includes(kind) ? named : read(TERMS.rupees)
  return amounts.length > 0 ? amounts.reduce((sum, amount) => sum + amount, 0) : undefined
}

/**
 * Rupees a share; several are summed, such as an interim and a special dividend, unless one is the sum of the
 * others.
 */
export const readAmount = (note: string): number | undefined => {
  if (has(note, RATIOS)) return undefined
  const text = note.replace(new RegExp(FACE_VALUE, 'gi'), '')
  const paise = readTermNumber(find(TERMS.paise, text)[1]) / 100
  const rupees = [...text.matchAll(new RegExp(TERMS.rupees, 'gi'))].map(([, amount]) =>
    readTermNumber(amount),
  )
  const sum = rupees.reduce((all, amount) => all + amount, 0)
  const total = 2 * Math.max(...rupees) === sum && rupees.length > 2 ? sum / 2 : sum
  if (rupees.length > 0) return total + (paise || 0)
  const only = has(text, TERMS.label) ? Number.NaN : readTermNumber(find(TERMS.only, text)[1])
  return [paise, only].find((amount) => amount >= 0)
}

const matches = (text: string, pattern: string): string => `regexp_matches(${text}, '${pattern}', 'i')`
const extract = (text: string, pattern: string, group = 1): string =>
  castNumber(`regexp_extract(${text}, '${pattern}', ${group}, 'i')`)
const castNumber = (text: string): string => `TRY_CAST(replace(${text}, ',', '') AS DOUBLE)`

/**
 * What the reason for which a history was fetched again for an action says, if that changed no prices; and if
 * all stored ones were of the time before it.
 */
export const [SAME_PRICES, AS_BEFORE] = [', with the same prices', ' as before it'] as const

const joinSql = (type: string, note: string): string => `${type} || ' ' || ${note}`
const kindSql = (text: string): string =>
  KINDS.map(({ kind, sign }) => `WHEN ${matches(text, sign)} THEN '${kind}'`).join(' ')

/** Interim, final and special, as lists shorten them. `Fin` alone may be that of a financial year. */
const DIVIDEND_TYPES = ['INT(?:ERIM|R?M)?', 'F(?:INA?L|NL|IN[^A-Z0-9]*DIV)', 'SP(?:ECIA|E?C)?L?'].map(
  (word) => `(?:\\b|_)${word}(?:\\b|_|DIV)`,
)

/**
 * What tells two dividends of one amount apart, in SQL over the columns `action` and `terms`: their types,
 * and what else the action says, such as the capital that a trust returns.
 */
export const DIVIDEND_TYPE = `concat(${DIVIDEND_TYPES.map((word, place) => `if(regexp_matches(concat_ws(' ', action, terms), '${word}', 'i'), ${place}, NULL)`).join(', ')}, ' ',
  regexp_replace(upper(action), '${DIVIDEND_TYPES.join('|')}|DIV(?:IDENDS?)?|[^A-Z]', '', 'g'))`

/** The same reading in SQL, of texts that are not NULL. */
export const termsSql = {
  /** Where the terms stand. */
  text: (type: string, note: string): string => `if(${matches(note, '[0-9]')}, ${note}, ${type})`,
  kind: (type: string, note: string): string => {
    const all = joinSql(type, note)
    const own = `CASE ${kindSql(type)} WHEN ${matches(type, EVENT)} THEN NULL ${kindSql(note)} END`
    return `CASE WHEN ${matches(all, `${NO_EQUITY}|${PLAN}`)} THEN NULL
      WHEN ${own} = 'dividend' AND ${matches(termsSql.text(type, note), RATIOS)} THEN CASE ${kindSql(all)} END ELSE ${own} END`
  },
  /** Whether a text about an action of another kind names a dividend, too. */
  isBeside: (kind: string, type: string, note: string): string =>
    `(${kind} <> 'dividend' AND ${matches(joinSql(type, note), BESIDE)})`,
  /** Rupees of that dividend. */
  beside: (kind: string, type: string, note: string): string => {
    const text = `regexp_replace(regexp_replace(${joinSql(type, note)}, '${FACE_VALUE}', '', 'gi'), '${TERMS.change}', '', 'gi')`
    const read = (pattern: string) =>
      `list_sum(list_transform(regexp_extract_all(${text}, '${pattern}', 1, 'i'), lambda x: ${castNumber('x')}))`
    const kinds = WITHOUT_PRICE.map((one) => `'${one}'`).join(', ')
    return `coalesce(${read(TERMS.beside)}, if(${kind} IN (${kinds}), ${read(TERMS.rupees)}, NULL))`
  },
  /** The factors of a kind, as a list. */
  factors: (kind: string, note: string): string => {
    const list = ({ factors = [], range: [above, below] = ANY_FACTOR }: KindFacts, isChange: boolean) => {
      const [a, b] = isChange
        ? [extract(note, TERMS.change, 2), extract(note, TERMS.change)]
        : [extract(note, TERMS.ratio), extract(note, TERMS.ratio, 2)]
      const values = (isChange ? factors.slice(0, 1) : factors).map((pair) =>
        pair.map((part) => `(${part.replace('a', () => a).replace(/b$/, () => b)})`).join(' / '),
      )
      return `list_filter([${values.join(', ')}], lambda f: f > ${above} AND f < ${below} AND f <> 1)`
    }
    const readRatio = (facts: KindFacts) =>
      facts.isRatio
        ? list(facts, false)
        : `if(${matches(note, TERMS.change)}, ${list(facts, true)}, ${list(facts, false)})`
    const cases = READ_KINDS.filter(({ factors }) => factors !== undefined).map((facts) => {
      const read = readRatio(facts)
      return `WHEN '${facts.kind}' THEN ${facts.second ? `if(${matches(note, facts.second)}, [], ${read})` : read}`
    })
    return `CASE ${kind} ${cases.join(' ')} ELSE [] END`
  },
  amount: (note: string): string => {
    const text = `regexp_replace(${note}, '${FACE_VALUE}', '', 'gi')`
    const rupees = `regexp_extract_all(${text}, '${TERMS.rupees}', 1, 'i')`
    const all = `list_transform(${rupees}, lambda x: ${castNumber('x')})`
    const sum = `(list_sum(${all}) / if(len(${all}) > 2 AND 2 * list_max(${all}) = list_sum(${all}), 2, 1))`
    const paise = `${extract(text, TERMS.paise)} / 100`
    return `CASE WHEN ${matches(note, RATIOS)} THEN NULL
      WHEN len(${rupees}) > 0 THEN ${sum} + coalesce(${paise}, 0)
      ELSE coalesce(${paise}, if(${matches(text, TERMS.label)}, NULL, ${extract(text, TERMS.only)})) END`
  },
  /** In percent of the face value. */
  percent: (note: string): string => extract(note, TERMS.percent),
  isInterest: (type: string, note: string): string => matches(joinSql(type, note), INTEREST),
}
