import { firstValueFrom, lastValueFrom } from 'rxjs'
import { REPORT_FILE, type Storage, toStatePath } from '../../engine/storage.js'
import {
  createDriftMatcher,
  DRIFT_ACCEPTED_FILE,
  driftIn,
  isSignificant,
  toDriftName,
} from '../../model/drift.js'
import { UsageError } from '../../model/errors.js'
import type { Drift } from '../../model/report.js'
import { isRow } from '../../model/row.js'
import { checkFolderFormat } from '../../storage/run-state.js'
import { type AnswerLine, listFirst } from '../terminal/terminal.js'
import { clean, formatCount, formatQuantity } from '../terminal/text.js'

/**
 * Reads the changed answers of the last run, and returns a function that accepts them.
 *
 * @throws UsageError if no run has finished in the folder
 */
export const readChangedAnswers = async (
  { stored, storeDocument }: Pick<Storage, 'stored' | 'storeDocument'>,
  folder: string,
) => {
  await checkFolderFormat(folder)
  const report = await firstValueFrom(stored.document(REPORT_FILE))
  if (!isRow(report)) throw new UsageError(`no run has finished in ${folder} yet`, { code: 'no-outputs' })
  const known = await firstValueFrom(stored.document(toStatePath(DRIFT_ACCEPTED_FILE)))
  const isAccepted = createDriftMatcher(known)
  const drift = driftIn(report.drift).map(
    (one): Drift => (isAccepted(one) ? { ...one, accepted: true } : one),
  )
  const accept = async (): Promise<readonly Drift[]> => {
    const names = drift.filter((one) => !one.accepted).map(toDriftName)
    const all = [...(Array.isArray(known) ? known : []), ...names]
    if (names.length > 0) await lastValueFrom(storeDocument(DRIFT_ACCEPTED_FILE, all))
    return drift.map((one) => ({ ...one, accepted: true }))
  }
  return { drift, accept }
}

/** The section of the report; `accept` is the command that accepts the changes. */
export const changedAnswerLines = (drift: readonly Drift[], accept: string): readonly AnswerLine[] => {
  const open = drift.filter(isSignificant)
  const known = drift.filter(({ accepted }) => accepted)
  const groups = [
    ['Changed, and not accepted', open],
    ['Seen in a few answers only', drift.filter(({ accepted, rare }) => rare && !accepted)],
    ['Accepted', known],
  ] as const
  return [
    ...(drift.length === 0 ? ['  The answers of the last run were as expected.'] : []),
    ...groups.flatMap(([title, all]) =>
      all.length === 0 ? [] : [`  ${title}`, ...all.map((one) => `    ${one.stream}: ${driftText(one)}`)],
    ),
    ...(open.length > 0
      ? ['  To accept these changes, so that later runs ignore them:', () => [[[`  ${accept}`]] as const]]
      : []),
    ...(known.some(({ required }) => required)
      ? ['  Answers without required fields are still refused; run with --accept fields to store them.']
      : []),
  ]
}

const LINES_SHOWN = 6

/**
 * Changes in the provider's answers that are not accepted, the most frequent first. Only a few lines: the
 * report has all.
 */
export const driftLines = (drift: readonly Drift[] = []): readonly string[] =>
  listFirst(
    drift.filter(({ accepted }) => accepted !== true),
    LINES_SHOWN,
    (one) => `  ${one.stream}: ${driftText(one)}`,
    (rest) => `  and ${formatQuantity(rest, 'further change')}: see drift in report.json`,
  )

/** For example `news: data.latest_news[].publish_date is gone from 3 of 12 answers (first with TCS)`. */
export const driftText = ({
  endpoint,
  kind,
  field,
  expected,
  seen,
  answers,
  of,
  example,
  required,
}: Drift): string => {
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
