import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { groupBy } from '../../../src/model/map.js'
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

const COUNTS = ['lost', 'lacking a part', 'files different', 'exit', 'extra requests']

const formatCounts = (counts: Counts): readonly string[] => [
  formatNumber(counts.lost),
  formatNumber(counts.degraded),
  formatNumber(counts.filesDifferent),
  formatExit(counts.code),
  formatNumber(counts.extraRequests),
]

export const formatOutages = (rows: readonly OutageRow[], before: readonly OutageRow[] = []): string =>
  markdownTable(
    ['outage', 'from', 'lasts', 'lost before', ...COUNTS, 'time beyond', 'same command again'],
    rows.map((row) => [
      row.kind,
      row.start,
      `${row.seconds} s`,
      formatNumber(before.find((earlier) => outageKey(earlier) === outageKey(row))?.lost),
      ...formatCounts(row),
      formatSeconds(row.beyondS),
      row.next === undefined
        ? ''
        : `${formatNumber(row.next.requests)} requests, ${formatNumber(row.next.filesDifferent)} files different, exit ${formatExit(row.next.code)}`,
    ]),
  )

/** A row for each kind of outage, with the worst of its runs: the page has no room for each start and length. */
export const formatWorstOutages = (rows: readonly OutageRow[]): string =>
  markdownTable(
    ['outage', 'runs', 'lasts', ...COUNTS, 'time beyond'],
    [...groupBy(rows, ({ kind }) => kind)].map(([kind, runs]) => {
      const most = (read: (row: OutageRow) => number): number => Math.max(...runs.map(read))
      return [
        kind,
        String(runs.length),
        `${Math.min(...runs.map(({ seconds }) => seconds))} – ${most(({ seconds }) => seconds)} s`,
        ...formatCounts({
          lost: most(({ lost }) => lost),
          degraded: most(({ degraded }) => degraded),
          filesDifferent: most(({ filesDifferent }) => filesDifferent),
          code: runs.some(({ code }) => code === null) ? null : most(({ code }) => code ?? 0),
          extraRequests: most(({ extraRequests }) => extraRequests),
        }),
        formatSeconds(most(({ beyondS }) => beyondS)),
      ]
    }),
  )

export const formatOthers = (rows: readonly TroubleRow[], before: readonly TroubleRow[] = []): string => {
  const earlierOf = (row: TroubleRow): TroubleRow | undefined =>
    before.find((earlier) => troubleKey(earlier) === troubleKey(row))
  const hasBefore = before.length > 0
  return markdownTable(
    [
      'trouble',
      ...(hasBefore ? ['lost before'] : []),
      ...COUNTS,
      ...(hasBefore ? ['wall before'] : []),
      'wall',
    ],
    rows.map((row) => {
      const earlier = earlierOf(row)
      return [
        row.what,
        ...(hasBefore ? [formatNumber(earlier?.lost)] : []),
        ...formatCounts(row),
        ...(hasBefore ? [earlier === undefined ? '' : formatSeconds(earlier.wallS)] : []),
        formatSeconds(row.wallS),
      ]
    }),
  )
}

/** The tables of the page, without the figures of an earlier version. */
export const formatTrouble = ({ machine, outages, others }: TroubleResults): string => {
  if (outages.length + others.length === 0) return 'Not measured yet.'
  return [
    ...(outages.length === 0 ? [] : [formatWorstOutages(outages)]),
    ...(others.length === 0 ? [] : [formatOthers(others)]),
    ...(machine === '' ? [] : [`Measured on ${machine}.`]),
  ].join('\n\n')
}
