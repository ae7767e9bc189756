import { defer, type Observable, throwError } from 'rxjs'
import { NothingAnswered } from '../model/errors.js'
import { recover } from './recover.js'

/** One way to get an answer, by the name that its failure is told by. */
export interface Tier<T> {
  readonly name: string
  /** `isLast` says that no other tier follows: until then a tier should fail rather than wait for a host that is away. */
  readonly ask: (isLast: boolean) => Observable<T>
}

/**
 * Asks one tier after the other until one answers; each that fails is told. If none answers: `NothingAnswered` with each one's reason,
 * temporary if the failure of any tier was.
 */
export const firstThatAnswers = <T>(tiers: readonly Tier<T>[], tell: (failure: string) => void = () => undefined): Observable<T> => {
  const from = (place: number, failures: readonly string[], isTemporary: boolean): Observable<T> => {
    const tier = tiers[place]
    if (tier === undefined) return throwError(() => new NothingAnswered(failures.join('; '), isTemporary))
    return defer(() => tier.ask(place === tiers.length - 1)).pipe(
      recover((reason, error) => {
        const failure = `${tier.name}: ${reason}`
        tell(failure)
        return from(place + 1, [...failures, failure], isTemporary || error.isTemporary)
      }),
    )
  }
  return from(0, [], false)
}
