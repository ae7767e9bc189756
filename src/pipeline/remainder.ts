import { catchError, map, type Observable, of, throwError } from 'rxjs'
import { DamagedFileError } from '../model/errors.js'
import { isRow } from '../model/row.js'
import { FAILED_ITEMS, parseFailedItems, selectionOf } from './failed-items.js'
import type { PlannedStream } from './plan.js'
import { isPartOf, isReusable } from './record.js'
import type { CompleteRun, Remainder, RunRecord, RunSelection } from './session.js'
import type { Stored } from './storage.js'

/**
 * What is left to do of a run that ended, if it can be reused for the requested one: the smaller run of it that did not finish, or what
 * failed. A run of some stocks only is not reused this way, because another part of it is no part of a whole run.
 */
export const remainderOf = (
  ended: CompleteRun,
  unfinished: RunRecord | undefined,
  { wanted, isInstantGiven }: { readonly wanted: RunRecord; readonly isInstantGiven: boolean },
): Remainder | undefined => {
  const { symbols, pairs } = ended.chosen ?? {}
  if (symbols !== undefined || pairs !== undefined || !isReusable(ended, wanted, isInstantGiven)) return undefined
  if (unfinished === undefined) return {}
  if (!isPartOf(unfinished, ended)) return undefined
  return unfinished.endedAt === undefined ? { chosen: parseSelection(unfinished.chosen) } : {}
}

/** The selection of the run that does what is left; emits `undefined` if only a run of everything can. */
export const selectionLeft = (
  { chosen }: Remainder,
  stored: Stored,
  plan: readonly PlannedStream[],
): Observable<RunSelection | undefined> => {
  if (chosen) return of(chosen)
  return stored.document(`.scripstream/${FAILED_ITEMS}`).pipe(
    catchError((error: unknown) => (error instanceof DamagedFileError ? of(undefined) : throwError(() => error))),
    map((document) => {
      const missing = parseFailedItems(document)
      const names = plan.flatMap(({ stream: { name }, state }) => (state === 'waiting' && Object.hasOwn(missing, name) ? [name] : []))
      return names.length === 0 ? undefined : selectionOf(missing, names)
    }),
  )
}

/** The selection of an unfinished run, from its record. */
export const parseSelection = (given: unknown): RunSelection => {
  if (!isRow(given)) return {}
  const listed = (field: 'only' | 'skip' | 'symbols'): object => (isTexts(given[field]) ? { [field]: given[field] } : {})
  const { pairs } = given
  const isPairs = isRow(pairs) && Object.values(pairs).every(isTexts)
  return {
    ...listed('only'),
    ...listed('skip'),
    ...listed('symbols'),
    ...(isPairs ? { pairs: pairs as NonNullable<RunSelection['pairs']> } : {}),
  }
}

const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every((text) => typeof text === 'string')
