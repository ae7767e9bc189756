import { getOrAdd } from '../model/map.js'
import { findAddress, type Host, listHosts, type Settings } from '../model/settings.js'
import { createHostLimiters, type HostLimiters, type LimiterReading } from './host-limiter.js'
import type { BackoffStatus } from './limiter-state.js'
import { createNetworkLink } from './network-link.js'

/** The state of a limiter: of a host, or of one endpoint of it. */
export interface LimiterStatus extends LimiterReading {
  /** The services that share it, because they have the same base address. */
  readonly hosts: readonly Host[]
  /** Absent for the host as a whole. */
  readonly endpoint?: string
}

export type LimiterRegistry = ReturnType<typeof createLimiters>

/** The identity of a host: its base address, or the service name if none is set. */
export const toHostAddress = (settings: Pick<Settings, 'urls' | 'hosts'>, host: Host): string =>
  findAddress(settings, host)?.replace(/\/+$/, '') ?? host

/**
 * The limiters of one run. Services with the same base address share them. `onBackoff` is called when services, or one endpoint of them,
 * start to back off, and with `undefined` when they accept requests again.
 */
export const createLimiters = (
  settings: Settings,
  onBackoff: (hosts: readonly Host[], status: BackoffStatus | undefined, endpoint: string | undefined) => void = () => undefined,
) => {
  const all = new Map<string, { readonly host: Host; readonly hosts: readonly Host[]; readonly limiters: HostLimiters }>()
  const link = createNetworkLink()
  const findLimiters = (host: Host): HostLimiters => {
    const address = toHostAddress(settings, host)
    return getOrAdd(all, address, () => {
      const hosts = listHosts(settings).filter((other) => toHostAddress(settings, other) === address)
      const maxRate = Math.min(...hosts.map((other) => settings.hosts[other]?.maxRate ?? Number.POSITIVE_INFINITY))
      const onHostBackoff = (status: BackoffStatus | undefined, endpoint?: string): void => onBackoff(hosts, status, endpoint)
      const limiters = createHostLimiters(host, settings, { link, maxRate, onBackoff: onHostBackoff })
      return { host, hosts, limiters }
    }).limiters
  }
  return {
    forEndpoint: ({ host, name }: { readonly host: Host; readonly name: string }) => findLimiters(host).forEndpoint(name),
    /** Measurements of the network link, shared by all hosts; updated as bytes arrive. */
    link,
    /** Lines for the report, of each host that delayed requests. */
    warnings: () => [...all.values()].flatMap(({ host, limiters }) => limiters.warnings().map((text) => ({ host, text }))),
    /** Reads all limiters now. Nothing is counted for it: whoever wants to know pays. */
    status: (): readonly LimiterStatus[] =>
      [...all.values()].flatMap(({ hosts, limiters }) => limiters.readings().map((reading) => ({ hosts, ...reading }))),
  }
}
