import type { RunReport, StaleOutput } from './report.js'

/** What is not up to date, a sentence each: `candles end at 2026-02-09, expected 2026-02-10 (deals of that day exist)`. */
export const describeStale = ({ stale = [] }: Pick<RunReport, 'stale'>): readonly string[] => stale.map(describe)

const describe = ({ stream, output, newest, expected, shownBy }: StaleOutput): string => {
  if (stream === undefined)
    return `nothing of ${expected} from any source, the newest session is ${newest}: holidays, or the provider stands still`
  const shown = shownBy.length > 0 ? shownBy.join(' and ') : 'candles or deals'
  return `${output} end at ${newest}, expected ${expected} (${shown} of that day exist)`
}
