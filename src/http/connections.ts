import { Socket } from 'node:net'
import { type PeerCertificate, TLSSocket } from 'node:tls'
import { concatMap, defer } from 'rxjs'
import type { buildConnector, Dispatcher, Pool, ProxyAgent } from 'undici'
import { captureContext, type Within } from '../model/context.js'
import { getOrAdd } from '../model/map.js'
import { Settings, type SettingsInput } from '../model/settings.js'
import { createTransport, type HttpDispatcher, type OriginRoute } from './exchange.js'
import { findProxy, type NetworkProxy } from './proxy.js'
import type { HttpRequest, Transport } from './transport.js'
import { createOriginRecord, nameIssuer } from './transport-errors.js'

const CONNECT_TIMEOUT_MS = 5_000
/**
 * How long before the `Keep-Alive` of a host its connections are not used any more. With undici's 2 s, a host
 * that keeps them for 1 or 2 s would get a new one for each request; a reset is retried anyway.
 */
const KEEP_ALIVE_MARGIN_MS = 500

export interface ConnectionOptions {
  /** Sends all requests. Default: own pools, one per origin, through the proxies of the environment. */
  readonly dispatcher?: HttpDispatcher | undefined
  /** Follows redirects to the addresses in these settings. */
  readonly settings?: Settings
  /** The maximum of connections by origin; other origins are unbounded. */
  readonly maxConnections?: ReadonlyMap<string, number>
  /**
   * Sends each request in the asynchronous context of its caller, also after it has waited for a connection.
   * For traces.
   */
  readonly keepsContext?: boolean | undefined
  /** Names the proxies. Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

interface Connections {
  readonly send: Transport
  /** Closes every socket at once; requests in flight error. */
  readonly close: () => void
}

type Undici = typeof import('undici')

/** Opens keep-alive connections, or sends through the given dispatcher. */
export const openConnections = (options: ConnectionOptions = {}): Connections => {
  const { dispatcher, settings } = options
  if (dispatcher) return sendThrough((origin) => ({ origin, agent: dispatcher }), settings)
  let own: Connections | undefined
  // Loaded on demand: it takes 60 ms of CPU, and most commands send no request. By its file: Bun has a
  // package of its own by the name of undici, without pools.
  const load = async (): Promise<Connections> => {
    const undici = await import('undici/index.js')
    own ??= openOwn(undici, options)
    return own
  }
  return {
    send: (request) => (own ? own.send(request) : defer(load).pipe(concatMap(({ send }) => send(request)))),
    close: () => own?.close(),
  }
}

const sendThrough = (open: (origin: string) => OriginRoute, settings: Settings | undefined): Connections => {
  const routes = new Map<string, OriginRoute>()
  // Most requests of a stream share one address.
  const targets = new Map<string, { readonly route: OriginRoute; readonly path: string }>()
  const findTarget = ({ method, url: address }: HttpRequest) => {
    const known = targets.get(address)
    if (known) return known
    const { origin, pathname, search } = new URL(address)
    const target = {
      route: getOrAdd(routes, origin, () => ({ record: createOriginRecord(), ...open(origin) })),
      path: `${pathname}${search}`,
    }
    // Only POSTs share addresses; each GET may have its own.
    if (method === 'POST') targets.set(address, target)
    return target
  }
  const close = (): void => {
    for (const { own } of routes.values()) void own?.destroy()
    routes.clear()
    targets.clear()
  }
  return { send: createTransport(findTarget, settings), close }
}

const openOwn = (
  undici: Undici,
  { settings, maxConnections, keepsContext = false, env = process.env }: ConnectionOptions,
): Connections => {
  const { connect, abandon } = createConnector(undici)
  const { send, close } = sendThrough((origin) => {
    const options = {
      connections: maxConnections?.get(origin) ?? null,
      pipelining: 1,
      connect,
      keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
    }
    const proxy = findProxy(origin, env)
    if (proxy) {
      const own = openProxied(undici, proxy, options)
      return { origin, agent: own, own, proxy }
    }
    return keepsContext ? openBoundPool(undici, origin, options) : openPool(undici, origin, options)
  }, settings)
  return {
    send,
    close() {
      close()
      abandon()
    },
  }
}

const openPool = ({ Pool }: Undici, origin: string, options: Pool.Options): OriginRoute => {
  const own = new Pool(origin, options)
  return { origin, agent: own, own }
}

interface BoundOptions extends Dispatcher.DispatchOptions {
  readonly within: Within
}

/**
 * A pool whose queue keeps the context of each request; otherwise a request that had to wait begins in that
 * of another one.
 */
const openBoundPool = ({ Client, Pool }: Undici, origin: string, options: Pool.Options): OriginRoute => {
  /**
   * The instrumentation of undici finds the span of a request in the context in which the client begins it.
   */
  class BoundClient extends Client {
    override dispatch(options: BoundOptions, handler: Dispatcher.DispatchHandler): boolean {
      return options.within(() => super.dispatch(options, handler))
    }
  }
  const own = new Pool(origin, { ...options, factory: (address, given) => new BoundClient(address, given) })
  const agent: HttpDispatcher = {
    dispatch: (given, handler) =>
      own.dispatch({ ...given, within: captureContext() } as BoundOptions, handler),
  }
  return { origin, agent, own }
}

/**
 * A transport that sends through a dispatcher of undici, to wrap or to pass to `createCollector({ transport
 * })`. It follows redirects to the addresses in `settings`, limits bodies to 32 MiB, decompresses them, and
 * errors with `TransportError`.
 *
 * @example
 * const send = httpTransport(new MockAgent())
 * createCollector({ settings, transport: (request) => defer(() => log(request.url)).pipe(switchMap(() => send(request))) })
 */
export const httpTransport = (
  dispatcher: HttpDispatcher,
  settings: Pick<SettingsInput, 'urls' | 'hosts' | 'headers'> = {},
): Transport => openConnections({ dispatcher, settings: Settings.parse(settings) }).send

/**
 * Tunnels https; requests of plain http name the whole address, because many proxies tunnel to port 443 only.
 */
const openProxied = (
  { Pool, ProxyAgent }: Undici,
  { url }: NetworkProxy,
  { connect: _, ...options }: Pool.Options,
): ProxyAgent =>
  new ProxyAgent({
    ...options,
    uri: url,
    proxyTunnel: false,
    proxyTls: { timeout: CONNECT_TIMEOUT_MS },
    factory: (origin, given) => new Pool(origin, { ...options, ...given }),
  })

/**
 * Closing a pool leaves its connecting sockets open until they connect or time out; `abandon` destroys them.
 */
const createConnector = ({
  buildConnector,
}: Undici): { readonly connect: buildConnector.connector; readonly abandon: () => void } => {
  const open = buildConnector({ timeout: CONNECT_TIMEOUT_MS })
  const connecting = new Set<Socket>()
  return {
    connect(options, done) {
      // undici's connector returns its socket, though its type does not say so.
      const socket: unknown = open(options, (error, connected) => {
        if (socket instanceof Socket) connecting.delete(skipContinue(socket))
        if (error) done(nameIssuer(error, issuer), null)
        else done(error, connected)
      })
      let issuer: string | undefined
      // After the handshake, but before a certificate that fails closes the connection.
      if (socket instanceof TLSSocket)
        socket.prependListener('secure', () => {
          issuer = readIssuer(socket.getPeerCertificate())
        })
      if (socket instanceof Socket) connecting.add(socket)
    },
    abandon() {
      for (const socket of connecting) socket.destroy(new Error('closed'))
      connecting.clear()
    },
  }
}

const readIssuer = ({ issuer }: Partial<PeerCertificate>): string | undefined =>
  [issuer?.CN ?? issuer?.O ?? []].flat()[0]

const CONTINUE = 'HTTP/1.1 100'
const BLANK_LINE = '\r\n\r\n'
/** undici's limit for the head of a response. */
const MAX_HEAD_BYTES = 16_384

/**
 * Skips `100 Continue` in front of a response. RFC 9110 (15.2) requires that even of a client that did not
 * expect one, but undici closes the connection ("bad response"). undici itself skips other interim responses,
 * such as 103 Early Hints.
 */
const skipContinue = <S extends Socket>(socket: S): S => {
  const write = socket.write.bind(socket) as (...args: readonly unknown[]) => boolean
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null
  let isHeadDue = false
  let waiting: Buffer | undefined
  socket.write = (...args: readonly unknown[]) => {
    // The next bytes are the head of a response: without pipelining there is one request at a time.
    isHeadDue = true
    return write(...args)
  }
  socket.read = (size?: number) => {
    for (let chunk = read(size); chunk !== null; chunk = read(size)) {
      if (!isHeadDue) return chunk
      const { rest, isHead } = skipInterimHeads(
        waiting === undefined ? chunk : Buffer.concat([waiting, chunk]),
      )
      waiting = isHead ? undefined : rest
      isHeadDue = !isHead
      if (isHead) return rest
    }
    return null
  }
  return socket
}

/**
 * The bytes behind the skipped responses, and whether they start the final head (not one more, incomplete
 * `100 Continue`).
 */
const skipInterimHeads = (bytes: Buffer): { readonly rest: Buffer; readonly isHead: boolean } => {
  let rest = bytes
  while (CONTINUE.startsWith(rest.toString('latin1', 0, CONTINUE.length))) {
    const end = rest.indexOf(BLANK_LINE)
    // Too long: pass it on, undici refuses it.
    if (end < 0) return { rest, isHead: rest.length > MAX_HEAD_BYTES }
    rest = rest.subarray(end + BLANK_LINE.length)
  }
  return { rest, isHead: true }
}
