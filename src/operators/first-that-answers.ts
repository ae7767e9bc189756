import { defer, type Observable, throwError } from 'rxjs'
import { NothingAnsweredError } from '../model/errors.js'
import { catchItemFailure } from './catch-item-failure.js'

/** One source of an answer; failures are reported under its name. */
export interface Tier<T> {
  readonly name: string
  /** `isLast`: no other tier follows. Before the last tier, fail fast instead of waiting for a host that is down. */
  readonly ask: (isLast: boolean) => Observable<T>
}

/**
 * Tries the tiers one after the other until one answers, and reports each failure. If none answers, errors with `NothingAnsweredError` and all
 * reasons; temporary if any failure was.
 */
export const firstThatAnswers = <T>(tiers: readonly Tier<T>[], report: (failure: string) => void = () => undefined): Observable<T> => {
  const tryFrom = (index: number, failures: readonly string[], isTemporary: boolean): Observable<T> => {
    const tier = tiers[index]
    if (tier === undefined) return throwError(() => new NothingAnsweredError(failures.join('; '), isTemporary))
    return defer(() => tier.ask(index === tiers.length - 1)).pipe(
      catchItemFailure((reason, error) => {
        const failure = `${tier.name}: ${reason}`
        report(failure)
        return tryFrom(index + 1, [...failures, failure], isTemporary || error.isTemporary)
      }),
    )
  }
  return tryFrom(0, [], false)
}
