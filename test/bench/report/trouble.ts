import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mergeByKey } from './results.js'
import { markdownTable } from './table.js'

interface Counts {
  readonly lost: number
  readonly degraded: number
  readonly filesDifferent: number
  /** `null` if the run was killed at its deadline. */
  readonly code: number | null
  readonly extraRequests: number
}

/** A full run with an outage. */
export interface OutageRow extends Counts {
  readonly stocks: number
  readonly kind: string
  readonly start: string
  readonly seconds: number
  /** Wall time minus the undisturbed run and the outage. */
  readonly beyondS: number
  /** The result of the same command afterwards, if files differed. */
  readonly next?: { readonly requests: number; readonly filesDifferent: number; readonly code: number | null }
}

/** A full run with another kind of fault. */
export interface TroubleRow extends Counts {
  readonly what: string
  readonly wallS: number
}

/** The last measurements, stored in the repository. */
export interface TroubleResults {
  readonly machine: string
  readonly outages: readonly OutageRow[]
  readonly others: readonly TroubleRow[]
  /** The same of an earlier version. */
  readonly before: { readonly outages: readonly OutageRow[]; readonly others: readonly TroubleRow[] }
}

const NOTHING: TroubleResults = { machine: '', outages: [], others: [], before: { outages: [], others: [] } }

export const readTrouble = (path: string): TroubleResults =>
  existsSync(path)
    ? { ...NOTHING, ...(JSON.parse(readFileSync(path, 'utf8')) as Partial<TroubleResults>) }
    : NOTHING

export const writeTrouble = (path: string, results: TroubleResults): void =>
  writeFileSync(path, `${JSON.stringify(results, null, 1)}\n`)

const outageKey = ({ stocks, kind, start, seconds }: OutageRow): string =>
  [stocks, kind, start, seconds].join()
/** Without the text after the semicolon, which is a result. */
const troubleKey = ({ what }: TroubleRow): string => what.replace(/;.*/, '')

type Rows = Pick<TroubleResults, 'outages' | 'others'>

export const mergeTrouble = (old: Rows, fresh: Rows): Rows => ({
  outages: mergeByKey(old.outages, fresh.outages, outageKey),
  others: mergeByKey(old.others, fresh.others, troubleKey),
})

const formatExit = (code: number | null): string => (code === null ? 'hangs' : String(code))
const formatSeconds = (seconds: number): string =>
  `${seconds < 0 ? '−' : ''}${Math.abs(seconds).toFixed(1)} s`
const formatNumber = (count: number | undefined): string => count?.toLocaleString('en') ?? ''

export const formatOutages = (rows: readonly OutageRow[], before: readonly OutageRow[] = []): string =>
  markdownTable(
    [
      'outage',
      'from',
      'lasts',
      'lost before',
      'lost',
      'lacking a part',
      'files different',
      'exit',
      'extra requests',
      'time beyond',
      'same command again',
    ],
    rows.map((row) => [
      row.kind,
      row.start,
      `${row.seconds} s`,
      formatNumber(before.find((earlier) => outageKey(earlier) === outageKey(row))?.lost),
      formatNumber(row.lost),
      formatNumber(row.degraded),
      formatNumber(row.filesDifferent),
      formatExit(row.code),
      formatNumber(row.extraRequests),
      formatSeconds(row.beyondS),
      row.next === undefined
        ? ''
        : `${formatNumber(row.next.requests)} requests, ${formatNumber(row.next.filesDifferent)} files different, exit ${formatExit(row.next.code)}`,
    ]),
  )

export const formatOthers = (rows: readonly TroubleRow[], before: readonly TroubleRow[] = []): string => {
  const earlierOf = (row: TroubleRow): TroubleRow | undefined =>
    before.find((earlier) => troubleKey(earlier) === troubleKey(row))
  return markdownTable(
    [
      'trouble',
      'lost before',
      'lost',
      'lacking a part',
      'files different',
      'exit',
      'extra requests',
      'wall before',
      'wall',
    ],
    rows.map((row) => [
      row.what,
      formatNumber(earlierOf(row)?.lost),
      formatNumber(row.lost),
      formatNumber(row.degraded),
      formatNumber(row.filesDifferent),
      formatExit(row.code),
      formatNumber(row.extraRequests),
      earlierOf(row) === undefined ? '' : formatSeconds(earlierOf(row)?.wallS ?? 0),
      formatSeconds(row.wallS),
    ]),
  )
}

export const formatTrouble = ({ machine, outages, others, before }: TroubleResults): string => {
  if (outages.length + others.length === 0) return 'Not measured yet.'
  return [
    ...(outages.length === 0 ? [] : [formatOutages(outages, before.outages)]),
    ...(others.length === 0 ? [] : [formatOthers(others, before.others)]),
    ...(machine === '' ? [] : [`Measured on ${machine}.`]),
  ].join('\n\n')
}
