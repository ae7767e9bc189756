import { concatMap, defer, finalize, from, type Observable } from 'rxjs'

/** Uses a server, such as the simulator. Closes it when `use` completes, fails or is unsubscribed, even while it is starting. */
export const whileServing = <Server extends { readonly close: () => unknown }, T>(
  serve: () => Promise<Server>,
  use: (server: Server) => Observable<T>,
): Observable<T> =>
  defer(() => {
    const serving = serve()
    const close = (): void =>
      void serving.then(
        (server) => server.close(),
        () => undefined,
      )
    return from(serving).pipe(concatMap(use), finalize(close))
  })
