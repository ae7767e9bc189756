import { type IncomingHttpHeaders, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import type { StreamDefinition } from '../../src/engine/define-stream.js'
import type { RunEvent } from '../../src/model/event.js'
import { createRunProgress } from '../../src/model/progress.js'
import { createRunStats } from '../../src/model/run-stats.js'
import type { Settings } from '../../src/model/settings.js'
import type { LiveChange } from '../../src/web/api/live.js'
import type { LiveSnapshot } from '../../src/web/api/state.js'
import { createRunView } from '../../src/web/server/run-view.js'
import type { PageServerOptions } from '../../src/web/server/serve.js'
import { temporaryFolder } from '../support/folders.js'
import { serveFolder } from '../support/page-server.js'

/** Starts a server that stops when the test ends. */
export const startServer = async (out = temporaryFolder(), changes: Partial<PageServerOptions> = {}) => {
  const server = await serveFolder(out, changes)
  onTestFinished(() => server.close())
  return server
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Sends a request exactly as it is given; `fetch` would change paths and hosts. */
export const send = (
  origin: string,
  path: string,
  {
    method = 'GET',
    headers = {},
    body,
  }: { readonly method?: string; readonly headers?: Record<string, string>; readonly body?: string } = {},
): Promise<Answer> => {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers, agent: false }, (response) => {
      text(response).then(
        (read) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: read }),
        reject,
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** An event as it was sent. */
export interface SentEvent {
  readonly type: string
  readonly id: string
  readonly data: LiveSnapshot & LiveChange
}

/** The events in a text of server-sent events. */
export const parseEvents = (sent: string): readonly SentEvent[] =>
  sent.split('\n\n').flatMap((block) => {
    const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? ''
    return field('event') === ''
      ? []
      : [{ type: field('event'), id: field('id'), data: JSON.parse(field('data')) as SentEvent['data'] }]
  })

/** The live state of a run that has these events so far. */
export const followLive = (
  streams: readonly StreamDefinition[],
  workers: Settings['workers'] = {},
  limiters: Parameters<typeof createRunView>[3] = () => [],
) => {
  const stats = createRunStats()
  const live = createRunView(streams, { workers }, createRunProgress(stats, []), limiters)
  return { ...live, stats, event: stats.record }
}

export const started = (streams: readonly string[], changes: object = {}): RunEvent => ({
  type: 'run-started',
  at: 1_000,
  run: 'r1',
  asOf: 0,
  streams: streams.map((name) => ({ name, state: 'waiting', hosts: [name] })),
  ...changes,
})
