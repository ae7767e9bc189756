import { AsyncSubject, defer, type Observable, share } from 'rxjs'
import type { Tools } from './define-stream.js'

/** What a run asks only once: the first to want it asks, everybody gets that answer or that error. */
export const askedOnce = (): Tools['shared'] => {
  const answers = new Map<string, Observable<unknown>>()
  return <T>(key: string, make: () => Observable<T>): Observable<T> => {
    const answer =
      answers.get(key) ?? defer(make).pipe(share({ connector: () => new AsyncSubject(), resetOnError: false, resetOnComplete: false }))
    answers.set(key, answer)
    return answer as Observable<T>
  }
}
