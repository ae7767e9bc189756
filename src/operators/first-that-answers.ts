import { defer, first, type Observable, type ObservableInput, tap, throwError } from 'rxjs'
import { type CollectError, NothingAnsweredError } from '../model/errors.js'
import { catchItemFailure } from './catch-item-failure.js'

/** One source of an answer; failures are reported under its name. */
export interface Tier<T> {
  readonly name: string
  /**
   * `isLast`: no other tier follows. Before the last tier, fail fast instead of waiting for a host that is
   * down.
   */
  readonly ask: (isLast: boolean) => Observable<T>
}

/**
 * Tries the tiers one after the other until one emits an answer, and then reports the failures of those
 * before it. If none answers, errors with `NothingAnsweredError` and all reasons; temporary if any failure
 * was. A tier that completes without an answer is a bug.
 *
 * @example firstThatAnswers([{ name: 'api', ask: () => ask(api, {}) }, { name: 'archive', ask: () => ask(archive, {}) }])
 */
export const firstThatAnswers = <T>(
  tiers: readonly (Pick<Tier<T>, 'name'> & { readonly ask: (isLast: boolean) => ObservableInput<T> })[],
  report: (failure: string) => void = () => undefined,
): Observable<T> => {
  const tryFrom = (
    index: number,
    reasons: readonly string[],
    failures: readonly CollectError[],
  ): Observable<T> => {
    const tier = tiers[index]
    if (tier === undefined) return throwError(() => new NothingAnsweredError(reasons.join('; '), failures))
    return defer(() => tier.ask(index === tiers.length - 1)).pipe(
      first(),
      tap(() => reasons.forEach(report)),
      catchItemFailure((reason, error) =>
        tryFrom(index + 1, [...reasons, `${tier.name}: ${reason}`], [...failures, error]),
      ),
    )
  }
  return tryFrom(0, [], [])
}
