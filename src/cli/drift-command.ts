import { concatMap, defer, forkJoin, map, type Observable, of } from 'rxjs'
import { createDriftMatcher, DRIFT_ACCEPTED_FILE, type DriftName, isSignificant, toDriftName } from '../model/drift.js'
import { UsageError } from '../model/errors.js'
import type { Drift } from '../model/report.js'
import { isRow } from '../model/row.js'
import { formatJson } from '../model/text.js'
import type { Storage } from '../pipeline/storage.js'
import type { Command, ProcessIo } from './dependencies.js'
import { driftText } from './drift.js'
import { formatQuantity } from './format.js'
import { resolveSettings } from './provider.js'
import { readSize } from './terminal.js'
import { wrap } from './text.js'

export interface DriftFlags {
  readonly out?: string
  readonly config?: string
  readonly json?: boolean
}

/** The exit code for drift that is not accepted. */
const EXIT_UNACCEPTED = 3

/** The drift of the last run, with the changes that were accepted since. */
const readLastDrift = (
  { stored }: Pick<Storage, 'stored'>,
  out: string,
): Observable<{ readonly drift: readonly Drift[]; readonly accepted: unknown }> =>
  forkJoin([stored.document('.scripstream/report.json'), stored.document(`.scripstream/${DRIFT_ACCEPTED_FILE}`)]).pipe(
    map(([report, accepted]) => {
      if (!isRow(report)) throw new UsageError(`no run report in ${out}; run "scripstream run" first`)
      const isAccepted = createDriftMatcher(accepted)
      const drift = (Array.isArray(report.drift) ? (report.drift as readonly Drift[]) : []).map(
        (one): Drift => (isAccepted(one) ? { ...one, accepted: true } : one),
      )
      return { drift, accepted }
    }),
  )

/** Shows the drift of the last run, and emits the exit code. */
export const driftCommand: Command<DriftFlags> = ({ out, config, json = false }, io, dependencies) =>
  defer(() => {
    const settings = resolveSettings({ out, config }, { env: io.env }, dependencies)
    return readLastDrift(dependencies.storage(settings), settings.out).pipe(
      map(({ drift }) => {
        if (json) io.stdout.write(`${formatJson(drift, 2)}\n`)
        else printLines(drift.length === 0 ? ['The answers of the last run were as expected.'] : formatDriftGroups(drift), io)
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
export const acceptDriftCommand: Command<DriftFlags> = ({ out, config }, io, dependencies) =>
  defer(() => {
    const settings = resolveSettings({ out, config }, { env: io.env }, dependencies)
    const storage = dependencies.storage(settings)
    return readLastDrift(storage, settings.out).pipe(
      concatMap(({ drift, accepted }) => {
        const fresh = drift.filter((one) => !one.accepted).map(toDriftName)
        if (fresh.length === 0) return of(['Nothing to accept: the last run found no new changes.'])
        const known: readonly unknown[] = Array.isArray(accepted) ? accepted : []
        return storage.keep(DRIFT_ACCEPTED_FILE, [...known, ...fresh]).pipe(map(() => acceptedLines(fresh, drift)))
      }),
      map((lines) => {
        printLines(lines, io)
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

const printLines = (lines: readonly string[], { stdout }: Pick<ProcessIo, 'stdout'>): void =>
  void stdout.write(`${lines.flatMap((line) => wrap(line, readSize(stdout).columns)).join('\n')}\n`)
