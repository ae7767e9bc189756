import { catchError, type OperatorFunction, of } from 'rxjs'
import { formatError } from './errors.js'

/**
 * Between a run and its onlookers: terminal, log, metrics, live file, page, notification. Whatever one of them throws, at once or later, such as
 * ENOSPC, EBADF or a bug, becomes a note, the first of each onlooker, and changes nothing else.
 */
export interface Wall {
  /** Runs what an onlooker does; undefined if that fails. */
  readonly attempt: <T>(onlooker: string, action: () => T) => T | undefined
  /** The same object with functions that never throw. */
  readonly guard: <T extends object>(onlooker: string, object: T) => T
  /** Completes with undefined instead of an error. */
  readonly pass: <T>(onlooker: string) => OperatorFunction<T, T | undefined>
  readonly note: (onlooker: string, error: unknown) => void
  /** One sentence for each onlooker that has failed. */
  readonly notes: () => readonly string[]
}

/** `say` is called with each note. */
export const createWall = (
  describe = (onlooker: string, error: unknown): string => `${onlooker} threw an error: ${formatError(error)}`,
  say: (note: string) => void = () => undefined,
): Wall => {
  const notes = new Map<string, string>()
  const note: Wall['note'] = (onlooker, error) => {
    if (notes.has(onlooker)) return
    const text = describe(onlooker, error)
    notes.set(onlooker, text)
    try {
      say(text)
    } catch {
      // The terminal that shows it is an onlooker, too.
    }
  }
  const attempt: Wall['attempt'] = (onlooker, action) => {
    try {
      return action()
    } catch (error) {
      note(onlooker, error)
      return undefined
    }
  }
  return {
    attempt,
    note,
    notes: () => [...notes.values()],
    pass: (onlooker) => catchError((error: unknown) => of(void note(onlooker, error))),
    guard: <T extends object>(onlooker: string, object: T): T =>
      Object.fromEntries(
        Object.entries(object).map(([name, value]: [string, unknown]) => [
          name,
          typeof value === 'function' ? (...args: readonly unknown[]) => attempt(onlooker, () => value(...args)) : value,
        ]),
      ) as T,
  }
}
