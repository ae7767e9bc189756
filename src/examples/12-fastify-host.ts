/**
 * A host that collects on request, as a plugin of Fastify: POST /runs starts a run, GET /runs/last shows it,
 * GET /health is for its monitor, and closing the server stops it.
 */
import type { Collector, Run } from 'scripstream'

/**
 * What this uses of Fastify, so that the example compiles without it. In your app, write `FastifyInstance`
 * instead.
 */
export interface Host {
  get(path: string, handler: (request: unknown, reply: Reply) => Promise<unknown>): unknown
  post(path: string, handler: (request: unknown, reply: Reply) => Promise<unknown>): unknown
  addHook(name: 'onClose', hook: () => Promise<void>): unknown
}
/** The reply of a route of Fastify. */
export interface Reply {
  code(status: number): unknown
}

/** `fastify.register(runRoutes(collector))`. One run at a time: a second request gets 409. */
export const runRoutes =
  <Rows>(collector: Pick<Collector<Rows>, 'open' | 'health'>) =>
  async (app: Host): Promise<void> => {
    let run: Run<Rows> | undefined
    const closing = new AbortController()

    app.post('/runs', async (_, reply) => {
      const isActive = run?.state().status === 'waiting' || run?.state().status === 'running'
      reply.code(isActive ? 409 : 202)
      if (isActive) return { error: 'a run is active' }
      run = collector.open({ signal: closing.signal })
      // How it ends is in its state, a failure too.
      run.report$.subscribe({ error: () => {} })
      return { status: 'running' }
    })
    app.get('/runs/last', async () => {
      const state = run?.state() ?? { status: 'none' }
      return 'error' in state ? { status: state.status, reason: String(state.error) } : state
    })
    app.get('/health', async (_, reply) => {
      const { isHealthy, activeRuns } = collector.health()
      reply.code(isHealthy ? 200 : 503)
      return { activeRuns }
    })
    // Aborts the requests in flight and releases the folder. The next run resumes.
    app.addHook('onClose', async () => closing.abort())
  }
