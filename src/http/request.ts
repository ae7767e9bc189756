import { defer, Observable } from 'rxjs'
import { cancelled } from '../limiter/through.js'
import { CollectError, UsageError } from '../model/errors.js'
import { findAddress, findHeaders, type Settings, toAddressSetting } from '../model/settings.js'
import type { Endpoint, HeaderSet } from './endpoint.js'
import type {
  HttpReply,
  HttpRequest,
  RequestEnd,
  RequestFollower,
  RequestStart,
  RequestWatch,
} from './transport.js'

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
  // A proxy may keep a list whose address is the same every day.
  const fresh = { 'cache-control': 'no-cache', pragma: 'no-cache', ...headers }
  return (input) => ({
    method,
    url: base + fillPath(path, input as Readonly<Record<string, string>>),
    headers: fresh,
    timeoutMs,
  })
}

/** Characters that a segment of a path may have as they are (RFC 3986): some servers take no others. */
const PATH_CHARACTERS = /%(?:24|26|2B|2C|3A|3B|3D|40)/g

/** Fills the placeholders of a path. Values are percent-encoded where they must be, except for slashes. */
const fillPath = (path: string, values: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string, at: number) => {
    const encoded = (values[name] ?? '').split('/').map(encodeURIComponent).join('/')
    return path.slice(0, at).includes('?') ? encoded : encoded.replace(PATH_CHARACTERS, decodeURIComponent)
  })

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

export type AttemptWatch = ReturnType<typeof watchAttempts>

/**
 * Reports each attempt of a request to the watch of a run: its begin, with what runs within it, and its end.
 */
export const watchAttempts = (
  watch: RequestWatch,
  endpoint: RequestStart['endpoint'],
  clock: () => number,
) => {
  let at = 0
  let isOpen = false
  let follower: RequestFollower | undefined
  let seen: Pick<RequestEnd, 'status' | 'bytes' | 'ms'> | undefined
  return {
    begin: (
      send: () => Observable<HttpReply>,
      describe: () => Pick<RequestStart, 'url' | 'item' | 'attempt'>,
    ): Observable<HttpReply> => {
      at = clock()
      isOpen = true
      seen = undefined
      const begun = watch.begin?.({ endpoint, at, ...describe() })
      follower = begun
      return begun
        ? new Observable((subscriber) => begun.run(() => void defer(send).subscribe(subscriber)))
        : send()
    },
    onReply: ({ status, body }: HttpReply): void => {
      seen = { status, bytes: body.length, ms: clock() - at }
    },
    end: (failure: unknown): void => {
      // An observer may have cancelled the request before its attempt began.
      if (!isOpen) return
      isOpen = false
      const { status, bytes, ms } = seen ?? { status: undefined, bytes: 0, ms: clock() - at }
      const ended = { endpoint, at, failure: toCode(failure), status, bytes, ms }
      watch.end(ended)
      follower?.end(ended)
    },
  }
}

const toCode = (failure: unknown): string | undefined => {
  if (failure === undefined) return undefined
  if (failure === cancelled) return 'cancelled'
  return failure instanceof CollectError ? failure.code : 'error'
}
