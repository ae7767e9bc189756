import { resolve } from 'node:path'
import { describeFreshness } from '../../analysis/brief/brief.js'
import type { RunReport, ScriptReport } from '../../model/report.js'
import { omitUndefined } from '../../model/row.js'
import { countItems, countLost, isIdle, wasStopped } from '../../model/script-figures.js'
import { quoteShell } from '../../model/text.js'
import { readRunRecords } from '../../storage/run-records.js'
import type { LiveRunState, LiveStream } from '../api/live.js'
import type { FolderState } from '../api/state.js'
import { describeAnswer } from './answer.js'
import { describePhases } from './phases.js'
import type { Served } from './route.js'

/** How the folder stands: the answer to "is my data complete and fresh?", and the last run. */
export const readFolderState = async (served: Served, now: number): Promise<FolderState> => {
  const { out, version, streams, live, checks } = served
  const { report, runs, damage } = await readRunRecords(out)
  const outputs = report === undefined ? [] : streams.map(({ name }) => describeFreshness(name, report, runs))
  return omitUndefined({
    folder: report === undefined ? quoteShell(resolve(out)) : undefined,
    version,
    isActive: live.isActive(),
    phases: describePhases(streams),
    answer: describeAnswer({ report, outputs, damage, now }),
    last: report && toRunState(report, served),
    outputs,
    checks: await checks.summarize(runs),
  })
}

/** The last run in the shape of an active one. */
const toRunState = (report: RunReport, { streams, workers }: Pick<Served, 'streams' | 'workers'>): LiveRunState => {
  const isCut = report.outcome === 'failed' || report.outcome === 'interrupted'
  const all = streams.flatMap(({ name, workers: usual }) => {
    const script = report.scripts[name]
    return script === undefined ? [] : [toStream(name, script, { workers: workers[name] ?? usual, isCut })]
  })
  const done = all.reduce((sum, stream) => sum + stream.done, 0)
  return omitUndefined({
    ...{ run: report.run, asOf: Date.parse(report.asOf), startedAt: Date.parse(report.startedAt), at: Date.parse(report.finishedAt) },
    ...{ stocks: report.stocks, done, total: done, share: 1, outcome: report.outcome, error: report.error, fleet: report.fleet },
    phases: describePhases(streams),
    streams: all,
  })
}

interface StreamContext {
  readonly workers: number
  /** Whether the run ended early, so that it has not started all of its streams. */
  readonly isCut: boolean
}

const toStream = (name: string, script: ScriptReport, { workers, isCut }: StreamContext): LiveStream => {
  const { durationMs, requests, retries, rateLimited, degraded, items, files, bytes, error, problems } = script
  const done = countItems(script)
  const failures = problems.filter(({ item, status, code }) => item !== undefined || status !== undefined || code !== undefined)
  return omitUndefined({
    ...{
      name,
      state: describeEnd(script, isCut),
      done,
      total: wasStopped(script) ? undefined : done,
      workers,
      requests,
      retries,
      rateLimited,
    },
    ...{ lost: countLost(script), partial: degraded, startedAt: 0, finishedAt: durationMs, inFlight: 0 },
    perSecond: durationMs > 0 ? ((done - script.takenOver) * 1_000) / durationMs : undefined,
    statuses: Object.fromEntries(Object.entries(items).filter(([, count]) => count > 0)),
    ...{
      files,
      stored: bytes,
      failures,
      warnings: problems.filter((problem) => !failures.includes(problem)),
      pauses: [],
      marbles: [],
      error,
    },
  })
}

const describeEnd = (script: ScriptReport, isCut: boolean): LiveStream['state'] => {
  if (wasStopped(script)) return 'interrupted'
  return isCut && script.outcome === 'skipped' && isIdle(script) ? 'waiting' : script.outcome
}
