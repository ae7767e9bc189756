import type { IncomingHttpHeaders, ServerResponse } from 'node:http'

/**
 * Everything that the page loads comes from this server; nothing of it can be framed, embedded, or read by
 * another site.
 */
const SAFETY_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-cache',
} as const

export const setSafetyHeaders = (response: ServerResponse): void => {
  for (const [name, value] of Object.entries(SAFETY_HEADERS)) response.setHeader(name, value)
}

/** An answer that is an error: its status, and one sentence for people. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError'

  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

interface CheckedRequest {
  readonly method: string
  /** The path and query as they arrived. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

/**
 * Refuses what no page of ours sends. The name in `Host` must be that of this machine: a site of somebody
 * else whose name suddenly points here (DNS rebinding) sends its own. `Origin` names the site of a script.
 * `Sec-Fetch-Site` also tells of an image of another site, which could not read an answer, but make the
 * server work.
 * @throws AnswerError
 */
export const checkRequest = ({ method, url, headers }: CheckedRequest, port: number): void => {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`]
  if (!hosts.includes(headers.host?.toLowerCase() ?? ''))
    throw new AnswerError(421, `this page is served as http://127.0.0.1:${port} only; open that address`)
  const isOurs = hosts.some((host) => headers.origin === `http://${host}`)
  const isApi = /^\/api(?:[/?]|$)/.test(url)
  const isForeign =
    isApi && !['same-origin', 'none', undefined].includes(headers['sec-fetch-site']?.toString())
  if (isForeign || (headers.origin !== undefined && !isOurs))
    throw new AnswerError(403, 'the request came from another site; only this page may send it')
  if (method !== 'GET' && method !== 'HEAD' && method !== 'POST')
    throw new AnswerError(405, `the method ${method} is not used here; use GET`)
  if (method === 'POST' && !isOurs)
    throw new AnswerError(403, 'a POST must come from this page: its Origin is missing')
  checkPath(url)
}

/**
 * Refuses a path that could mean a place above: also encoded, and once more encoded. No file is opened by a
 * path of a request; this is the second lock.
 */
const checkPath = (url: string): void => {
  const [path = ''] = url.split('?')
  let decoded = path
  try {
    for (let times = 0; times < 2; times += 1) decoded = decodeURIComponent(decoded)
  } catch {
    // A name may hold a percent sign; once decoded it stays as it is. A path that cannot be decoded once is
    // refused by the routes.
  }
  const leadsUp = decoded.split(/[/\\]/).some((part) => part === '..' || part === '.')
  if (!path.startsWith('/') || leadsUp || decoded.includes('\0'))
    throw new AnswerError(400, 'the path of the request is not valid')
}
