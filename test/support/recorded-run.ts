import { expect } from 'vitest'
import { createHistoryRequest } from '../../src/engine/session-request.js'
import type { HistoryRequest } from '../../src/model/history.js'
import type { RunReport } from '../../src/model/report.js'
import { type Day, toInstant } from '../../src/model/trading-day.js'
import { recordDay } from '../../src/storage/history/record-day.js'
import { streams } from '../../streams/registry.js'
import { runReport } from '../cli/support.js'

/** What a complete run of all streams asks the history to keep. */
export const HISTORY: HistoryRequest = createHistoryRequest(
  streams.map((stream) => ({ stream, state: 'waiting' })),
  { exchange: 'NSE' },
)

/** The tables of some files alone. */
export const tablesOf = (...files: readonly string[]): HistoryRequest['tables'] =>
  HISTORY.tables.filter(({ table }) => table.files.some(({ path }) => files.includes(path)))

export interface TestRun {
  /** Its day and time on the clock in India: 19:30 if nothing else is said. */
  readonly day: Day
  readonly time?: string
  /** When it began, if it took longer than no time. */
  readonly begun?: string
  /** When the run began that it resumes. */
  readonly resumed?: string
  readonly run?: string
  /** The session that is asked for with `--as-of`, if it is not that of the clock. */
  readonly asOf?: Day | undefined
  readonly request?: Partial<HistoryRequest> | undefined
  /** Facts about streams; each one succeeded if nothing else is said. */
  readonly scripts?: Readonly<Record<string, object>> | undefined
  /** Facts about the run. */
  readonly report?: Partial<RunReport>
}

/** Records the files of a folder as a run does that ends; resolves to the line of its log. */
export const recordRun = async (
  root: string,
  { day, time = '19:30', begun = time, resumed = begun, asOf, run, request, scripts = {}, ...more }: TestRun,
): Promise<string> => {
  const [clock, start] = [toInstant(day, time), toInstant(day, begun)]
  const all = streams.map(({ name }) => [name, { outcome: 'success' }] as const)
  const facts = { startedAt: new Date(start).toISOString(), finishedAt: new Date(clock).toISOString() }
  const report = {
    ...runReport(),
    ...facts,
    ...more.report,
    scripts: { ...Object.fromEntries(all), ...scripts },
  } as unknown as RunReport
  const record = {
    run: run ?? facts.finishedAt,
    asOf: asOf === undefined ? toInstant(day, resumed) : toInstant(asOf, '20:00'),
    configuration: 'c',
  }
  const warning = await recordDay(root, {
    history: { ...HISTORY, ...request },
    record,
    report,
    isPartOfEnded: false,
  })
  if (warning !== undefined) expect(warning).toMatch(/^check the clock: [^;]+$/)
  return JSON.stringify({
    ...facts,
    run: record.run,
    outcome: 'complete',
    asOf: new Date(record.asOf).toISOString(),
    scripts: report.scripts,
  })
}
