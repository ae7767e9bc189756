import { defer, type Observable, throwError } from 'rxjs'
import { NothingAnswered } from '../model/errors.js'
import { recover } from './recover.js'

/** One way to get an answer, by the name that its failure is told by. */
export interface Tier<T> {
  readonly name: string
  readonly ask: () => Observable<T>
}

/** Asks one tier after the other until one answers. If none does: `NothingAnswered` with each one's reason. */
export const firstThatAnswers = <T>(tiers: readonly Tier<T>[], reasons: readonly string[] = []): Observable<T> => {
  const [tier, ...rest] = tiers
  if (tier === undefined) return throwError(() => new NothingAnswered(reasons.join('; ')))
  return defer(tier.ask).pipe(recover((reason) => firstThatAnswers(rest, [...reasons, `${tier.name}: ${reason}`])))
}
