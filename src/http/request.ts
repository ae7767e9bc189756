import { UsageError } from '../model/errors.js'
import { findAddress, type Settings, toAddressSetting } from '../model/settings.js'
import { type Endpoint, fillPath, type HeaderSet } from './endpoint.js'
import type { HttpRequest } from './transport.js'

const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'

/** Returns a function that builds the requests to an endpoint; common parts are built once. A path in the host's base address is kept. */
export const createRequestBuilder = <Input>(
  { name, host, method, path, headers: set }: Endpoint<Input, unknown>,
  settings: Settings,
  timeoutMs: number,
): ((input: Input) => HttpRequest) => {
  const base = findAddress(settings, host)?.replace(/\/+$/, '')
  if (base === undefined) throw new UsageError(`${toAddressSetting(host)} is not set; ${name} needs it`)
  const usual = { 'accept-encoding': 'gzip', ...selectHeaders(set, settings) }
  const own = lowerCaseNames(settings.headers)
  if (method === 'POST') {
    const url = base + path
    const headers = { 'content-type': 'application/json', ...usual, ...own }
    return (input) => ({ method, url, headers, timeoutMs, body: JSON.stringify(input) })
  }
  const headers = { ...usual, ...own }
  return (input) => ({ method, url: base + fillPath(path, input as Readonly<Record<string, string>>), headers, timeoutMs })
}

const lowerCaseNames = (headers: Settings['headers']): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** The headers that the interface document specifies for each endpoint. */
const selectHeaders = (set: HeaderSet, { urls }: Settings): Readonly<Record<string, string>> => {
  const usual = { accept: 'application/json, text/plain, */*', 'accept-language': 'en-IN,en;q=0.9', 'user-agent': USER_AGENT }
  switch (set) {
    case 'bare':
      return {}
    case 'browser':
      return { accept: '*/*', 'user-agent': USER_AGENT }
    case 'usual':
      return usual
    case 'origin': {
      const site = urls.web ?? urls.analytics
      return site === undefined ? usual : { ...usual, origin: new URL(site).origin }
    }
  }
}
