import { firstValueFrom, lastValueFrom } from 'rxjs'
import { REPORT_FILE, toStatePath } from '../engine/storage.js'
import {
  createDriftMatcher,
  DRIFT_ACCEPTED_FILE,
  type DriftName,
  isSignificant,
  toDriftName,
} from '../model/drift.js'
import { UsageError } from '../model/errors.js'
import type { Drift } from '../model/report.js'
import { isRow } from '../model/row.js'
import { checkFolderFormat } from '../storage/run-state.js'
import { defineCommand } from './command.js'
import { choiceArgument, folderFlags, jsonFlag } from './options.js'
import { listFirst } from './terminal/terminal.js'
import { clean, formatCount, formatQuantity } from './terminal/text.js'

export const addDrift = defineCommand({
  name: 'drift',
  about: "Shows how the provider's answers have changed: missing fields, new fields, other types.",
  args: [choiceArgument('[action]', 'accept: record the changes of the last run as known', ['accept'])],
  flags: () => ({ ...folderFlags(), json: jsonFlag() }),
  examples: [
    ['scripstream drift', 'how the answers of the last run differ from the expected ones'],
    ['scripstream drift accept', 'accept these changes: later runs no longer end with 3 for them'],
  ],
  exits: { 3: 'changes that are not accepted' },
  run: async (_, { typed: [action], settings: load, dependencies }) => {
    const settings = load()
    const storage = dependencies.storage(settings)
    await checkFolderFormat(settings.out)
    const report = await firstValueFrom(storage.stored.document(REPORT_FILE))
    if (!isRow(report))
      throw new UsageError(`no run has finished in ${settings.out} yet`, { code: 'no-outputs' })
    const accepted = await firstValueFrom(storage.stored.document(toStatePath(DRIFT_ACCEPTED_FILE)))
    const isAccepted = createDriftMatcher(accepted)
    const found = Array.isArray(report.drift) ? (report.drift as readonly Drift[]) : []
    const drift = found.map((one): Drift => (isAccepted(one) ? { ...one, accepted: true } : one))
    if (action === undefined)
      return {
        json: drift,
        lines: () => describeDrift(drift),
        code: drift.some(isSignificant) ? EXIT_UNACCEPTED : 0,
      }
    const fresh = drift.filter((one) => !one.accepted).map(toDriftName)
    if (fresh.length === 0) return { lines: () => ['Nothing to accept: the last run found no new changes.'] }
    const known: readonly unknown[] = Array.isArray(accepted) ? accepted : []
    await lastValueFrom(storage.storeDocument(DRIFT_ACCEPTED_FILE, [...known, ...fresh]))
    return { lines: () => acceptedLines(fresh, drift) }
  },
})

const EXIT_UNACCEPTED = 3

const describeDrift = (drift: readonly Drift[]): readonly string[] => {
  if (drift.length === 0) return ['The answers of the last run were as expected.']
  const groups = [
    ['Changed, and not accepted', drift.filter(isSignificant)],
    ['Seen in a few answers only', drift.filter(({ accepted, rare }) => rare && !accepted)],
    ['Accepted', drift.filter(({ accepted }) => accepted)],
  ] as const
  return [
    ...groups.flatMap(([title, all]) =>
      all.length === 0 ? [] : [title, ...all.map((one) => `  ${one.stream}: ${driftText(one)}`)],
    ),
    ...(drift.some(isSignificant)
      ? ['To accept these changes: scripstream drift accept. Later runs then ignore them.']
      : []),
  ]
}

const acceptedLines = (fresh: readonly DriftName[], drift: readonly Drift[]): readonly string[] => [
  `Accepted: ${formatQuantity(fresh.length, 'change')} in the answers of the last run.`,
  ...(drift.some(({ required, accepted }) => required && !accepted)
    ? ['Answers without required fields are still refused; run with --accept fields to store them.']
    : []),
]

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
