import { UsageError } from '../model/errors.js'
import type { Settings } from '../model/settings.js'
import { type Endpoint, fillPath, type HeaderSet } from './endpoint.js'
import type { HttpRequest } from './http.js'

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'

/** The request that asks an endpoint. A path in the host's base address stays in front. */
export const requestOf = <Input>(endpoint: Endpoint<Input, unknown>, input: Input, settings: Settings, timeoutMs: number): HttpRequest => {
  const base = settings.urls[endpoint.host]
  if (base === undefined) throw new UsageError(`urls.${endpoint.host} is not set: ${endpoint.name} is asked there`)
  const { method } = endpoint
  const isPost = method === 'POST'
  const path = isPost ? endpoint.path : fillPath(endpoint.path, input as Readonly<Record<string, string>>)
  const headers = {
    ...(isPost ? { 'content-type': 'application/json' } : {}),
    'accept-encoding': 'gzip',
    ...headersOf(endpoint.headers, settings),
    ...lowerCased(settings.headers),
  }
  return { method, url: base.replace(/\/+$/, '') + path, headers, timeoutMs, ...(isPost ? { body: JSON.stringify(input) } : {}) }
}

const lowerCased = (headers: Settings['headers']): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** The shared helper's headers, by what the interface document says of each call. */
const headersOf = (set: HeaderSet, { urls }: Settings): Readonly<Record<string, string>> => {
  const usual = { accept: 'application/json, text/plain, */*', 'accept-language': 'en-IN,en;q=0.9', 'user-agent': BROWSER }
  switch (set) {
    case 'bare':
      return {}
    case 'browser':
      return { accept: '*/*', 'user-agent': BROWSER }
    case 'usual':
      return usual
    case 'origin': {
      const site = urls.web ?? urls.analytics
      return site === undefined ? usual : { ...usual, origin: new URL(site).origin }
    }
  }
}
