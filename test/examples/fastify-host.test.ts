import { createCollector } from 'scripstream'
import { memory } from 'scripstream/sinks'
import { marketNews, masterData } from 'scripstream/streams'
import { expect, it } from 'vitest'
import { type Host, type Reply, runRoutes } from '../../src/examples/12-fastify-host.js'
import { until } from '../support/until.js'
import { serveProvider } from './support.js'

// Fastify needs Node 22, so that it cannot be installed here on Node 20: this has the three of its methods
// that the example uses.
const createHost = () => {
  const routes = new Map<string, Parameters<Host['post']>[1]>()
  const closing: (() => Promise<void>)[] = []
  const add = (method: string) => (path: string, handler: Parameters<Host['post']>[1]) =>
    routes.set(`${method} ${path}`, handler)
  const host: Host = { get: add('GET'), post: add('POST'), addHook: (_, hook) => closing.push(hook) }
  const request = async (route: string): Promise<{ readonly status: number; readonly body: unknown }> => {
    let status = 200
    const reply: Reply = { code: (given) => (status = given) }
    const body = await routes.get(route)?.({}, reply)
    return { status, body }
  }
  return { host, request, close: () => Promise.all(closing.map((hook) => hook())) }
}

it('12: runs once at a time, shows how it goes, and how it ended', async () => {
  const { settings } = await serveProvider()
  const { host, request } = createHost()
  await runRoutes(createCollector({ settings, streams: [masterData, marketNews], storage: memory() }))(host)
  expect(await request('GET /runs/last')).toEqual({ status: 200, body: { status: 'none' } })
  expect(await request('POST /runs')).toEqual({ status: 202, body: { status: 'running' } })
  expect(await request('POST /runs')).toEqual({ status: 409, body: { error: 'a run is active' } })
  const last = async () => (await request('GET /runs/last')).body
  await until('a finished stream', async () => JSON.stringify(await last()).includes('"success"'))
  await until('the end', async () => JSON.stringify(await last()).includes('"ended"'))
  expect(await last()).toMatchObject({ status: 'ended', report: { outcome: 'complete' } })
  expect(await request('GET /health')).toEqual({ status: 200, body: { activeRuns: 0 } })
  expect((await request('POST /runs')).status).toBe(202)
})

it('12: stops the run when the server closes', async () => {
  const provider = await serveProvider([{ on: 'news', mode: 'hang' }])
  const { host, request, close } = createHost()
  await runRoutes(
    createCollector({ settings: provider.settings, streams: [masterData, marketNews], storage: memory() }),
  )(host)
  await request('POST /runs')
  const active = () => provider.stats().endpoints.news?.inFlight ?? 0
  await until('a request that hangs', () => active() > 0)
  await close()
  await until('its end', () => active() === 0)
})

it('12: shows why a run failed', async () => {
  const { host, request } = createHost()
  await runRoutes(createCollector({ settings: {}, streams: [masterData], storage: memory() }))(host)
  await request('POST /runs')
  await until('the failure', async () =>
    JSON.stringify((await request('GET /runs/last')).body).includes('"failed"'),
  )
  expect((await request('GET /runs/last')).body).toEqual({
    status: 'failed',
    reason: expect.stringContaining('analytics'),
  })
  expect((await request('GET /health')).status).toBe(503)
})
