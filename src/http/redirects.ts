import { findAddress, listHeaders, listHosts, type Settings } from '../model/settings.js'
import type { HttpReply, HttpRequest, Redirect } from './transport.js'

const MAX_HOPS = 2
const KEEPS_METHOD: Readonly<Record<HttpRequest['method'], ReadonlySet<number>>> = {
  GET: new Set([301, 302, 303, 307, 308]),
  POST: new Set([307, 308]),
  PUT: new Set([307, 308]),
}

/**
 * Follows a redirect that keeps the method, leads to one of the configured hosts and does not downgrade https to http. The headers of the
 * settings are removed: they are for the original address. Any other redirect is returned as the answer.
 */
export const createRedirect = (settings: Settings): Redirect => {
  const addresses = listHosts(settings).flatMap((host) => findAddress(settings, host) ?? [])
  const origins = new Set(addresses.map((url) => new URL(url).origin))
  const own = new Set(listHeaders(settings).map(([name]) => name.toLowerCase()))
  return (reply, request, hop) => {
    if (hop >= MAX_HOPS || !KEEPS_METHOD[request.method].has(reply.status)) return undefined
    const url = resolveLocation(reply, request, origins)
    return url === undefined ? undefined : { ...request, url, headers: omitHeaders(own, request.headers) }
  }
}

const resolveLocation = ({ location }: HttpReply, { url }: HttpRequest, origins: ReadonlySet<string>): string | undefined => {
  if (location === undefined || !URL.canParse(location, url)) return undefined
  const target = new URL(location, url)
  const isSafe = origins.has(target.origin) && !(url.startsWith('https:') && target.protocol === 'http:')
  return isSafe && target.username === '' && target.password === '' ? target.href : undefined
}

const omitHeaders = (names: ReadonlySet<string>, headers: HttpRequest['headers']): HttpRequest['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name.toLowerCase())))
