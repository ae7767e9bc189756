import { concatMap, defer, finalize, from, type Observable } from 'rxjs'
import type { Simulator } from '../simulator/index.js'

/** Does something with an embedded provider, which is closed when that ends, fails or is unsubscribed from, even while it is starting. */
export const whileServing = <T>(serve: () => Promise<Simulator>, use: (simulator: Simulator) => Observable<T>): Observable<T> =>
  defer(() => {
    const serving = serve()
    const close = (): void =>
      void serving.then(
        (simulator) => simulator.close(),
        () => undefined,
      )
    return from(serving).pipe(concatMap(use), finalize(close))
  })
