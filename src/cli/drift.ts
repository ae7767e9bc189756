import { concatMap, defer, forkJoin, map, type Observable, of } from 'rxjs'
import { createDriftMatcher, DRIFT_ACCEPTED_FILE, type DriftName, isSignificant, toDriftName } from '../model/drift.js'
import { UsageError } from '../model/errors.js'
import type { Drift } from '../model/report.js'
import { isRow } from '../model/row.js'
import { REPORT_FILE, type Storage, toStatePath } from '../pipeline/storage.js'
import { checkFolderFormat } from '../storage/run-state.js'
import type { AddCommand, Command, ProcessIo } from './dependencies.js'
import { choiceArgument, exampleText, type FolderFlags, withFolderOptions } from './options.js'
import { resolveSettings } from './provider.js'
import { formatCount, formatQuantity } from './terminal/format.js'
import { printJson } from './terminal/print.js'
import { readSize } from './terminal/terminal.js'
import { clean, wrap } from './terminal/text.js'

const examples = [
  ['scripstream drift', 'how the answers of the last run differ from the expected ones'],
  ['scripstream drift --json', 'the same as JSON'],
  ['scripstream drift accept', 'accept these changes: later runs no longer end with 3 for them'],
] as const

const DRIFT_EXIT_CODES = `
Exit codes:
  0  no changes, or all changes are accepted
  1  the folder cannot be read or written
  2  wrong usage or configuration, or no run yet
  3  the answers have changed, and the changes are not accepted
`

export const addDrift: AddCommand = (program, { io, dependencies, act }) => {
  withFolderOptions(
    program.command('drift').description("Shows how the provider's answers have changed: missing fields, new fields, other types."),
  )
    .addArgument(choiceArgument('[action]', 'accept: record the changes of the last run as known', ['accept']))
    .option('--json', 'print JSON on stdout')
    .addHelpText('after', () => exampleText(examples) + DRIFT_EXIT_CODES)
    .action((action: 'accept' | undefined, flags: DriftFlags) =>
      act((action === 'accept' ? acceptDriftCommand : driftCommand)(flags, io, dependencies)),
    )
}

interface DriftFlags extends FolderFlags {
  readonly json?: boolean
}

/** The exit code for drift that is not accepted. */
const EXIT_UNACCEPTED = 3

/** The drift of the last run, with the changes that were accepted since. */
const readLastDrift = (
  { stored }: Pick<Storage, 'stored'>,
  out: string,
): Observable<{ readonly drift: readonly Drift[]; readonly accepted: unknown }> =>
  forkJoin([stored.document(REPORT_FILE), stored.document(toStatePath(DRIFT_ACCEPTED_FILE)), checkFolderFormat(out)]).pipe(
    map(([report, accepted]) => {
      if (!isRow(report)) throw new UsageError(`no run has finished in ${out} yet`, { code: 'no-outputs' })
      const isAccepted = createDriftMatcher(accepted)
      const drift = (Array.isArray(report.drift) ? (report.drift as readonly Drift[]) : []).map(
        (one): Drift => (isAccepted(one) ? { ...one, accepted: true } : one),
      )
      return { drift, accepted }
    }),
  )

/** Shows the drift of the last run, and emits the exit code. */
const driftCommand: Command<DriftFlags> = ({ out, config, json = false }, io, dependencies) =>
  defer(() => {
    const settings = resolveSettings({ out, config }, { env: io.env }, dependencies)
    return readLastDrift(dependencies.storage(settings), settings.out).pipe(
      map(({ drift }) => {
        if (json) printJson(drift, io.stdout)
        else printTexts(drift.length === 0 ? ['The answers of the last run were as expected.'] : formatDriftGroups(drift), io)
        return drift.some(isSignificant) ? EXIT_UNACCEPTED : 0
      }),
    )
  })

const formatDriftGroups = (drift: readonly Drift[]): readonly string[] => {
  const groups = [
    ['Changed, and not accepted', drift.filter(isSignificant)],
    ['Seen in a few answers only', drift.filter(({ accepted, rare }) => rare && !accepted)],
    ['Accepted', drift.filter(({ accepted }) => accepted)],
  ] as const
  return [
    ...groups.flatMap(([title, all]) => (all.length === 0 ? [] : [title, ...all.map((one) => `  ${one.stream}: ${driftText(one)}`)])),
    ...(drift.some(isSignificant) ? ['To accept these changes: scripstream drift accept. Later runs then ignore them.'] : []),
  ]
}

/** Records the drift of the last run as known, and emits the exit code. */
const acceptDriftCommand: Command<DriftFlags> = ({ out, config }, io, dependencies) =>
  defer(() => {
    const settings = resolveSettings({ out, config }, { env: io.env }, dependencies)
    const storage = dependencies.storage(settings)
    return readLastDrift(storage, settings.out).pipe(
      concatMap(({ drift, accepted }) => {
        const fresh = drift.filter((one) => !one.accepted).map(toDriftName)
        if (fresh.length === 0) return of(['Nothing to accept: the last run found no new changes.'])
        const known: readonly unknown[] = Array.isArray(accepted) ? accepted : []
        return storage.storeDocument(DRIFT_ACCEPTED_FILE, [...known, ...fresh]).pipe(map(() => acceptedLines(fresh, drift)))
      }),
      map((lines) => {
        printTexts(lines, io)
        return 0
      }),
    )
  })

const acceptedLines = (fresh: readonly DriftName[], drift: readonly Drift[]): readonly string[] => [
  `Accepted: ${formatQuantity(fresh.length, 'change')} in the answers of the last run.`,
  ...(drift.some(({ required, accepted }) => required && !accepted)
    ? ['Answers without required fields are still refused; run with --accept fields to store them.']
    : []),
]

const printTexts = (lines: readonly string[], { stdout }: Pick<ProcessIo, 'stdout'>): void =>
  void stdout.write(`${lines.flatMap((line) => wrap(line, readSize(stdout).columns)).join('\n')}\n`)

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
