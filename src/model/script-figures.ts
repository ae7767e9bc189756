import type { Status } from './errors.js'
import { isLost } from './outcome.js'
import type { RunReport, ScriptReport, StaleOutput } from './report.js'

/** Number of items that a stream lost to any error. */
export const countLost = ({ items }: Pick<ScriptReport, 'items'>): number =>
  Object.entries(items).reduce(
    (total, [status, n]) => total + (isLost({ status: status as Status }) ? n : 0),
    0,
  )

export const countItems = ({ items }: Pick<ScriptReport, 'items'>): number =>
  Object.values(items).reduce((total, n) => total + n, 0)

/** Whether another run of the stream could fetch what is missing. */
export const isIncomplete = ({ outcome }: ScriptReport): boolean =>
  outcome === 'failed' || outcome === 'partial'

/** Whether the stream did not run: not selected, disabled, or not started. */
export const isIdle = ({ outcome, durationMs, requests, files }: ScriptReport): boolean =>
  outcome === 'disabled' || (outcome === 'skipped' && durationMs + requests + files === 0)

/** Whether the run ended while this stream was running; a stream that fails by itself has an error. */
export const wasStopped = ({ outcome, error }: Pick<ScriptReport, 'outcome' | 'error'>): boolean =>
  outcome === 'failed' && error === undefined

/** A reason without its details in brackets, which differ between items. */
export const stripBrackets = (reason: string): string => reason.replace(BRACKETS, '')

/** Quoted texts inside the brackets may contain brackets themselves. */
const BRACKETS = / \((?:"(?:[^"\\]|\\.)*"|[^()"])*\)/g

/**
 * What is not up to date, a sentence each: `candles end at 2026-02-09, expected 2026-02-10 (deals of that day
 * exist)`.
 */
export const describeStale = ({ stale = [] }: Pick<RunReport, 'stale'>): readonly string[] =>
  stale.map(describe)

const describe = ({ stream, output, newest, expected, shownBy }: StaleOutput): string => {
  if (stream === undefined)
    return `nothing of ${expected} from any source, the newest session is ${newest}: holidays, or the provider stands still`
  const shown = shownBy.length > 0 ? shownBy.join(' and ') : 'candles or deals'
  return `${output} end at ${newest}, expected ${expected} (${shown} of that day exist)`
}
