import type { Freshness } from '../../analysis/brief/brief.js'
import { findNewestWeekday, PUBLISHED_AT } from '../../market/calendar.js'
import type { RunReport } from '../../model/report.js'
import { describeStale } from '../../model/stale.js'
import { type Day, toInstant } from '../../model/trading-day.js'
import type { FolderAnswer } from '../api/state.js'

interface AnswerFacts {
  readonly report: RunReport | undefined
  readonly outputs: readonly Freshness[]
  /** The damaged records of runs. */
  readonly damage: readonly string[]
  readonly now: number
}

/** Answers "is my data complete and fresh?" in a few words, with the reason. */
export const describeAnswer = ({ report, outputs, damage, now }: AnswerFacts): FolderAnswer => {
  if (damage.length > 0 && report?.outcome !== 'failed')
    return { tone: 'waiting', word: 'A record of the runs is damaged', text: `${damage.join('; ')}. The next run writes a new report.` }
  if (report === undefined) return { tone: 'waiting', word: 'No data yet', text: 'No run has finished in this folder.' }
  const { outcome, error } = report
  if (outcome === 'failed')
    return { tone: 'failed', word: 'The last run failed', text: `${error ?? 'No reason is recorded'}. Earlier files stay as they were.` }
  if (outcome === 'interrupted')
    return { tone: 'waiting', word: 'Interrupted', text: 'The last run was stopped before its end; the same command resumes it.' }
  const lacks = describeLacks(outputs)
  if (lacks !== undefined) return { tone: 'failed', word: 'Not complete', text: `${lacks}. Everything else is there.` }
  const stale = describeStale(report)
  if (stale.length > 0) return { tone: outcome === 'partial' ? 'failed' : 'waiting', word: 'Not up to date', text: `${stale.join('; ')}.` }
  if (outcome === 'partial') return { tone: 'waiting', word: 'Complete, but look at this', text: `${describeDoubts(report)}.` }
  const due = findDueDay(now)
  return Date.parse(report.asOf) < toInstant(due, PUBLISHED_AT)
    ? { tone: 'waiting', word: 'Complete, but old', text: 'A new run fetches the data up to', day: due }
    : { tone: 'ok', word: 'Complete and up to date', text: '' }
}

/** What the folder lacks, as a sentence; undefined if it lacks nothing. */
const describeLacks = (outputs: readonly Freshness[]): string | undefined => {
  const whole = outputs.filter(({ missing, outcome }) => missing === 'all' || outcome === 'failed')
  const parts = outputs.filter((output) => !whole.includes(output) && output.missing !== undefined)
  const texts = [
    ...(whole.length > 0 ? [`${listNames(whole.map(({ stream }) => stream))} ${whole.length === 1 ? 'is' : 'are'} missing`] : []),
    ...(parts.length > 0
      ? [`${listNames(parts.map(({ stream, missing }) => `${stream} (${missing})`))} ${parts.length === 1 ? 'lacks' : 'lack'} items`]
      : []),
  ]
  return texts.length === 0 ? undefined : texts.join('; ')
}

const describeDoubts = ({ drift = [], wrongSymbols = [], scripts }: RunReport): string => {
  const refused = Object.entries(scripts).flatMap(([name, { outcome }]) => (outcome === 'partial' ? [name] : []))
  if (refused.length > 0) return `Answers for ${listNames(refused)} were refused; the earlier files stay`
  if (wrongSymbols.length > 0) return `${wrongSymbols.length} of the given symbols are not listed, or have changed`
  return drift.length > 0 ? `Answers have changed their format in ${drift.length} places` : 'The report names what needs a look'
}

const MAX_NAMED = 3

/** `a`, `a and b`, `a, b and 3 more`. */
const listNames = (names: readonly string[]): string => {
  const shown = names.length > MAX_NAMED ? [...names.slice(0, MAX_NAMED - 1), `${names.length - MAX_NAMED + 1} more`] : names
  return [shown.slice(0, -1).join(', '), ...shown.slice(-1)].filter((text) => text !== '').join(' and ')
}

/** The newest weekday whose data is published. Holidays are not known here: on one, the day before counts as old for a day. */
export const findDueDay = (now: number): Day => findNewestWeekday(now, PUBLISHED_AT)
