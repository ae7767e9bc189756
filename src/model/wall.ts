import { catchError, type OperatorFunction, of } from 'rxjs'
import { formatError } from './errors.js'

/**
 * Between a run and its onlookers: terminal, log, metrics, live file, page, notification. Whatever one of
 * them throws, at once or later, such as ENOSPC, EBADF or a bug, becomes a note, the first of each onlooker,
 * and changes nothing else.
 */
export type Wall = ReturnType<typeof createWall>

/** `say` is called with each note. */
export const createWall = (
  describe = (onlooker: string, error: unknown): string =>
    `${onlooker} threw an error: ${formatError(error)}`,
  say: (note: string) => void = () => undefined,
) => {
  const notes = new Map<string, string>()
  const note = (onlooker: string, error: unknown): void => {
    if (notes.has(onlooker)) return
    const text = describe(onlooker, error)
    notes.set(onlooker, text)
    try {
      say(text)
    } catch {
      // The terminal that shows it is an onlooker, too.
    }
  }
  /** Runs what an onlooker does; undefined if that fails. */
  const attempt = <T>(onlooker: string, action: () => T): T | undefined => {
    try {
      return action()
    } catch (error) {
      note(onlooker, error)
      return undefined
    }
  }
  /** The same object with functions that never throw. */
  const guard = <T extends object>(onlooker: string, object: T): T => {
    const wrap = (value: unknown): unknown =>
      typeof value === 'function'
        ? (...args: readonly unknown[]) => attempt(onlooker, () => value(...args))
        : value
    return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, wrap(value)])) as T
  }
  /** Completes with undefined instead of an error. */
  const pass = <T>(onlooker: string): OperatorFunction<T, T | undefined> =>
    catchError((error: unknown) => of(void note(onlooker, error)))
  return { note, attempt, guard, pass, notes: (): readonly string[] => [...notes.values()] }
}
