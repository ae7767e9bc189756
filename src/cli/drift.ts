import type { Drift } from '../model/report.js'
import { formatCount, formatQuantity } from './format.js'
import { clean } from './text.js'

const LINES_SHOWN = 6

/** Changes in the provider's answers that are not accepted, the most frequent first. Only a few lines: the report has all. */
export const driftLines = (drift: readonly Drift[] = []): readonly string[] => {
  const shown = drift.filter(({ accepted }) => accepted !== true)
  return [
    ...shown.slice(0, LINES_SHOWN).map((one) => `  ${one.stream}: ${driftText(one)}`),
    ...(shown.length > LINES_SHOWN
      ? [`  and ${formatQuantity(shown.length - LINES_SHOWN, 'further change')}: see drift in report.json`]
      : []),
  ]
}

/** For example `news: data.latest_news[].publish_date is gone from 3 of 12 answers (first with TCS)`. */
export const driftText = ({ endpoint, kind, field, expected, seen, answers, of, example, required }: Drift): string => {
  const first = example === '' || example === 'all' ? '' : ` (first with ${clean(example)})`
  const where = `${formatCount(answers)} of ${formatQuantity(of, 'answer')}${first}`
  const what = {
    gone: `is gone from ${where}`,
    new: `is new in ${where}`,
    type: `is ${seen} instead of ${expected?.replaceAll('|', ' or ')} in ${where}`,
    null: `is null in ${where}`,
    format: `has another format than ${expected} in ${where}`,
  }[kind]
  return `${endpoint}: ${clean(field)} ${what}${required ? '; the field is required' : ''}`
}
