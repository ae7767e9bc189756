import { forkJoin, map, type Observable } from 'rxjs'
import type { RunOptions } from '../../collector.js'
import type { StreamDefinition } from '../../engine/define-stream.js'
import {
  FAILED_ITEMS,
  type FailedItems,
  parseFailedItems,
  parseSelection,
  selectionOf,
} from '../../engine/failed-items.js'
import { type Storage, toStatePath } from '../../engine/storage.js'
import { UsageError } from '../../model/errors.js'
import { isRow, type Row } from '../../model/row.js'
import type { Settings } from '../../model/settings.js'
import { toDay } from '../../model/trading-day.js'
import { catchDamagedFile } from '../../operators/catch-item-failure.js'
import type { ProcessIo } from '../dependencies.js'
import { printJson } from '../terminal/terminal.js'
import { formatQuantity } from '../terminal/text.js'

/** The result of `--retry-failed`: a run with a note, or nothing to do, with the last report. */
type Retry = { readonly run: RunOptions; readonly note: string } | { readonly report: unknown }

interface RetryContext {
  readonly stored: Storage['stored']
  readonly streams: readonly StreamDefinition[]
  readonly settings: Pick<Settings, 'fetchOhlcv' | 'out'>
  readonly now: number
}

/**
 * Turns a run into one of exactly the items that failed last time, in the last run or an earlier one. An
 * unfinished run is resumed instead, which also fetches its failed items. Emits once; errors with
 * `UsageError` if there was no run.
 */
export const planRetry = (
  run: RunOptions,
  { stored, streams, settings, now }: RetryContext,
): Observable<Retry> => {
  if (run.symbols !== undefined)
    throw new UsageError('--retry-failed: selects its stocks itself; leave out --symbols')
  const document = (name: string, damaged?: typeof UNREADABLE): Observable<unknown> =>
    stored.document(toStatePath(name)).pipe(catchDamagedFile(() => damaged))
  return forkJoin([document('run.json'), document(FAILED_ITEMS, UNREADABLE), document('report.json')]).pipe(
    map(([unfinished, missing, report]) => {
      if (unfinished === undefined && missing === undefined && report === undefined)
        throw new UsageError(`--retry-failed: no run in ${settings.out}; run without --retry-failed first`)
      const isChosen = run.only !== undefined || run.skip !== undefined
      if (isRow(unfinished) && !run.fresh && !isChosen && !isOfEarlierDay(unfinished, run.asOf ?? now))
        return {
          run: { ...run, ...parseSelection(unfinished.chosen) },
          note: 'Resuming the last run: only missing items are requested.',
        }
      // A complete run has no list.
      if (
        !isRow(missing) &&
        !(isRow(report) && report.outcome === 'complete' && report.missing === undefined)
      )
        throw new UsageError(
          `--retry-failed: ${settings.out}/${toStatePath(FAILED_ITEMS)} (the failed items) is ${missing === undefined ? 'missing' : 'damaged'}; run once without --retry-failed`,
        )
      return createRetry(run, parseFailedItems(missing), { streams, settings }) ?? { report }
    }),
  )
}

/**
 * Whether a run that ended with items missing is of an earlier trading day, so that the list of failed items
 * counts.
 */
const isOfEarlierDay = ({ endedAt, asOf }: Row, now: number): boolean =>
  endedAt !== undefined && typeof asOf === 'number' && toDay(asOf) !== toDay(now)

const UNREADABLE = Symbol('damaged')

const createRetry = (
  { only, skip = [], ...run }: RunOptions,
  missing: FailedItems,
  { streams, settings: { fetchOhlcv } }: Pick<RetryContext, 'streams' | 'settings'>,
): Retry | undefined => {
  const names = streams
    .filter(
      ({ name, phase }) =>
        Object.hasOwn(missing, name) &&
        (only?.includes(name) ?? true) &&
        !skip.includes(name) &&
        (fetchOhlcv || phase !== 'candles'),
    )
    .map(({ name }) => name)
  const unknown = Object.keys(missing).filter((name) => streams.every((stream) => stream.name !== name))
  if (names.length === 0 && unknown.length > 0 && only === undefined)
    throw new UsageError(
      `--retry-failed: items of ${unknown.join(', ')} failed, which is no stream here; name its module with --streams`,
    )
  if (names.length === 0) return undefined
  const selection = selectionOf(missing, names)
  const { pairs = {} } = selection
  const items = Object.values(pairs).reduce((total, { length }) => total + length, 0)
  const whole = names.length - Object.keys(pairs).length
  const parts = [
    ...(items > 0
      ? [`${formatQuantity(items, 'item')} of ${formatQuantity(names.length - whole, 'stream')}`]
      : []),
    ...(whole > 0 ? [`all of ${names.filter((name) => missing[name] === 'all').join(', ')}`] : []),
  ]
  return { run: { ...run, ...selection }, note: `Retrying what failed: ${parts.join(', and ')}.` }
}

/** Reports that nothing failed, and prints the last report for `--json`; returns the exit code. */
export const printNothingFailed = (
  report: unknown,
  { json }: { readonly json?: boolean | undefined },
  { stdout, stderr }: Pick<ProcessIo, 'stdout' | 'stderr'>,
): number => {
  const note = 'Nothing to retry: no item failed. No request was sent.\n'
  if (json) {
    stderr.write(note)
    printJson(report ?? null, stdout)
  } else stdout.write(note)
  return 0
}
