import { concatMap, defer, finalize, from, type Observable } from 'rxjs'

/** Does something with a server, such as the embedded provider, which is closed when that ends, fails or is unsubscribed from, even while it is starting. */
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
