import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { firstValueFrom, forkJoin } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import { connect, serveHttp } from './support.js'

it('a request that waits for a connection begins in the context of its caller, where the instrumentation of undici looks for its span', async () => {
  const { url } = await serveHttp((_, response) => response.end('x'))
  const context = new AsyncLocalStorage<string>()
  const begun: string[] = []
  const listen = (message: unknown): void => {
    const { path } = (message as { readonly request: { readonly path: string } }).request
    begun.push(`${path} in ${context.getStore()}`)
  }
  subscribe('undici:request:create', listen)
  onTestFinished(() => void unsubscribe('undici:request:create', listen))
  const { send } = connect({ keepsContext: true, maxConnections: new Map([[url, 1]]) })
  const request = (path: string) => send({ method: 'GET', url: url + path, headers: {}, timeoutMs: 10_000 })
  const paths = ['/1', '/2', '/3', '/4']
  const sent = paths.map((path) => context.run(path, () => firstValueFrom(request(path))))
  await firstValueFrom(forkJoin(sent))
  expect(begun).toEqual(paths.map((path) => `${path} in ${path}`))
})
