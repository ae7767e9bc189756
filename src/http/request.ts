import { UsageError } from '../model/errors.js'
import { findAddress, findHeaders, type Settings, toAddressSetting } from '../model/settings.js'
import type { Endpoint, HeaderSet } from './endpoint.js'
import type { HttpRequest } from './transport.js'

const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'

/**
 * Returns a function that builds the requests to an endpoint; common parts are built once. A path in the
 * host's base address is kept.
 */
export const createRequestBuilder = <Input>(
  { name, host, method, path, headers: set }: Endpoint<Input, unknown>,
  settings: Settings,
  timeoutMs: number,
): ((input: Input) => HttpRequest) => {
  const base = findAddress(settings, host)?.replace(/\/+$/, '')
  if (base === undefined) throw new UsageError(`${toAddressSetting(host)} is not set; ${name} needs it`)
  const url = base + path
  const usual = { 'accept-encoding': 'gzip', ...selectHeaders(set, settings), ...findHeaders(settings, host) }
  const headers = method === 'POST' ? { 'content-type': 'application/json', ...usual } : usual
  if (method === 'POST') return (input) => ({ method, url, headers, timeoutMs, body: JSON.stringify(input) })
  return (input) => ({
    method,
    url: base + fillPath(path, input as Readonly<Record<string, string>>),
    headers,
    timeoutMs,
  })
}

/** Fills the placeholders of a path. Values are percent-encoded, except for slashes. */
const fillPath = (path: string, values: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) =>
    (values[name] ?? '').split('/').map(encodeURIComponent).join('/'),
  )

/** The headers that the interface document specifies for each endpoint. */
const selectHeaders = (set: HeaderSet, settings: Settings): Readonly<Record<string, string>> => {
  if (set === 'bare') return {}
  if (set === 'browser') return { accept: '*/*', 'user-agent': USER_AGENT }
  const usual = {
    accept: 'application/json, text/plain, */*',
    'accept-language': 'en-IN,en;q=0.9',
    'user-agent': USER_AGENT,
  }
  const site =
    set === 'origin' ? (findAddress(settings, 'web') ?? findAddress(settings, 'analytics')) : undefined
  return site === undefined ? usual : { ...usual, origin: new URL(site).origin }
}
