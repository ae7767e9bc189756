import { isRow } from '../model/row.js'

/** Well-formed answers that are wrong. Each is given only where a check of the product must find it. */
export const WRONG_ANSWERS = [
  'cut', // a list with a quarter of its records
  'doubled', // a list with each record twice
  'divided', // prices, or the market cap, divided by 100
  'exchanged', // the answer for another stock
  'renamed', // a column of the master list has another name
] as const
export type WrongAnswer = (typeof WRONG_ANSWERS)[number]

interface AnswerParts {
  readonly endpoint: string
  readonly request: string
  readonly text: string
  /** The answer to the request before it, of another stock, to the same endpoint. */
  readonly other?: string | undefined
  readonly isFollowing: boolean
  /**
   * The symbols whose earlier candles the provider changes, or that have none: a history of theirs is
   * compared with nothing.
   */
  readonly unsteady: ReadonlySet<string>
}

const COUNTED = ['master', 'indices', 'deal']
/** Lists that are compared with the stored one. Only that of the past actions is. */
const COMPARED_ENDPOINTS = ['sec_list', 'listing_dates', 'sheet', 'corporate_actions']
/** A shorter list may have been as short the day before. */
const MIN_COMPARED_RECORDS = 5
const WITHOUT_COPIES = [
  'company_filings',
  'lodr',
  'circuit',
  'eq_band_changes',
  'master',
  'indices',
  ...COMPARED_ENDPOINTS,
]
const WITH_ISIN = ['fundamental', 'indicator', 'company_filings', 'lodr']
const CANDLES = ['ohlcv', 'index_ohlcv']
/** Fewer figures do not decide which unit a list has, and fewer candles not whose they are. */
const [MIN_FIGURES, MIN_CANDLES] = [25, 15]

/** The text of a wrong answer; undefined where nothing could tell it from a right one. */
export const falsify = (kind: WrongAnswer, parts: AnswerParts): string | undefined => {
  const { endpoint, request, text, other, isFollowing } = parts
  switch (kind) {
    case 'cut': {
      const isCompared = isFollowing && COMPARED_ENDPOINTS.includes(endpoint) && !request.includes('"GT"')
      if (!COUNTED.includes(endpoint) && !isCompared) return undefined
      return changeList(text, (list) =>
        isCompared && list.length < MIN_COMPARED_RECORDS ? list : list.slice(0, list.length / 4),
      )
    }
    case 'doubled':
      return WITHOUT_COPIES.includes(endpoint)
        ? changeList(text, (list) => list.flatMap((record) => [record, record]))
        : undefined
    case 'divided':
      return hasKnownPrices(parts) ? text.replace(PRICE_FIELDS, dividePrices) : undefined
    case 'renamed':
      return endpoint === 'master' ? text.replaceAll('"volume":', '"traded":') : undefined
    case 'exchanged': {
      const isin = /"isin":"(\w+)"/.exec(request)?.[1]
      const isOfOther =
        isin !== undefined &&
        WITH_ISIN.includes(endpoint) &&
        /"isin":"/i.test(other ?? '') &&
        !other?.includes(isin)
      return isOfOther || (CANDLES.includes(endpoint) && hasKnownPrices(parts)) ? other : undefined
    }
  }
}

const PRICE_FIELDS = /"(o|h|l|c|Mcap)":(\[[^\]]*\]|[\d.]+)/g

const dividePrices = (_: string, name: string, value: string): string =>
  `"${name}":${value.replace(/[\d.]+/g, (price) => String(Number((Number(price) / 100).toPrecision(8))))}`

/** Whether the product has stored prices with which it compares these. */
const hasKnownPrices = ({ endpoint, request, text, isFollowing, unsteady }: AnswerParts): boolean => {
  if (!isFollowing) return false
  if (endpoint === 'master') return text.split('"Mcap"').length > MIN_FIGURES
  const symbol = /"SYM":"(.*?)"/.exec(request)?.[1] ?? ''
  const candles = /"c":\[([^\]]*)\]/.exec(text)?.[1]?.split(',').length ?? 0
  // Of an update only the candle that is stored is compared.
  const isUpdate = !request.includes('"START":215634600,')
  return CANDLES.includes(endpoint) && !unsteady.has(symbol) && candles > (isUpdate ? 0 : MIN_CANDLES)
}

/**
 * Changes the records of an answer: the longest list of objects in its JSON, or the lines of a CSV below the
 * header.
 */
const changeList = (
  text: string,
  change: (list: readonly unknown[]) => readonly unknown[],
): string | undefined => {
  const [start, end] = [text.search(/[[{]/), text.search(/[\]}][^\]}]*$/) + 1]
  if (start < 0 || /^[^{[]*\n/.test(text)) {
    const [header, ...lines] = text.trimEnd().split('\n')
    return `${[header, ...change(lines)].join('\n')}\n`
  }
  const document: unknown = JSON.parse(text.slice(start, end))
  const longest = listLists(document).sort((one, other) => other.length - one.length)[0]
  if (longest === undefined) return undefined
  longest.splice(0, longest.length, ...change([...longest]))
  return text.slice(0, start) + JSON.stringify(document) + text.slice(end)
}

const listLists = (value: unknown): unknown[][] => {
  if (Array.isArray(value)) return value.length > 0 && value.every(isRow) ? [value] : []
  return isRow(value) ? Object.values(value).flatMap(listLists) : []
}
