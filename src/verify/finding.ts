import type { StreamDefinition } from '../engine/define-stream.js'
import { groupBy } from '../model/map.js'
import type { Day } from '../model/trading-day.js'
import type { SymbolOptions } from '../tables/output-folder.js'

export const severities = ['error', 'warning', 'info'] as const

/** `error`: wrong data; `warning`: data to review; `info`: good to know. */
export type Severity = (typeof severities)[number]

/** All checks with what they find, in the order of the summary. */
export const CHECKS = {
  files:
    'files that are missing, shorter than the run wrote them, truncated or unreadable, or have broken texts; a deep check also finds changed content',
  'duplicate-candles': 'days that appear twice in a candle file',
  'unordered-candles': 'candles that precede older ones',
  'impossible-candles':
    'a high below the low, an open or close outside of both, a price of 0 or less, a volume that is no number of shares; prices in a row that are rounded, cut or exchanged',
  'repeated-candles':
    'the same price and volume on five sessions in a row, or the candles of a week that repeat those before',
  'shifted-series': 'series that are a day late or early, or have the values of the session before or after',
  'short-histories':
    'candles that begin long after the listing, though those of other stocks reach further back',
  'recorded-values': 'candles and results that do not fit what other lists of the same run say',
  'spliced-series': 'prices of two stocks under one symbol',
  'unadjusted-actions':
    'a split, bonus or rights issue for which prices were not adjusted, or at some days only',
  'large-moves':
    'closes more than 30 % from the previous one, without an explanation; in the last year 20 % if the stock has a price band or the move is undone',
  volumes: 'no volume, or a thousandfold one, of a stock that trades regularly',
  'missing-sessions': 'sessions that a stock lacks, though it traded on all sessions around them',
  'newest-sessions': 'stocks without the newest sessions, though they traded on all sessions before',
  'odd-days':
    'days on which fewer than half of the stocks have a candle, or many stocks have the same finding',
  'stale-symbols': 'listed stocks without a candle for more than 20 sessions',
  'price-bands':
    'closes of the newest session outside the price band, and bands that the exchange does not have',
  witness: "closes, volumes and candles of the last 31 days that the exchange's own daily files contradict",
  'duplicate-records': 'records that are in a list twice',
  'impossible-values':
    'days that do not exist, and values that cannot be, such as a holding above 100 % or news of the future',
  'stray-records': 'records of a stock that is not in the master list, or of another stock than their file',
  leftovers: 'files of stocks and indices that are no longer listed',
  'dead-columns': 'columns of a list that lost their values within the last recorded days',
  'unchanged-lists': 'lists that used to change and have been the same for sessions',
  'restated-figures': 'quarterly figures that differ from what an earlier day recorded',
  'blinking-members': 'stocks and indices that left a list and came back',
  'failing-streams': 'streams that have failed for days, or have no record for days',
} as const

export type CheckName = keyof typeof CHECKS

export const checkNames = Object.keys(CHECKS) as readonly CheckName[]

const FETCH_AGAIN = 'delete the file; the next run fetches its whole history'
const COMPARE = 'compare with the exchange, and accept what it has, too'

const OTHER_REMEDIES: Readonly<Partial<Record<CheckName, string>>> = {
  files: 'restore the files, or delete them; the next run fetches them again',
  'recorded-values':
    'compare with the exchange, and delete the file that is wrong; the next run fetches it again',
  'large-moves': COMPARE,
  volumes: COMPARE,
  'missing-sessions': `${FETCH_AGAIN}; accept sessions that the provider lacks`,
  'newest-sessions': 'run again later, the provider may be late; accept a stock that is suspended',
  'odd-days': "compare with the exchange's calendar; accept holidays on which only indices have candles",
  'stale-symbols': 'accept stocks that are suspended',
  'price-bands': COMPARE,
  witness: `compare with the exchange's page; ${FETCH_AGAIN}`,
  'duplicate-records': 'delete the file; the next run fetches the list again',
  'impossible-values': COMPARE,
  'stray-records':
    'accept lists that name more than listed stocks; delete the file of a stock that has those of another',
  leftovers: 'delete the files, or accept them to keep them',
  'dead-columns': 'compare with an answer of the provider; accept columns that it has dropped',
  'unchanged-lists': "compare with the provider's page",
  'restated-figures': 'compare with the filed results; accept restatements',
  'blinking-members': 'accept it if the list is whole again',
  'failing-streams': 'correct the reason that is given; the next run tries again',
}

/** What to do about the findings of each check. */
export const REMEDIES = Object.fromEntries(
  checkNames.map((name) => [name, OTHER_REMEDIES[name] ?? FETCH_AGAIN]),
) as Readonly<Record<CheckName, string>>

/** One thing that a check found. */
export interface Finding {
  readonly check: CheckName
  readonly severity: Severity
  /** The stock or index; absent if it is about the market or a list. */
  readonly symbol?: string
  /** The other stock, if it is about two and the candles do not show which one is wrong. */
  readonly other?: string
  /** The trading day, `YYYY-MM-DD`; the first one where there are several. */
  readonly day?: string
  /** What lasts for several days, the first of which may be others tomorrow; absent if none does. */
  readonly lasting?: string
  /** Relative to the output folder. */
  readonly file?: string
  readonly detail: string
}

/** A finding with its life. */
export interface TrackedFinding extends Finding {
  /**
   * `new`: first found in the files of this run, or, in a report (`VerifyOptions.isReport`), in no earlier
   * report; `open`: known from an earlier run; `gone`: no longer found, since this run.
   */
  readonly state: 'new' | 'open' | 'gone'
  /** The run whose files had it first, and its day; absent without a report of a run. */
  readonly run?: string
  readonly since?: Day
}

/** A finding that a person has reviewed and accepted; the wording is that of the day. */
export interface AcceptedFinding extends Finding {
  readonly state?: 'accepted'
  readonly since?: Day
  readonly accepted: Day
  readonly reason?: string
}

/** Why findings are accepted, and since when. */
export interface Acceptance {
  /** The day of the acceptance. */
  readonly on: Day
  readonly reason?: string | undefined
}

/** How many findings the settings allow, by check, `errors` or `warnings`. */
export type FindingLimits = Readonly<Record<string, number>>

/** A limit of the settings, and the findings above it. */
export interface ExceededLimit {
  readonly limit: string
  readonly allowed: number
  readonly found: number
}

/** `symbols`: only findings about these stocks. */
export interface VerifyOptions extends SymbolOptions {
  readonly streams: readonly StreamDefinition[]
  readonly exchange: string
  /** Only these checks; all if absent. */
  readonly only?: readonly CheckName[] | undefined
  /** Only findings about this day or later, and those without a day. */
  readonly since?: Day | undefined
  /** Also reads every byte of outputs and recorded days, and compares it with the digest that a run noted. */
  readonly deep?: boolean | undefined
  readonly limits: FindingLimits
  /**
   * Accepts the selected findings: later verifications report only others. Forgets those of the selection
   * that are no longer found.
   */
  readonly accept?: Acceptance | undefined
  /**
   * New is what no earlier report had, whoever else has found it. With `isSettled`, what it reports is
   * remembered as reported.
   */
  readonly isReport?: boolean | undefined
  /**
   * Asked after the checks: whether the files are still those of the run that was checked. Then its findings
   * are remembered.
   */
  readonly isSettled?: (() => Promise<boolean>) | undefined
}

/**
 * Checks that lack an input: what cannot be found, the missing input, and how to get it; `false` if it is
 * there.
 */
export type MissingInput = readonly [checks: readonly CheckName[], text: string | false]

/** How much of a year the candles of the stocks cover. */
export interface YearCoverage {
  readonly year: number
  readonly sessions: number
  /** With candles in this year or around it. */
  readonly stocks: number
  /** Candles of stocks on sessions. */
  readonly candles: number
  /** The candles, as a share of the sessions of each stock between its first candle and its last. */
  readonly share: number
}

/** The result of the verification of a folder. */
export interface Verification {
  readonly folder: string
  /** The run of the folder's report, and its "now". */
  readonly run?: string
  readonly asOf?: string
  readonly stocks: number
  readonly files: number
  readonly candles: number
  /** The market's sessions, derived from its candles. */
  readonly sessions: { readonly count: number; readonly last?: string }
  /**
   * The recorded days on which the checks of the history rest: how many can be read, and the first and the
   * last of them.
   */
  readonly history: { readonly days: number; readonly first?: Day; readonly last?: Day }
  /** The coverage by the stocks' candles, the newest year first. */
  readonly coverage: readonly YearCoverage[]
  /** What could not be checked, and why. */
  readonly notes: readonly string[]
  readonly counts: Readonly<Partial<Record<CheckName, Readonly<Record<Severity, number>>>>>
  /** Without the accepted ones: those that are new, and those that are open. */
  readonly findings: readonly TrackedFinding[]
  /** What the checks of the run before found, and those of this run do not. */
  readonly gone: readonly TrackedFinding[]
  /** Accepted findings that were found again. */
  readonly accepted: readonly AcceptedFinding[]
  /** Accepted findings that were no longer found. */
  readonly stale: readonly AcceptedFinding[]
  /** How many findings this command accepted, and how many stale ones it removed. */
  readonly changed?: { readonly added: number; readonly removed: number }
  /** The limits that new findings exceed; the command exits with 4 if there is one. */
  readonly passed: readonly ExceededLimit[]
}

/** The same about so many stocks, and this share of all, is one finding about the market. */
const MIN_MANY = 5
const MIN_MANY_SHARE = 0.05

/** So many of them are named. */
export const MAX_NAMED = 10

export const isMany = (count: number, total: number): boolean =>
  count >= MIN_MANY && count >= total * MIN_MANY_SHARE

/** More than any stock: what concerns the whole market comes first. */
const MARKET_VALUE = 1e12

/**
 * Findings in the order of checks, then of severity, then by weight: a tenfold traded value (rupees per
 * session, by symbol) weighs as much as a year before the newest session.
 */
export const sortFindings = (
  findings: readonly Finding[],
  {
    tradedValues,
    last,
  }: { readonly tradedValues: ReadonlyMap<string, number>; readonly last: Day | undefined },
): readonly Finding[] => {
  const now = Date.parse(last ?? '')
  const weigh = ({ symbol, day }: Finding): number => {
    const value = symbol === undefined ? MARKET_VALUE : (tradedValues.get(symbol) ?? 0)
    const age = (now - Date.parse(day ?? '')) / MS_OF_YEAR
    return Math.log10(1 + value) - (Number.isNaN(age) ? 0 : age)
  }
  const rank = ({ check, severity }: Finding): number =>
    checkNames.indexOf(check) * 3 + severities.indexOf(severity)
  const key = ({ symbol = '', day = '', file = '' }: Finding): string => `${symbol}\n${day}\n${file}`
  return findings
    .map((finding) => ({ finding, rank: rank(finding), weight: weigh(finding), key: key(finding) }))
    .sort(
      (one, other) =>
        one.rank - other.rank ||
        other.weight - one.weight ||
        (one.key < other.key ? -1 : one.key > other.key ? 1 : 0),
    )
    .map(({ finding }) => finding)
}

/**
 * Findings of several days with one cause, as the newest of them that tells how many there are: of one check
 * about one stock or file, or about the market in the same words.
 */
export const groupByCause = <T extends Finding>(findings: readonly T[]): readonly T[] =>
  [...groupBy(findings, toCause).values()].map((own) => {
    const [first, ...more] = own.toSorted((one, other) => ((one.day ?? '') < (other.day ?? '') ? 1 : -1))
    const since = more.at(-1)?.day
    return {
      ...first,
      detail: `${first?.detail}${since ? `, and ${more.length} more since ${since}` : ''}`,
    } as T
  })

const toCause = ({ check, severity, symbol, day, file, detail }: Finding): string =>
  JSON.stringify([
    check,
    severity,
    symbol,
    file,
    day === undefined ? detail : (symbol ?? file ?? detail.replace(/\d+/g, '')),
  ])

/** Whether one has to know of a finding: it is about the whole, or an error, or about a watched stock. */
export const isOfConcern = (
  { symbol, other = '', severity }: Finding,
  watched: ReadonlySet<string> | undefined,
): boolean =>
  severity === 'error' ||
  (severity === 'warning' &&
    (symbol === undefined || !watched?.size || watched.has(symbol) || watched.has(other)))

const MS_OF_YEAR = 365.25 * 86_400_000

export const countFindings = (
  findings: readonly Finding[],
  checks: readonly CheckName[],
): Verification['counts'] =>
  Object.fromEntries(
    checks.map((check) => {
      const own = findings.filter((finding) => finding.check === check)
      const count = (severity: Severity): number =>
        own.filter((finding) => finding.severity === severity).length
      return [check, { error: count('error'), warning: count('warning'), info: count('info') }]
    }),
  )

export const findExceededLimits = (
  findings: readonly Finding[],
  limits: FindingLimits,
): readonly ExceededLimit[] =>
  Object.entries(limits).flatMap(([limit, allowed]) => {
    const isCounted = ({ check, severity }: Finding): boolean =>
      limit === check ||
      (limit === 'errors' && severity === 'error') ||
      (limit === 'warnings' && severity === 'warning')
    const found = findings.filter(isCounted).length
    return found > allowed ? [{ limit, allowed, found }] : []
  })

export const limitNames: readonly string[] = ['errors', 'warnings', ...checkNames]
