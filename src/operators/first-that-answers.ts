import { defer, type Observable, throwError } from 'rxjs'
import { type CollectError, NothingAnsweredError } from '../model/errors.js'
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
 *
 * @example firstThatAnswers([{ name: 'api', ask: () => ask(api, {}) }, { name: 'archive', ask: () => ask(archive, {}) }])
 */
export const firstThatAnswers = <T>(tiers: readonly Tier<T>[], report: (failure: string) => void = () => undefined): Observable<T> => {
  const tryFrom = (index: number, reasons: readonly string[], failures: readonly CollectError[]): Observable<T> => {
    const tier = tiers[index]
    if (tier === undefined) return throwError(() => new NothingAnsweredError(reasons.join('; '), failures))
    return defer(() => tier.ask(index === tiers.length - 1)).pipe(
      catchItemFailure((reason, error) => {
        const named = `${tier.name}: ${reason}`
        report(named)
        return tryFrom(index + 1, [...reasons, named], [...failures, error])
      }),
    )
  }
  return tryFrom(0, [], [])
}
