import { z } from 'zod'
import { isSignificant } from './drift.js'
import type { Status } from './errors.js'
import type { RunReport, ScriptReport } from './report.js'
import { isRow, omitUndefined } from './row.js'
import { repairJson } from './text.js'

/** One line for each ended run, oldest first. */
export const RUN_LOG = 'runs.ndjson'

/** How many failed items of a stream an entry names. */
const MAX_NAMED_ITEMS = 200

/** The failed items of a stream: all of them, or those named here, out of `count`. */
export interface FailedCount {
  readonly count: number | 'all'
  readonly items?: readonly string[]
}

/** A stream in an entry: the figures of its report, and the first reasons of its failures. */
export type LoggedScript = Pick<
  ScriptReport,
  'outcome' | 'durationMs' | 'requests' | 'retries' | 'rateLimited' | 'items' | 'files' | 'bytes'
> & {
  readonly degraded?: number
  readonly error?: string
  readonly problems?: readonly { readonly item?: string; readonly status?: Status; readonly reason: string }[]
}

/** An ended run, as `scripstream history --runs` shows it. Instants are ISO 8601 in UTC. */
export interface RunLogEntry
  extends Pick<RunReport, 'run' | 'asOf' | 'startedAt' | 'finishedAt' | 'durationMs' | 'outcome' | 'stocks'> {
  readonly stale?: NonNullable<RunReport['stale']>
  readonly error?: string
  /** The streams that ran. */
  readonly scripts: Readonly<Record<string, LoggedScript>>
  /** What was missing in the folder after the run, from this and earlier runs. */
  readonly missing?: Readonly<Record<string, FailedCount>>
  /** Changes in answers that were not accepted. */
  readonly drift?: number
}

export const toRunLogEntry = (
  report: RunReport,
  failed: Readonly<Record<string, readonly string[] | 'all'>>,
): RunLogEntry => {
  const missing = Object.entries(failed).map(([name, items]) => [name, countFailed(items)] as const)
  const logged = Object.entries(report.scripts).flatMap(([name, script]) =>
    hasRun(script) ? [[name, omitNothing(script)] as const] : [],
  )
  return EntryShape.parse(
    omitUndefined({
      ...report,
      scripts: Object.fromEntries(logged),
      missing: missing.length === 0 ? undefined : Object.fromEntries(missing),
      drift: report.drift?.filter(isSignificant).length || undefined,
    }),
  )
}

const countFailed = (items: readonly string[] | 'all'): FailedCount =>
  items === 'all' ? { count: items } : { count: items.length, items: items.slice(0, MAX_NAMED_ITEMS) }

const hasRun = ({ outcome, requests }: ScriptReport): boolean =>
  requests > 0 || outcome === 'failed' || outcome === 'partial'

/** Without the figures that say that there is nothing. */
const omitNothing = ({ degraded, problems, ...script }: ScriptReport) =>
  omitUndefined({
    ...script,
    degraded: degraded || undefined,
    problems: problems.length === 0 ? undefined : problems,
  })

/** A run of the log as a report, without what the log does not have. */
export const toRunReport = ({ scripts, missing = {}, drift: _, ...entry }: RunLogEntry): RunReport =>
  omitUndefined({
    ...entry,
    scripts: Object.fromEntries(
      Object.entries(scripts).map(([name, script]) => [
        name,
        { degraded: 0, takenOver: 0, problems: [], ...script } as ScriptReport,
      ]),
    ),
    missing:
      Object.keys(missing).length === 0
        ? undefined
        : Object.fromEntries(Object.entries(missing).map(([name, { count }]) => [name, count])),
  })

const countField = z.number().default(0)
const instant = z.string().refine((text) => !Number.isNaN(Date.parse(text)))
const missingCount = z.union([z.number(), z.literal('all')])
const problems = z.array(z.looseObject({ reason: z.string() }))
const rows = z.array(z.looseObject({}))

/** What a report and its line in the log have in common. Each reader depends on it. */
const runShape = {
  run: z.string(),
  asOf: instant,
  startedAt: instant,
  finishedAt: instant,
  durationMs: countField,
  stocks: countField,
  outcome: z.enum(['complete', 'partial', 'failed', 'interrupted']),
  error: z.string().optional(),
}
const scriptShape = {
  outcome: z.enum(['success', 'partial', 'failed', 'skipped', 'disabled']),
  durationMs: countField,
  requests: countField,
  retries: countField,
  rateLimited: countField,
  files: countField,
  bytes: countField,
  items: z.record(z.string(), z.number()).default({}),
  error: z.string().optional(),
}

/** A line of the log, as it is written and read: all of a report that it has. */
const EntryShape = z.object({
  ...runShape,
  scripts: z.record(
    z.string(),
    z.object({
      ...scriptShape,
      degraded: z.number().optional(),
      problems: z
        .array(z.object({ item: z.string().optional(), status: z.string().optional(), reason: z.string() }))
        .optional(),
    }),
  ),
  missing: z
    .record(z.string(), z.object({ count: missingCount, items: z.array(z.string()).optional() }))
    .optional(),
  stale: rows.optional(),
  drift: z.number().optional(),
}) as unknown as z.ZodType<RunLogEntry>

/** A report; other fields pass through. */
const ReportShape = z.looseObject({
  ...runShape,
  scripts: z.record(
    z.string(),
    z.looseObject({
      ...scriptShape,
      degraded: countField,
      takenOver: countField,
      problems: problems.default([]),
      rewritten: rows.optional(),
      causes: rows.optional(),
    }),
  ),
  missing: z.record(z.string(), missingCount).optional(),
  notes: z.array(z.string()).optional(),
  wrongSymbols: rows.optional(),
  drift: rows.optional(),
  fleet: z.looseObject({ workers: rows, stalled: z.number() }).optional(),
})

/** Reads a report; undefined if it is damaged. */
export const parseReport = (text: string): RunReport | undefined =>
  ReportShape.safeParse(parseFields(text)).data as RunReport | undefined

/** The entries of the log, and the numbers of the lines that are none, such as one that a kill has cut. */
export const parseRunLog = (
  text: string,
): { readonly runs: readonly RunLogEntry[]; readonly badLines: readonly number[] } => {
  const lines = text
    .split('\n')
    .map((line, index) => ({ line, number: index + 1, entry: EntryShape.safeParse(parseFields(line)).data }))
  return {
    runs: lines.flatMap(({ entry }) => (entry === undefined ? [] : [entry])),
    badLines: lines.flatMap(({ line, number, entry }) =>
      entry === undefined && line.trim() !== '' ? [number] : [],
    ),
  }
}

/**
 * The fields of a document. Another version may leave some out: then the run is one that needs a look, at its
 * `asOf`.
 */
const parseFields = (text: string): unknown => {
  try {
    const fields: unknown = JSON.parse(repairJson(text))
    return isRow(fields)
      ? { startedAt: fields.asOf, finishedAt: fields.asOf, outcome: 'partial', ...fields }
      : undefined
  } catch {
    return undefined
  }
}
