import { catchError, forkJoin, map, type Observable, of, throwError } from 'rxjs'
import type { RunOptions } from '../collector.js'
import { DamagedFile, UsageError } from '../model/errors.js'
import { jsonText } from '../model/json-text.js'
import { isRow, type Row } from '../model/row.js'
import type { Settings } from '../model/settings.js'
import { dayAt } from '../model/trading-day.js'
import type { StreamDefinition } from '../pipeline/define-stream.js'
import { MISSING, type Missing, missingIn } from '../pipeline/missing.js'
import type { Chosen } from '../pipeline/session.js'
import type { Storage } from '../pipeline/storage.js'
import { counted } from './format.js'
import type { Shell } from './parts.js'

/** What `--retry-failed` comes to: a run, with what to say of it, or nothing to ask, with the report that stands. */
export type Retry = { readonly run: RunOptions; readonly note: string } | { readonly report: unknown }

export interface RetryContext {
  readonly folder: Pick<Storage, 'stored'>
  readonly streams: readonly StreamDefinition[]
  readonly settings: Pick<Settings, 'fetchOhlcv' | 'out'>
  /** The current instant, epoch milliseconds. */
  readonly now: number
}

/**
 * Turns a run into one of exactly what failed when it was last asked for, be it in the last run or an earlier one. A run that did not
 * end is continued instead: that asks for what failed in it and for what it had not come to. Emits once; `UsageError` where no run was.
 */
export const retryOf = (run: RunOptions, { folder: { stored }, streams, settings, now }: RetryContext): Observable<Retry> => {
  if (run.symbols !== undefined) throw new UsageError('--retry-failed knows its stocks: leave --symbols out')
  const document = (name: string, damaged?: typeof DAMAGED): Observable<unknown> =>
    stored
      .document(`.scripstream/${name}`)
      .pipe(catchError((error: unknown) => (error instanceof DamagedFile ? of(damaged) : throwError(() => error))))
  return forkJoin([document('run.json'), document(MISSING, DAMAGED), document('report.json')]).pipe(
    map(([unfinished, missing, report]) => {
      if (unfinished === undefined && missing === undefined && report === undefined)
        throw new UsageError(`--retry-failed: ${settings.out} holds no run that could be tried again: run without it first`)
      const isChosen = run.only !== undefined || run.skip !== undefined
      if (isRow(unfinished) && !run.fresh && !isChosen && !isOver(unfinished, run.asOf ?? now))
        return {
          run: { ...run, ...chosenIn(unfinished.chosen) },
          note:
            unfinished.endedAt === undefined
              ? 'The last run did not end: it goes on, which also asks for what failed in it.'
              : 'The last run goes on: only what is missing of it is asked for.',
        }
      const isKnown = isRow(missing) || (missing === undefined ? !tellsOfLoss(report) : isWhole(report))
      if (!isKnown)
        throw new UsageError(
          `--retry-failed: ${settings.out}/.scripstream/${MISSING}, which names what failed, is ${missing === undefined ? 'not there' : 'damaged'}: run without it once`,
        )
      return failedOf(run, missingIn(missing), { streams, settings }) ?? { report }
    }),
  )
}

/** Whether a run that ended with something missing is of an earlier trading day, so that only the list says what to ask for. */
const isOver = ({ endedAt, asOf }: Row, now: number): boolean =>
  endedAt !== undefined && typeof asOf === 'number' && dayAt(asOf) !== dayAt(now)

/** Stands for a document that is none. */
const DAMAGED = Symbol('damaged')

/** Whether a report says that something is missing. */
const tellsOfLoss = (report: unknown): boolean =>
  isRow(report) && (report.missing !== undefined || report.outcome === 'partial' || report.outcome === 'failed')

/** Whether a report says that nothing is missing. */
const isWhole = (report: unknown): boolean => isRow(report) && report.missing === undefined && report.outcome === 'complete'

/** A run of what is missing from the streams that it is about and that are switched on. */
const failedOf = (
  { only, skip = [], ...run }: RunOptions,
  missing: Missing,
  { streams, settings: { fetchOhlcv } }: Pick<RetryContext, 'streams' | 'settings'>,
): Retry | undefined => {
  const names = streams
    .filter(
      ({ name, phase }) =>
        Object.hasOwn(missing, name) && (only?.includes(name) ?? true) && !skip.includes(name) && (fetchOhlcv || phase !== 'candles'),
    )
    .map(({ name }) => name)
  if (names.length === 0) return undefined
  const pairs = Object.fromEntries(names.flatMap((name) => (missing[name] === 'all' ? [] : [[name, missing[name] ?? []] as const])))
  const items = Object.values(pairs).reduce((total, { length }) => total + length, 0)
  const whole = names.length - Object.keys(pairs).length
  const parts = [
    ...(items > 0 ? [`${counted(items, 'item')} of ${counted(names.length - whole, 'stream')}`] : []),
    ...(whole > 0 ? [`all of ${names.filter((name) => missing[name] === 'all').join(', ')}`] : []),
  ]
  return { run: { ...run, only: names, pairs }, note: `Asking again for what failed: ${parts.join(', and ')}.` }
}

/** What an unfinished run was asked to be about, as far as its record tells. */
const chosenIn = (given: unknown): Chosen => {
  if (!isRow(given)) return {}
  const listed = (field: 'only' | 'skip' | 'symbols'): object => (isTexts(given[field]) ? { [field]: given[field] } : {})
  const { pairs } = given
  const isPairs = isRow(pairs) && Object.values(pairs).every(isTexts)
  return {
    ...listed('only'),
    ...listed('skip'),
    ...listed('symbols'),
    ...(isPairs ? { pairs: pairs as NonNullable<Chosen['pairs']> } : {}),
  }
}

const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every((text) => typeof text === 'string')

/** Says that nothing failed, and hands the report that stands to who asked for it; emits the exit code. */
export const tellNothingFailed = (
  report: unknown,
  { json }: { readonly json: boolean },
  { stdout, stderr }: Pick<Shell, 'stdout' | 'stderr'>,
): number => {
  const said = 'Nothing failed that could be asked for again: nothing was asked.\n'
  if (json) {
    stderr.write(said)
    stdout.write(`${jsonText(report ?? null, 2)}\n`)
  } else stdout.write(said)
  return 0
}
