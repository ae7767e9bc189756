import { UsageError } from '../model/errors.js'

/** Where a fleet meets. */
export interface FleetAddress {
  /** As a Redis client takes it, password and all: not to be shown. */
  readonly url: string
  /** What all keys of the fleet begin with. */
  readonly prefix: string
  /** Without what identifies the user. */
  readonly shown: string
}

const PREFIX = 'scripstream'
const HOW = 'give redis://host:6379, or redis://user:password@host:6379/0?prefix=nse for one of several fleets on it (rediss:// with TLS)'

/** Reads the address of a fleet: that of a Redis server, whose `prefix` tells several fleets apart. Errors do not repeat it: it may hold a password. */
export const readFleetAddress = (text: string): FleetAddress => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^rediss?:$/.test(url.protocol) || url.hostname === '')
    throw new UsageError(`the engine is no address of a Redis server: ${HOW}`)
  if (!isReadable(url.username) || !isReadable(url.password))
    throw new UsageError('the engine\'s address holds a user or a password that cannot be read: write a "%" in it as "%25"')
  if (!/^\/?\d{0,4}$/.test(url.pathname)) throw new UsageError(`the engine's address names no database by number: ${HOW}`)
  const prefix = url.searchParams.get('prefix') ?? PREFIX
  const unknown = [...url.searchParams.keys()].find((name) => name !== 'prefix')
  if (unknown !== undefined || !/^[\w-]{1,40}$/.test(prefix))
    throw new UsageError(`the engine's address may hold a prefix of letters, digits, _ and -, and nothing else after the "?": ${HOW}`)
  url.search = ''
  const { protocol, host, pathname } = url
  return { url: url.href, prefix, shown: `${protocol}//${host}${pathname}${prefix === PREFIX ? '' : `?prefix=${prefix}`}` }
}

/** Whether the client can take apart what was written with percent signs. */
const isReadable = (part: string): boolean => {
  try {
    return decodeURIComponent(part) !== undefined
  } catch {
    return false
  }
}
