import { UsageError } from '../model/errors.js'

/** What the driver and the workers of a fleet need. */
export interface FleetOptions {
  /** `redis://host:6379`, with `?prefix=` if several fleets share a server. */
  readonly address: string
  /** The folder that all machines of the fleet share. */
  readonly blobs: string
  /**
   * The version of this program. Only workers of the same version, with the same build of scripstream,
   * process its items.
   */
  readonly version: string
  /** Accept a Redis server that does not persist its data. */
  readonly allowVolatile?: boolean | undefined
}

/** The address of a fleet: a Redis server and a prefix. */
export interface FleetAddress {
  /** For the Redis client. It contains the password: never print it. */
  readonly url: string
  readonly prefix: string
  /** The address without user and password, for messages. */
  readonly shown: string
}

const DEFAULT_PREFIX = 'scripstream'
const ADDRESS_FORMAT =
  'use redis://host:6379, or redis://user:password@host:6379/0?prefix=nse for one of several fleets on it (rediss:// with TLS)'

/**
 * Parses the address of a fleet: a Redis URL, with `?prefix=` if several fleets share the server. Errors do
 * not quote it, because it may contain a password.
 * @throws UsageError for an invalid address
 */
export const readFleetAddress = (text: string): FleetAddress => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^rediss?:$/.test(url.protocol) || url.hostname === '')
    throw new UsageError(`the engine is not the URL of a Redis server: ${ADDRESS_FORMAT}`)
  if (!isDecodable(url.username) || !isDecodable(url.password))
    throw new UsageError(
      'the engine address has an invalid percent escape in its user or password: write "%" as "%25"',
    )
  if (!/^\/?\d{0,4}$/.test(url.pathname))
    throw new UsageError(`the path of the engine address must be a database number: ${ADDRESS_FORMAT}`)
  const prefix = url.searchParams.get('prefix') ?? DEFAULT_PREFIX
  const unknown = [...url.searchParams.keys()].find((name) => name !== 'prefix')
  if (unknown !== undefined || !/^[\w-]{1,40}$/.test(prefix))
    throw new UsageError(
      `the engine address allows only ?prefix=NAME after the "?" (letters, digits, _ and -): ${ADDRESS_FORMAT}`,
    )
  url.search = ''
  const { protocol, host, pathname } = url
  return {
    url: url.href,
    prefix,
    shown: `${protocol}//${host}${pathname}${prefix === DEFAULT_PREFIX ? '' : `?prefix=${prefix}`}`,
  }
}

/** Whether the percent escapes are valid: the Redis client decodes them. */
const isDecodable = (part: string): boolean => {
  try {
    return decodeURIComponent(part) !== undefined
  } catch {
    return false
  }
}
