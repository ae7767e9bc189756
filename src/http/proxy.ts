import { TransportError, UsageError } from '../model/errors.js'

/** A proxy of this machine, from its environment. */
export interface NetworkProxy {
  /** May contain credentials. */
  readonly url: string
  /** The address without credentials, for messages. */
  readonly shown: string
  /** The variable that names it. */
  readonly variable: string
}

type Environment = Readonly<Record<string, string | undefined>>

/** Lower case first, as curl does. */
const readVariable = (env: Environment, name: string): readonly [name: string, value: string] | undefined =>
  [name.toLowerCase(), name]
    .map((key) => [key, env[key]?.trim() ?? ''] as const)
    .find(([, value]) => value !== '')

/**
 * The proxy for an address, as curl chooses it: `HTTPS_PROXY` or `HTTP_PROXY` by the scheme, except for hosts
 * in `NO_PROXY` and this machine.
 *
 * @throws UsageError if the variable has no address of a proxy
 */
export const findProxy = (address: string, env: Environment): NetworkProxy | undefined => {
  const url = new URL(address)
  const found = readVariable(env, url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY')
  if (
    found === undefined ||
    isLoopback(url.hostname) ||
    isExcluded(url, readVariable(env, 'NO_PROXY')?.[1] ?? '')
  )
    return undefined
  const [variable, value] = found
  const text = value.includes('://') ? value : `http://${value}`
  if (!/^https?:\/\/./i.test(text) || !URL.canParse(text) || /%(?![\da-f]{2})/i.test(text))
    throw new UsageError(
      `${variable} is not the address of a proxy, such as http://proxy:3128 (value not shown)`,
    )
  return { url: text, shown: new URL(text).origin, variable }
}

const isLoopback = (host: string): boolean => /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(host)

/**
 * Entries of `NO_PROXY`: `*`, a host with its subdomains, `.suffix` or `*.suffix`, each with an optional
 * port.
 */
const isExcluded = ({ hostname, port, protocol }: URL, noProxy: string): boolean =>
  noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      const [, name = '', wanted] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(entry) ?? []
      if (wanted !== undefined && wanted !== (port || (protocol === 'https:' ? '443' : '80'))) return false
      return entry === '*' || hostname === name || hostname.endsWith(`.${name}`)
    })

/** What undici's proxy agent says about a proxy that did not open a tunnel, or that wants a password. */
const PROXY_REFUSAL = /Proxy response \((\d{3})\)|Proxy Authentication Required \((407)\)/

/** The error of a request that a proxy refused; `undefined` for any other error. */
export const toProxyError = (
  error: unknown,
  given: NetworkProxy,
  origin: string,
): TransportError | undefined => {
  const [, tunnel, other = tunnel] = PROXY_REFUSAL.exec((error as Error).message) ?? []
  if (other === undefined) return undefined
  const proxy = describeProxy(given)
  if (other === '407')
    return new TransportError(
      'proxy',
      `${proxy} requires a user name and a password, or rejects them (407)`,
      { cause: error },
    )
  if (other.startsWith('5'))
    return new TransportError('connect', `${proxy} cannot reach the host (${other})`, { cause: error })
  const { port } = new URL(origin)
  const what =
    port === '' ? 'this host' : `this host or its port ${port}; many proxies tunnel to port 443 only`
  return new TransportError('proxy', `${proxy} refuses ${what} (${other})`, {
    cause: error,
    advice: 'proxy-denies',
  })
}

const describeProxy = ({ shown, variable }: NetworkProxy): string => `the proxy ${shown} (${variable})`

/** Programs that are proxies and nothing else. `Via` names them for the host's own answer, too. */
const PROXY_PROGRAM =
  /squid|tinyproxy|privoxy|zscaler|blue ?coat|forcepoint|websense|ironport|mcafee|mitmproxy/i

type ProxyHeaders = Readonly<Record<string, string | string[] | undefined>>

/**
 * The error of a request of plain http that the proxy answered itself: it says so, or sends a page under its
 * own name. `undefined` for an answer of the host.
 */
export const toProxyReplyError = (
  status: number,
  headers: ProxyHeaders,
  { proxy }: { readonly proxy?: NetworkProxy | undefined },
): TransportError | undefined => {
  if (proxy === undefined || status < 400) return undefined
  const said =
    headers['x-squid-error'] ?? (/\berror=/.test(`${headers['proxy-status']}`) && headers['proxy-status'])
  const isPage = /html/i.test(`${headers['content-type']}`)
  if (!said && !(isPage && PROXY_PROGRAM.test(`${headers.server ?? headers.via}`))) return undefined
  const [who, why] = [describeProxy(proxy), said ? `${status}, ${said}` : `${status}`]
  return status >= 500
    ? new TransportError('connect', `${who} cannot reach the host (${why})`)
    : new TransportError('proxy', `${who} refuses this host (${why})`, { advice: 'proxy-denies' })
}
