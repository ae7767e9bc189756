/** A host that collects on request, as a plugin of Fastify: POST /runs starts a run, GET /runs/last shows it, and closing the server stops it. */
import type { Subscription } from 'rxjs'
import type { Collector, RunEvent, RunReport } from 'scripstream'

/** How the last run goes. */
export type RunState =
  | { readonly state: 'idle' }
  | { readonly state: 'running'; readonly finished: readonly string[] }
  | ({ readonly state: 'ended' } & Pick<RunReport, 'outcome' | 'missing'>)
  | { readonly state: 'failed'; readonly reason: string }

/** What this uses of Fastify, so that the example compiles without it. In your app, write `FastifyInstance` instead. */
export interface Host {
  get(path: string, handler: () => Promise<unknown>): unknown
  post(path: string, handler: (request: unknown, reply: Reply) => Promise<unknown>): unknown
  addHook(name: 'onClose', hook: () => Promise<void>): unknown
}
/** The reply of a route of Fastify. */
export interface Reply {
  code(status: number): unknown
}

/** `fastify.register(runRoutes(collector))`. One run at a time: a second request gets 409. */
export const runRoutes =
  (collector: Pick<Collector, 'events'>) =>
  async (app: Host): Promise<void> => {
    let last: RunState = { state: 'idle' }
    let running: Subscription | undefined

    const follow = (event: RunEvent): void => {
      if (event.type === 'stream-finished' && last.state === 'running') last = { ...last, finished: [...last.finished, event.stream] }
      if (event.type !== 'run-finished') return
      const { outcome, missing = {} } = event.report
      last = { state: 'ended', outcome, missing }
    }

    app.post('/runs', async (_, reply) => {
      reply.code(last.state === 'running' ? 409 : 202)
      if (last.state === 'running') return { error: 'a run is active' }
      last = { state: 'running', finished: [] }
      running = collector.events().subscribe({
        next: follow,
        error: ({ message }: Error) => {
          last = { state: 'failed', reason: message }
        },
      })
      return last
    })
    app.get('/runs/last', async () => last)
    // Aborts the requests in flight and releases the folder. The next run resumes.
    app.addHook('onClose', async () => running?.unsubscribe())
  }
