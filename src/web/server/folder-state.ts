import { resolve } from 'node:path'
import { findNewestSession, PUBLISHED_AT, toSessionInstant, USUAL_CALENDAR } from '../../market/calendar.js'
import { formatNumber, formatQuantity, joinWords } from '../../model/format.js'
import type { RunReport } from '../../model/report.js'
import { omitUndefined } from '../../model/row.js'
import { describeStale } from '../../model/script-figures.js'
import { quoteShell } from '../../model/text.js'
import type { MarketCalendar } from '../../model/trading-day.js'
import { describeFreshness, type Freshness } from '../../show/brief.js'
import { readRunRecords } from '../../storage/run-records.js'
import { readIsSimulated } from '../../storage/run-state.js'
import type { FolderAnswer, FolderState } from '../api/state.js'
import { toRunState } from './ended-run.js'
import type { Served } from './route.js'
import { describePhases } from './run-view.js'

/** How the folder stands: the answer to "is my data complete and fresh?", and the last run. */
export const readFolderState = async (served: Served, now: number): Promise<FolderState> => {
  const { out, version, streams, live, checks, readCalendar = async () => USUAL_CALENDAR } = served
  const { report, runs, damage } = await readRunRecords(out)
  const outputs = report === undefined ? [] : streams.map(({ name }) => describeFreshness(name, report, runs))
  const answer = describeAnswer({ report, outputs, damage, calendar: await readCalendar(), now })
  return omitUndefined({
    folder: answer.tone === 'ok' ? undefined : quoteShell(resolve(out)),
    version,
    isSimulated: readIsSimulated(out),
    isActive: live.isActive(),
    phases: describePhases(streams),
    answer,
    last: report && toRunState(report, served),
    outputs,
    checks: await checks.summarize(runs),
  })
}

interface AnswerFacts {
  readonly report: RunReport | undefined
  readonly outputs: readonly Freshness[]
  /** The damaged records of runs. */
  readonly damage: readonly string[]
  readonly calendar: MarketCalendar
  readonly now: number
}

/**
 * Answers "is my data complete and fresh?" in a few words, with the reason, and names damaged records beside
 * it.
 */
export const describeAnswer = ({ damage, report, ...facts }: AnswerFacts): FolderAnswer => {
  if (damage.length === 0) return report ? describeReport(report, facts) : NO_DATA
  const text = `${damage.join('; ')}.`
  if (report === undefined) return { tone: 'waiting', word: 'A record of the runs is damaged', text }
  const answer = describeReport(report, facts)
  return { ...answer, text: `${text} ${answer.text}`.trim() }
}

const NO_DATA: FolderAnswer = {
  tone: 'waiting',
  word: 'No data yet',
  text: 'No run has finished in this folder.',
}

const describeReport = (
  report: RunReport,
  { outputs, calendar, now }: Omit<AnswerFacts, 'report' | 'damage'>,
): FolderAnswer => {
  const { outcome, error } = report
  if (outcome === 'failed')
    return {
      tone: 'failed',
      word: 'The last run failed',
      text: `${error ?? 'No reason is recorded'}. Earlier files stay as they were.`,
    }
  if (outcome === 'interrupted')
    return {
      tone: 'waiting',
      word: 'Interrupted',
      text: 'The last run was stopped before its end; the same command resumes it.',
    }
  const lacks = describeLacks(outputs)
  if (lacks !== undefined)
    return { tone: 'failed', word: 'Not complete', text: `${lacks}. Everything else is there.` }
  const stale = describeStale(report)
  if (stale.length > 0)
    return {
      tone: outcome === 'partial' ? 'failed' : 'waiting',
      word: 'Not up to date',
      text: `${stale.join('; ')}.`,
    }
  if (outcome === 'partial')
    return { tone: 'waiting', word: 'Complete, but look at this', text: `${describeDoubts(report)}.` }
  const due = findNewestSession(now, PUBLISHED_AT, calendar)
  return Date.parse(report.asOf) < toSessionInstant(due, PUBLISHED_AT, calendar)
    ? { tone: 'waiting', word: 'Complete, but old', text: 'A new run fetches the data up to', day: due }
    : { tone: 'ok', word: 'Complete and up to date', text: '' }
}

/** What the folder lacks, as a sentence; undefined if it lacks nothing. */
const describeLacks = (outputs: readonly Freshness[]): string | undefined => {
  const whole = outputs.filter(({ missing, outcome }) => missing === 'all' || outcome === 'failed')
  const parts = outputs.filter((output) => !whole.includes(output) && output.missing !== undefined)
  const texts = [
    ...(whole.length > 0
      ? [`${joinNames(whole.map(({ stream }) => stream))} ${whole.length === 1 ? 'is' : 'are'} missing`]
      : []),
    ...(parts.length > 0
      ? [
          `${joinNames(parts.map(({ stream, missing }) => `${stream} (${typeof missing === 'number' ? formatNumber(missing) : missing})`))} ${parts.length === 1 ? 'lacks' : 'lack'} items`,
        ]
      : []),
  ]
  return texts.length === 0 ? undefined : texts.join('; ')
}

const describeDoubts = ({ drift = [], wrongSymbols = [], scripts }: RunReport): string => {
  const refused = Object.entries(scripts).flatMap(([name, { outcome }]) =>
    outcome === 'partial' ? [name] : [],
  )
  if (refused.length > 0) return `Answers for ${joinNames(refused)} were refused; the earlier files stay`
  if (wrongSymbols.length > 0)
    return `${formatQuantity(wrongSymbols.length, 'given symbol is', 'given symbols are')} not listed, or changed`
  return drift.length > 0
    ? `Answers have changed their format in ${formatQuantity(drift.length, 'place')}`
    : 'The report names what needs a look'
}

const MAX_NAMED_STREAMS = 3

/** `a`, `a and b`, `a, b and 3 more`. */
const joinNames = (names: readonly string[]): string => {
  const shown =
    names.length > MAX_NAMED_STREAMS
      ? [...names.slice(0, MAX_NAMED_STREAMS - 1), `${names.length - MAX_NAMED_STREAMS + 1} more`]
      : names
  return joinWords(shown, 'and')
}
