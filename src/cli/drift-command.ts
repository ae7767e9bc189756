import { concatMap, defer, forkJoin, map, type Observable, of } from 'rxjs'
import { acceptedIn, counts, DRIFT_ACCEPTED, type DriftName, driftName } from '../model/drift.js'
import { UsageError } from '../model/errors.js'
import { jsonText } from '../model/json-text.js'
import type { Drift } from '../model/report.js'
import { isRow } from '../model/row.js'
import type { Storage } from '../pipeline/storage.js'
import { driftText } from './drift.js'
import { formatQuantity } from './format.js'
import type { Command, Shell } from './parts.js'
import { settingsFor } from './provider.js'
import { sizeOf } from './terminal.js'
import { wrap } from './text.js'

export interface DriftFlags {
  readonly out?: string
  readonly config?: string
  readonly json?: boolean
}

/** The exit code for drift that is not accepted. */
const UNACCEPTED = 3

/** The drift of the last run, with the changes that were accepted since. */
const standing = (
  { stored }: Pick<Storage, 'stored'>,
  out: string,
): Observable<{ readonly drift: readonly Drift[]; readonly accepted: unknown }> =>
  forkJoin([stored.document('.scripstream/report.json'), stored.document(`.scripstream/${DRIFT_ACCEPTED}`)]).pipe(
    map(([report, accepted]) => {
      if (!isRow(report)) throw new UsageError(`no run report in ${out}; run "scripstream run" first`)
      const isAccepted = acceptedIn(accepted)
      const drift = (Array.isArray(report.drift) ? (report.drift as readonly Drift[]) : []).map(
        (one): Drift => (isAccepted(one) ? { ...one, accepted: true } : one),
      )
      return { drift, accepted }
    }),
  )

/** Shows the drift of the last run, and emits the exit code. */
export const driftCommand: Command<DriftFlags> = ({ out, config, json = false }, io, dependencies) =>
  defer(() => {
    const settings = settingsFor({ out, config }, { env: io.env }, dependencies)
    return standing(dependencies.storage(settings), settings.out).pipe(
      map(({ drift }) => {
        if (json) io.stdout.write(`${jsonText(drift, 2)}\n`)
        else print(drift.length === 0 ? ['The answers of the last run were as expected.'] : linesOf(drift), io)
        return drift.some(counts) ? UNACCEPTED : 0
      }),
    )
  })

const linesOf = (drift: readonly Drift[]): readonly string[] => {
  const groups = [
    ['Changed, and not accepted', drift.filter(counts)],
    ['Seen in a few answers only', drift.filter(({ accepted, rare }) => rare && !accepted)],
    ['Accepted', drift.filter(({ accepted }) => accepted)],
  ] as const
  return [
    ...groups.flatMap(([title, all]) => (all.length === 0 ? [] : [title, ...all.map((one) => `  ${one.stream}: ${driftText(one)}`)])),
    ...(drift.some(counts) ? ['To accept these changes: scripstream drift accept. Later runs then ignore them.'] : []),
  ]
}

/** Records the drift of the last run as known, and emits the exit code. */
export const acceptDriftCommand: Command<DriftFlags> = ({ out, config }, io, dependencies) =>
  defer(() => {
    const settings = settingsFor({ out, config }, { env: io.env }, dependencies)
    const storage = dependencies.storage(settings)
    return standing(storage, settings.out).pipe(
      concatMap(({ drift, accepted }) => {
        const fresh = drift.filter((one) => !one.accepted).map(driftName)
        if (fresh.length === 0) return of(['Nothing to accept: the last run found no new changes.'])
        const known: readonly unknown[] = Array.isArray(accepted) ? accepted : []
        return storage.keep(DRIFT_ACCEPTED, [...known, ...fresh]).pipe(map(() => acceptedLines(fresh, drift)))
      }),
      map((lines) => {
        print(lines, io)
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

const print = (lines: readonly string[], { stdout }: Pick<Shell, 'stdout'>): void =>
  void stdout.write(`${lines.flatMap((line) => wrap(line, sizeOf(stdout).columns)).join('\n')}\n`)
