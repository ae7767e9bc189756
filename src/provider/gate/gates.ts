import { type Host, hosts, type Settings } from '../../model/settings.js'
import type { AnyEndpoint } from '../endpoint.js'
import { createHostGates, type HostGate, type HostGates, type Pause } from './host-gate.js'
import { createNetworkLink, type NetworkLink } from './network-link.js'

/** The limiters of one run. Services with the same base address share them. */
export interface Gates {
  readonly of: (endpoint: Pick<AnyEndpoint, 'host' | 'name'>) => HostGate
  /** Measurements of the network link, shared by all hosts; updated as bytes arrive. */
  readonly line: NetworkLink
  /** Lines for the report, of each host that delayed requests. */
  readonly notices: () => readonly { readonly host: Host; readonly text: string }[]
}

/** The identity of a host: its base address, or the service name if none is set. */
export const addressOf = ({ urls }: Pick<Settings, 'urls'>, host: Host): string => urls[host]?.replace(/\/+$/, '') ?? host

/** Called when services, or one endpoint of them, start to back off, and with `undefined` when they accept requests again. */
export type TellPause = (hosts: readonly Host[], status: Pause | undefined, endpoint: string | undefined) => void

export const createGates = (settings: Settings, onBackoff: TellPause = () => undefined): Gates => {
  const all = new Map<string, { readonly host: Host; readonly limiters: HostGates }>()
  const link = createNetworkLink()
  const findLimiters = (host: Host): HostGates => {
    const address = addressOf(settings, host)
    const known = all.get(address)
    if (known) return known.limiters
    const sharing = hosts.filter((other) => addressOf(settings, other) === address)
    const limiters = createHostGates(host, settings, { link, onBackoff: (status, endpoint) => onBackoff(sharing, status, endpoint) })
    all.set(address, { host, limiters })
    return limiters
  }
  return {
    of: ({ host, name }) => findLimiters(host).of(name),
    line: link,
    notices: () => [...all.values()].flatMap(({ host, limiters }) => limiters.notices().map((text) => ({ host, text }))),
  }
}
